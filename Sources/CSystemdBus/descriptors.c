#define _GNU_SOURCE
#include "CSystemdBus.h"

#include <fcntl.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

void tokenkeep_inherit(int descriptor, int is_inherited) {
    fcntl(descriptor, F_SETFD, is_inherited ? 0 : FD_CLOEXEC);
}

int tokenkeep_text_file(const char *text, size_t length) {
    int file = memfd_create("tokenkeep-bus.conf", 0);
    if (file < 0)
        return -1;
    if (write(file, text, length) != (ssize_t)length || lseek(file, 0, SEEK_SET) != 0) {
        close(file);
        return -1;
    }
    return file;
}

static struct rlimit former_limit;

void tokenkeep_allow_descriptors(void) {
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
        return;
    rlim_t most = limit.rlim_max < 65536 ? limit.rlim_max : 65536;
    if (limit.rlim_cur >= most)
        return;
    struct rlimit raised = {most, limit.rlim_max};
    if (setrlimit(RLIMIT_NOFILE, &raised) == 0)
        former_limit = limit;
}

const struct rlimit *tokenkeep_former_limit(void) {
    return former_limit.rlim_max != 0 ? &former_limit : NULL;
}

int tokenkeep_is_same_file(const char *path, const char *other) {
    struct stat one;
    struct stat two;
    return stat(path, &one) == 0 && stat(other, &two) == 0 && one.st_dev == two.st_dev &&
           one.st_ino == two.st_ino;
}
