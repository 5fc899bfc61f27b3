/* Finds the directory of modules relative to this code, because the installation may have been moved since it
 * was built. */
#define _GNU_SOURCE
#include "CSystemShims.h"

#include <dlfcn.h>
#include <limits.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

/* The directory of modules if the file that contains this code is not that of an installation. */
#ifndef TOKENKEEP_MODULE_DIRECTORY
#define TOKENKEEP_MODULE_DIRECTORY "/usr/local/lib/tokenkeep/modules"
#endif

/* The path of the directory of modules, relative to the program's directory. */
#ifndef TOKENKEEP_MODULES_FROM_PROGRAM
#define TOKENKEEP_MODULES_FROM_PROGRAM "../lib/tokenkeep/modules"
#endif

/* The path of the directory of installed providers, relative to the directory of modules. */
#ifndef TOKENKEEP_PROVIDERS_FROM_MODULES
#define TOKENKEEP_PROVIDERS_FROM_MODULES "../../../share/tokenkeep/providers.d"
#endif

/* The path of the agent, relative to the program's directory. */
#ifndef TOKENKEEP_AGENT_FROM_PROGRAM
#define TOKENKEEP_AGENT_FROM_PROGRAM "../libexec/tokenkeep/tokenkeep-agent"
#endif

/* The path of the program for the TPM, relative to the directory of modules. */
#ifndef TOKENKEEP_TPM2_FROM_MODULES
#define TOKENKEEP_TPM2_FROM_MODULES "../../../libexec/tokenkeep/tokenkeep-tpm2"
#endif

/* The path of the shared object or program that contains this code; empty if unknown. It is found when the
 * library is loaded. Later, the working directory may be another directory, and in a child of fork() the
 * loader's lock may stay locked by a thread of the parent. */
static char own_file[PATH_MAX];

/* Finds the path of the program. It stays unknown for a program with raised privileges, because the caller
 * may have made a link to the program elsewhere. Without /proc, the path that was passed to execve is
 * used. */
static void find_program(void) {
    if (getauxval(AT_SECURE) != 0)
        return;
    ssize_t length = readlink("/proc/self/exe", own_file, PATH_MAX - 1);
    const char *name = (const char *)getauxval(AT_EXECFN);
    if (length > 0)
        own_file[length] = '\0';
    else if (name == NULL || realpath(name, own_file) == NULL)
        own_file[0] = '\0';
}

__attribute__((constructor)) static void find_own_file(void) {
    Dl_info info;
    struct link_map *object = NULL;
    if (dladdr1(own_file, &info, (void **)&object, RTLD_DL_LINKMAP) == 0 || object == NULL)
        return;
    const char *name = object->l_name;
    if (name[0] == '\0')
        find_program();
    else if ((name[0] == '/' || getauxval(AT_SECURE) == 0) && realpath(name, own_file) == NULL)
        own_file[0] = '\0';
}

/* Replaces the name of the file in path by the relative path, if that exists. */
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

static int is_beside(char path[PATH_MAX], const char *file, size_t length, const char *relative) {
    const char *name = strrchr(own_file, '/');
    if (name == NULL || strncmp(name, file, length) != 0)
        return 0;
    strcpy(path, own_file);
    return resolve(path, relative);
}

void tokenkeep_module_directory(char *path) {
    static const char library[] = "/libtokenkeep.so", program[] = "/tokenkeep";
    /* The library's file name may continue with its version; the program's file name must be complete. */
    if (!is_beside(path, library, sizeof library - 1, "tokenkeep/modules") &&
        !is_beside(path, program, sizeof program, TOKENKEEP_MODULES_FROM_PROGRAM))
        strcpy(path, TOKENKEEP_MODULE_DIRECTORY);
}

/* Writes the path of a file that `relative` names from the directory of modules. Returns 0 if there is no
 * such file. */
static int resolve_from_modules(char path[PATH_MAX], const char *relative) {
    tokenkeep_module_directory(path);
    size_t length = strlen(path);
    snprintf(path + length, PATH_MAX - length, "/%s", relative);
    char resolved[PATH_MAX];
    if (realpath(path, resolved) == NULL)
        return 0;
    strcpy(path, resolved);
    return 1;
}

void tokenkeep_provider_directory(char *path) {
    (void)resolve_from_modules(path, TOKENKEEP_PROVIDERS_FROM_MODULES);
}

int tokenkeep_tpm2_program(char *path) {
    return resolve_from_modules(path, TOKENKEEP_TPM2_FROM_MODULES);
}

int tokenkeep_secret_service_program(char *path) {
    // Beside the agent.
    char relative[] = TOKENKEEP_AGENT_FROM_PROGRAM "-------------------";
    char *name = strrchr(relative, '/');
    strcpy(name == NULL ? relative : name + 1, "tokenkeep-secret-service");
    strcpy(path, own_file);
    return resolve(path, relative);
}

int tokenkeep_agent_program(char *path) {
    strcpy(path, own_file);
    return resolve(path, TOKENKEEP_AGENT_FROM_PROGRAM);
}
