/* A table of typed function pointers to libsecret and GLib, which are loaded at run time and never linked. */
#ifndef TOKENKEEP_CLIBSECRET_H
#define TOKENKEEP_CLIBSECRET_H

#include <sys/types.h>
#include "glib_types.h"

/* GLib's headers have no nullability annotations: arguments and results may be NULL. */
#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wnullability-completeness"

/* Every function of functions.def, under its own name. */
typedef struct tokenkeep_libsecret {
#define FUNCTION(library, result, name, parameters) result(*_Nonnull name) parameters;
#include "functions.def"
#undef FUNCTION
} tokenkeep_libsecret;

#pragma clang diagnostic pop

/* Loads the libraries, initialises libgcrypt, and fills the table. The libraries are never unloaded.
 *
 * 0; ENOENT and a static text that names the missing or outdated library; EMFILE if too few descriptors are
 * free; ENOMEM if the loader lacked something else, such as memory. Do not call from two threads at once. */
int tokenkeep_libsecret_load(const char *_Nullable *_Nonnull problem);

/* The table. Call its functions only after tokenkeep_libsecret_load has returned 0. */
const tokenkeep_libsecret *_Nonnull tokenkeep_libsecret_table(void);

/* Makes a SecretService that uses only the unique bus name `owner` over `connection`, not the process's
 * shared connection. It receives no signals and loads no properties.
 *
 * Sends nothing: initialise the object with g_async_initable_init_async. NULL on failure. Owned by the
 * caller. */
SecretService *_Nullable tokenkeep_secret_service_new(GDBusConnection *_Nonnull connection,
                                                      const char *_Nonnull owner);

/* An attempt to connect to a bus, on a separate thread. */
typedef struct tokenkeep_connecting tokenkeep_connecting;

/* Begins to connect to the bus at an address. The connection reports its events in `context`, which must be
 * the calling thread's default, and which is woken when the attempt has finished.
 *
 * 0; EAGAIN if the kernel refuses a thread; EMFILE if too few descriptors are free; ENOMEM. */
int tokenkeep_connecting_start(const char *_Nonnull address, GMainContext *_Nullable context,
                               tokenkeep_connecting *_Nullable *_Nonnull started);

/* Whether the attempt has finished. Does not wait. */
int tokenkeep_connecting_is_finished(tokenkeep_connecting *_Nonnull connecting);

/* Takes the result and frees the attempt. An attempt that has not finished is cancelled and frees itself.
 *
 * * Returns 0 and a connection; ECONNREFUSED and GLib's error, both owned by the caller; ETIMEDOUT if the
 * attempt has not finished; EMFILE; EAGAIN if the kernel refuses a thread for GLib; ENOTRECOVERABLE if GLib
 * itself failed to start its thread, so that every later attempt of this process fails, too; ECANCELED after
 * another fatal error of GLib; or another errno. */
int tokenkeep_connecting_end(tokenkeep_connecting *_Nonnull connecting,
                             GDBusConnection *_Nullable *_Nonnull connection,
                             GError *_Nullable *_Nonnull failure);

#endif
