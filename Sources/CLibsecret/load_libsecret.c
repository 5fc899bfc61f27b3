#include "CLibsecret.h"
#include "descriptor_reserve.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>

enum { descriptors_for_loading = 4, descriptors_of_a_step = 2 };

static tokenkeep_libsecret table;
static char missing_symbol[160];
/* The errno for which the last search opened no library. */
static int failure_of_loader;

static int load_symbol(void *library, const char *library_name, const char *name, void *place) {
    void *symbol = dlsym(library, name);
    if (!symbol) {
        snprintf(missing_symbol, sizeof missing_symbol, "%s is too old: it has no %s", library_name, name);
        return 0;
    }
    *(void **)place = symbol; /* POSIX: a function's address fits */
    return 1;
}

static void *open_library(const char *name, descriptor_reserve *reserve) {
    descriptor_reserve_lend(reserve, descriptors_of_a_step);
    errno = 0;
    void *library = dlopen(name, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (!library)
        failure_of_loader = errno;
    descriptor_reserve_take(reserve, descriptors_for_loading);
    return library;
}

/* Initialises libgcrypt now, under a reserve of descriptors. Otherwise libsecret would do this at the first
 * session, and libgcrypt ends the process if it cannot open the file that it reads then. */
static void initialise_gcrypt(void *libsecret, descriptor_reserve *reserve) {
    const char *(*check_version)(const char *) = NULL;
    *(void **)&check_version = dlsym(libsecret, "gcry_check_version");
    if (!check_version)
        return; /* this libsecret uses another library */
    descriptor_reserve_lend(reserve, descriptors_of_a_step);
    check_version(NULL);
}

/* Makes GLib's default context now, under a reserve of descriptors. Otherwise GLib would make it together
 * with the first context of any thread, and end the process if no descriptors are free. */
static void initialise_glib(descriptor_reserve *reserve) {
    descriptor_reserve_lend(reserve, descriptors_of_a_step);
    GMainContext *context = table.g_main_context_new();
    table.g_main_context_push_thread_default(context);
    table.g_main_context_pop_thread_default(context);
    table.g_main_context_unref(context);
    descriptor_reserve_take(reserve, descriptors_for_loading);
}

static const char shortage[] = "too few descriptors are free";

static const char *load(descriptor_reserve *reserve) {
    void *libsecret = open_library("libsecret-1.so.0", reserve);
    if (!libsecret)
        return "libsecret-1.so.0 is not installed";
    void *glib = open_library("libglib-2.0.so.0", reserve);
    void *gobject = open_library("libgobject-2.0.so.0", reserve);
    void *gio = open_library("libgio-2.0.so.0", reserve);
    if (!glib || !gobject || !gio)
        return "GLib, which libsecret needs, is not installed";
#define FUNCTION(library, result, name, parameters)                                                          \
    if (!load_symbol(library, #library, #name, &table.name))                                                 \
        return missing_symbol;
#include "functions.def"
#undef FUNCTION
    /* Another thread took the descriptors that were lent for loading. Stop here, because the next steps would
     * end the process if no descriptors are free. */
    if (descriptor_reserve_take(reserve, descriptors_for_loading) != 0)
        return shortage;
    initialise_glib(reserve);
    initialise_gcrypt(libsecret, reserve);
    return NULL;
}

/* Whether a later attempt to load would fail, too. False if the loader may have lacked memory, or a
 * descriptor that another thread has. glibc sets no errno if a library cannot be mapped. */
static int is_lasting(const char *problem) {
    return failure_of_loader == ENOENT || problem == missing_symbol;
}

int tokenkeep_libsecret_load(const char **problem) {
    descriptor_reserve reserve = {0};
    *problem = NULL;
    failure_of_loader = 0;
    int error = descriptor_reserve_take(&reserve, descriptors_for_loading);
    if (error == 0 && (*problem = load(&reserve)) != NULL) {
        int is_short = *problem == shortage || failure_of_loader == EMFILE || failure_of_loader == ENFILE ||
                       descriptor_reserve_take(&reserve, descriptors_for_loading) != 0;
        error = is_short ? EMFILE : is_lasting(*problem) ? ENOENT : ENOMEM;
    }
    descriptor_reserve_release(&reserve);
    return error;
}

const tokenkeep_libsecret *tokenkeep_libsecret_table(void) {
    return &table;
}
