#include "CLibsecret.h"

#include <limits.h>
#include <pthread.h>
#include <stdio.h>

/* libsecret's own constructor binds every SecretService to the process's shared session bus connection and to
 * the service's well-known name. A subclass corrects both during construction, the only time when these
 * properties can be set. The subclass also removes GDBus's limit of 25 seconds, because the caller's own
 * deadline ends a call.
 *
 * * GDBusProxy assumes that the name is set once: the name from libsecret's constructor, 24 bytes, leaks for
 * each object. It is not freed here: if a later GLib frees it, the host would crash. */

enum { bus_type_none = 0, do_not_load_properties = 1, do_not_connect_signals = 2 };

static GType parent_type;
static GType private_type;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static _Thread_local GDBusConnection *connection_to_use;
static _Thread_local const char *owner_to_use;

static GObject *construct(GType type, guint count, GObjectConstructParam *properties) {
    GObjectClass *parent = tokenkeep_libsecret_table()->g_type_class_peek(parent_type);
    GObject *object = parent->constructor(type, count, properties);
    tokenkeep_libsecret_table()->g_object_set(
        object, "g-bus-type", bus_type_none, "g-connection", connection_to_use, "g-name", owner_to_use,
        "g-default-timeout", INT_MAX, "g-flags", do_not_load_properties | do_not_connect_signals, NULL);
    return object;
}

static void initialise_class(gpointer g_class, gpointer data) {
    (void)data;
    ((GObjectClass *)g_class)->constructor = construct;
}

static void register_type(void) {
    GTypeQuery query = {0};
    parent_type = tokenkeep_libsecret_table()->secret_service_get_type();
    tokenkeep_libsecret_table()->g_type_query(parent_type, &query);
    if (query.type != parent_type || !parent_type)
        return;
    char name[64]; /* a process may hold two copies of this library: type names must differ */
    snprintf(name, sizeof name, "TokenKeepSecretService-%lx", (unsigned long)&private_type);
    private_type = tokenkeep_libsecret_table()->g_type_register_static_simple(
        parent_type, name, query.class_size, initialise_class, query.instance_size, NULL, 0);
}

SecretService *tokenkeep_secret_service_new(GDBusConnection *connection, const char *owner) {
    pthread_once(&once, register_type);
    if (!private_type)
        return NULL;
    connection_to_use = connection;
    owner_to_use = owner;
    SecretService *service = tokenkeep_libsecret_table()->g_object_new(private_type, NULL);
    connection_to_use = NULL;
    owner_to_use = NULL;
    return service;
}
