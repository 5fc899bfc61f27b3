#define _GNU_SOURCE
#include "installed_program.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

char *installed_program(void) {
    /* TOKENKEEP_PROGRAM: an absolute path, or a path relative to the directory of this module. */
    static const char program[] = TOKENKEEP_PROGRAM;
    if (program[0] == '/')
        return strdup(program);
    Dl_info info;
    if (dladdr(program, &info) == 0 || info.dli_fname == NULL)
        return NULL;
    char *module = realpath(info.dli_fname, NULL);
    char *path = NULL;
    if (module != NULL) {
        char *slash = strrchr(module, '/');
        if (slash == NULL || asprintf(&path, "%.*s/%s", (int)(slash - module), module, program) < 0)
            path = NULL;
    }
    free(module);
    return path;
}
