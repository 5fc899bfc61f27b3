/* The place of modules follows the installation: it may have been moved since it was built. */
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

/* Where modules are if neither the shared library nor the program contains this code. */
#ifndef TOKENKEEP_MODULE_DIRECTORY
#define TOKENKEEP_MODULE_DIRECTORY "/usr/local/lib/tokenkeep/modules"
#endif

/* The directory of modules, as seen from the program's directory. */
#ifndef TOKENKEEP_MODULES_FROM_PROGRAM
#define TOKENKEEP_MODULES_FROM_PROGRAM "../lib/tokenkeep/modules"
#endif

/* The directory of installed providers, as seen from the directory of modules. */
#ifndef TOKENKEEP_PROVIDERS_FROM_MODULES
#define TOKENKEEP_PROVIDERS_FROM_MODULES "../../../share/tokenkeep/providers.d"
#endif

/* The agent, as seen from the program's directory. */
#ifndef TOKENKEEP_AGENT_FROM_PROGRAM
#define TOKENKEEP_AGENT_FROM_PROGRAM "../libexec/tokenkeep/tokenkeep-agent"
#endif

/* The program for the TPM, as seen from the directory of modules. */
#ifndef TOKENKEEP_TPM2_FROM_MODULES
#define TOKENKEEP_TPM2_FROM_MODULES "../../../libexec/tokenkeep/tokenkeep-tpm2"
#endif

/* The shared object that contains this code, or the program if the program does; empty if unknown. Asked at
 * the start: later the working directory may be another one, and in a child of fork() a missing thread may
 * hold the loader's lock. */
static char own_file[PATH_MAX];

/* The caller may have linked a program with raised privileges to another place. Without /proc the kernel's
 * name for the program is left: the path that execve was given. */
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
    /* The library's name goes on with its version, the program's ends. */
    if (!is_beside(path, library, sizeof library - 1, "tokenkeep/modules") &&
        !is_beside(path, program, sizeof program, TOKENKEEP_MODULES_FROM_PROGRAM))
        strcpy(path, TOKENKEEP_MODULE_DIRECTORY);
}

/* Writes the path that the relative one has from the directory of modules. 0 if it does not exist. */
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
