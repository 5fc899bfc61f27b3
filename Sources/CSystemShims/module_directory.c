/* The place of modules follows the installation: it may have been moved since it was built. */
#define _GNU_SOURCE
#include "CSystemShims.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

/* Where modules are if neither the shared library nor the program contains this code. */
#ifndef TOKENKEEP_MODULE_DIRECTORY
#define TOKENKEEP_MODULE_DIRECTORY "/usr/local/lib/tokenkeep/modules"
#endif

/* The same, as seen from the program's directory. */
#ifndef TOKENKEEP_MODULES_FROM_PROGRAM
#define TOKENKEEP_MODULES_FROM_PROGRAM "../lib/tokenkeep/modules"
#endif

/* The file that contains this code, in the loader's words: asked at the start, because the loader's lock may
 * be held by a missing thread in a child made by fork(). */
static const char *own_file;

__attribute__((constructor)) static void find_own_file(void) {
    Dl_info info;
    if (dladdr(&own_file, &info) != 0)
        own_file = info.dli_fname;
}

/* Replaces the name of the file in path by the relative path, if that is a directory. */
static int resolve(char path[PATH_MAX], const char *relative) {
    char *slash = strrchr(path, '/');
    if (slash == NULL || (size_t)(slash - path) + strlen(relative) + 2 > PATH_MAX)
        return 0;
    strcpy(slash + 1, relative);
    char directory[PATH_MAX];
    if (realpath(path, directory) == NULL)
        return 0;
    strcpy(path, directory);
    return 1;
}

static int is_beside_library(char path[PATH_MAX]) {
    const char *name = own_file == NULL ? NULL : strrchr(own_file, '/');
    return name != NULL && strncmp(name, "/libtokenkeep.so", strlen("/libtokenkeep.so")) == 0 &&
           realpath(own_file, path) != NULL && resolve(path, "tokenkeep/modules");
}

/* Only without raised privileges: the caller may have linked the program to another place. */
static int is_beside_program(char path[PATH_MAX]) {
    if (getauxval(AT_SECURE) != 0)
        return 0;
    ssize_t length = readlink("/proc/self/exe", path, PATH_MAX - 1);
    if (length <= 0)
        return 0;
    path[length] = '\0';
    const char *name = strrchr(path, '/');
    return name != NULL && strcmp(name, "/tokenkeep") == 0 && resolve(path, TOKENKEEP_MODULES_FROM_PROGRAM);
}

void tokenkeep_module_directory(char *path) {
    if (!is_beside_library(path) && !is_beside_program(path))
        strcpy(path, TOKENKEEP_MODULE_DIRECTORY);
}
