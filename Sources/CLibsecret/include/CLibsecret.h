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

/* Loads the libraries and fills the table. The libraries are never unloaded.
 *
 * Returns NULL, or a static text that names the missing or outdated library. Do not call from two threads
 * at once. */
const char *_Nullable tokenkeep_libsecret_load(void);

/* The table. Call its functions only after tokenkeep_libsecret_load has returned NULL. */
const tokenkeep_libsecret *_Nonnull tokenkeep_libsecret_table(void);

/* Makes a SecretService that uses only the unique bus name `owner` over `connection`, not the process's
 * shared connection. It receives no signals and loads no properties.
 *
 * Sends nothing: initialise the object with g_async_initable_init_async. NULL on failure. Owned by the
 * caller. */
SecretService *_Nullable tokenkeep_secret_service_new(GDBusConnection *_Nonnull connection,
                                                      const char *_Nonnull owner);

#endif
