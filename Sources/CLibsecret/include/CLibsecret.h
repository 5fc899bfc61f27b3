/* libsecret and the parts of GLib it stands on, without linking either: a table of typed function pointers.
 */
#ifndef TOKENKEEP_CLIBSECRET_H
#define TOKENKEEP_CLIBSECRET_H

#include <sys/types.h>
#include "glib_types.h"

/* GLib says nothing of NULL: what it takes and returns may be. */
#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wnullability-completeness"

/* Every function of functions.def, by its own name. */
typedef struct tokenkeep_libsecret {
#define FUNCTION(library, result, name, parameters) result(*_Nonnull name) parameters;
#include "functions.def"
#undef FUNCTION
} tokenkeep_libsecret;

#pragma clang diagnostic pop

/* Loads the libraries and fills the table. NULL, or which library is missing or too old, in words that stay
 * valid. Not safe to call from two threads at once. The libraries are never unloaded. */
const char *_Nullable tokenkeep_libsecret_load(void);

/* The table: its functions may be called once tokenkeep_libsecret_load answered NULL. */
const tokenkeep_libsecret *_Nonnull tokenkeep_libsecret_table(void);

/* Makes a SecretService that talks to the unique bus name `owner` over `connection` alone, not over the
 * process's shared connection, and has neither signals nor properties. Nothing is sent: initialise it with
 * g_async_initable_init_async. NULL where it cannot be made. The caller owns it. */
SecretService *_Nullable tokenkeep_secret_service_new(GDBusConnection *_Nonnull connection,
                                                      const char *_Nonnull owner);

#endif
