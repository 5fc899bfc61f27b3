#include "CLibsecret.h"

#include <dlfcn.h>
#include <stdio.h>

static tokenkeep_libsecret table;
static char missing_symbol[160];

static int load_symbol(void *library, const char *library_name, const char *name, void *place) {
    void *symbol = dlsym(library, name);
    if (!symbol) {
        snprintf(missing_symbol, sizeof missing_symbol, "%s is too old: it has no %s", library_name, name);
        return 0;
    }
    *(void **)place = symbol; /* POSIX: a function's address fits */
    return 1;
}

const char *tokenkeep_libsecret_load(void) {
    const int flags = RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE;
    void *libsecret = dlopen("libsecret-1.so.0", flags);
    if (!libsecret)
        return "libsecret-1.so.0 is not installed";
    void *glib = dlopen("libglib-2.0.so.0", flags);
    void *gobject = dlopen("libgobject-2.0.so.0", flags);
    void *gio = dlopen("libgio-2.0.so.0", flags);
    if (!glib || !gobject || !gio)
        return "GLib, which libsecret needs, is not installed";
#define FUNCTION(library, result, name, parameters)                                                          \
    if (!load_symbol(library, #library, #name, &table.name))                                                 \
        return missing_symbol;
#include "functions.def"
#undef FUNCTION
    return NULL;
}

const tokenkeep_libsecret *tokenkeep_libsecret_table(void) {
    return &table;
}
