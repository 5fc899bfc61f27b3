#define _GNU_SOURCE
#include "CSystemShims.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/auxv.h>
#include <unistd.h>

int tokenkeep_is_secure_execution(void) {
    return getauxval(AT_SECURE) != 0;
}

int tokenkeep_openat(int directory, const char *path, int flags, mode_t mode) {
    int descriptor;
    do {
        descriptor = openat(directory, path, flags, mode);
    } while (descriptor < 0 && errno == EINTR);
    return descriptor;
}

int tokenkeep_fstat(int descriptor, struct stat *status) {
    return fstat(descriptor, status);
}

int tokenkeep_fstatat(int directory, const char *path, struct stat *status, int flags) {
    return fstatat(directory, path, status, flags);
}

int tokenkeep_syncfs(int descriptor) { return syncfs(descriptor); }
