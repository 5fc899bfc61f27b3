/* Compiled against the real headers of libsecret: the list of functions, and the layouts declared beside it,
 * are right. Compile with -Werror; there is nothing to run. */
#define SECRET_WITH_UNSTABLE         1
#define SECRET_API_SUBJECT_TO_CHANGE 1
#include <libsecret/secret.h>
#include <stddef.h>

#undef g_object_ref
#undef g_cancellable_new

#define FUNCTION(library, result, name, parameters)                                                          \
    extern result(*check_##name) parameters;                                                                 \
    result(*check_##name) parameters = name;
#include "functions.def"
#undef FUNCTION

_Static_assert(offsetof(GObjectClass, constructor) == 2 * sizeof(void *), "GObjectClass has another layout");
_Static_assert(sizeof(GTypeQuery) == 24 && offsetof(GTypeQuery, class_size) == 16,
               "GTypeQuery has another layout");
_Static_assert(offsetof(GError, message) == 8, "GError has another layout");
_Static_assert(sizeof(GType) == sizeof(size_t) && sizeof(gboolean) == sizeof(int), "a basic type differs");
_Static_assert(sizeof(GDBusMessageType) == sizeof(int), "enumerations are not ints");
_Static_assert(G_BUS_TYPE_NONE == 0 && G_DBUS_PROXY_FLAGS_DO_NOT_LOAD_PROPERTIES == 1 &&
                   G_DBUS_PROXY_FLAGS_DO_NOT_CONNECT_SIGNALS == 2,
               "a constant differs");
