/* The place of modules follows the installation: it may have been moved since it was built. */
#define _GNU_SOURCE
#include "CSystemShims.h"

#include <dlfcn.h>
#include <limits.h>
#include <link.h>
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

/* The shared object that contains this code; empty if the program itself does, whose name there is what its
 * caller says. Asked at the start: later the working directory may be another one, and in a child of fork() a
 * missing thread may hold the loader's lock. */
static char own_file[PATH_MAX];

__attribute__((constructor)) static void find_own_file(void) {
    Dl_info info;
    struct link_map *object = NULL;
    if (dladdr1(own_file, &info, (void **)&object, RTLD_DL_LINKMAP) == 0 || object == NULL)
        return;
    const char *name = object->l_name;
    if (name[0] == '\0' || (name[0] != '/' && getauxval(AT_SECURE) != 0))
        return;
    if (realpath(name, own_file) == NULL)
        own_file[0] = '\0';
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
    const char *name = strrchr(own_file, '/');
    if (name == NULL || strncmp(name, "/libtokenkeep.so", strlen("/libtokenkeep.so")) != 0)
        return 0;
    strcpy(path, own_file);
    return resolve(path, "tokenkeep/modules");
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
