/* The types of GLib, GIO and libsecret that are used, as defined by their stable ABI.
 *
 * Declared here so that a build needs no headers of these libraries, and nothing links them by accident. A
 * test compiles the same list of functions against the real headers. */
#ifndef TOKENKEEP_GLIB_TYPES_H
#define TOKENKEEP_GLIB_TYPES_H

#include <stddef.h>
#include <stdint.h>

typedef char gchar;
typedef int gboolean;
typedef int gint;
typedef unsigned int guint;
typedef uint16_t guint16;
typedef uint32_t guint32;
typedef uint64_t guint64;
typedef size_t gsize;
typedef ssize_t gssize;
typedef size_t GType;
typedef void *gpointer;
typedef const void *gconstpointer;
typedef uint32_t GQuark;
typedef unsigned long gulong;

typedef struct _GAsyncInitable GAsyncInitable;
typedef struct _GAsyncResult GAsyncResult;
typedef struct _GCancellable GCancellable;
typedef struct _GClosure GClosure;
typedef struct _GDBusAuthObserver GDBusAuthObserver;
typedef struct _GDBusConnection GDBusConnection;
typedef struct _GDBusMessage GDBusMessage;
typedef struct _GIOStream GIOStream;
typedef struct _GInitable GInitable;
typedef struct _GMainContext GMainContext;
typedef struct _GObject GObject;
typedef struct _GSocket GSocket;
typedef struct _GSocketConnection GSocketConnection;
typedef struct _GSource GSource;
typedef struct _GTypeInstance GTypeInstance;
typedef struct _GVariant GVariant;
typedef struct _GVariantType GVariantType;
typedef struct _SecretService SecretService;
typedef struct _SecretValue SecretValue;

typedef struct _GError {
    GQuark domain;
    gint code;
    gchar *message;
} GError;

/* Enumerations are passed as int. */
typedef int GConnectFlags;
typedef int GDBusConnectionFlags;
typedef int GDBusMessageType;
typedef int GDBusSendMessageFlags;
typedef int GDBusSignalFlags;
typedef int GLogLevelFlags;
typedef int GTypeFlags;

typedef void (*GAsyncReadyCallback)(GObject *source, GAsyncResult *result, gpointer data);
typedef GDBusMessage *(*GDBusMessageFilterFunction)(GDBusConnection *connection, GDBusMessage *message,
                                                    gboolean incoming, gpointer data);
typedef void (*GDBusSignalCallback)(GDBusConnection *connection, const gchar *sender, const gchar *path,
                                    const gchar *interface, const gchar *signal, GVariant *parameters,
                                    gpointer data);
typedef void (*GCallback)(void);
typedef void (*GClosureNotify)(gpointer data, GClosure *closure);
typedef void (*GDestroyNotify)(gpointer data);
typedef void (*GLogFunc)(const gchar *domain, GLogLevelFlags level, const gchar *message, gpointer data);
typedef gboolean (*GSourceFunc)(gpointer data);

/* Used for the subclass of SecretService. */
typedef struct _GTypeClass {
    GType g_type;
} GTypeClass;
typedef struct _GObjectConstructParam GObjectConstructParam;
typedef struct _GObjectClass {
    GTypeClass g_type_class;
    void *construct_properties;
    GObject *(*constructor)(GType type, guint count, GObjectConstructParam *properties);
    /* More fields follow: g_type_query returns the real size. */
} GObjectClass;
typedef void (*GClassInitFunc)(gpointer g_class, gpointer data);
typedef void (*GInstanceInitFunc)(void *instance, gpointer g_class);
typedef struct _GTypeQuery {
    GType type;
    const gchar *type_name;
    guint class_size;
    guint instance_size;
} GTypeQuery;

#endif
