#define _GNU_SOURCE
#include "CSystemShims.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

/* A file shorter than the counter would end the process at its first use. */
static int make_long_enough(int file) {
    struct stat status;
    if (fstat(file, &status) != 0)
        return errno;
    if (!S_ISREG(status.st_mode))
        return EINVAL;
    if (status.st_size >= (off_t)sizeof(uint64_t))
        return 0;
    return posix_fallocate(file, 0, sizeof(uint64_t));
}

int tokenkeep_counter_map(int directory, const char *path, uint64_t **counter) {
    const int flags = O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK;
    int file = tokenkeep_openat(directory, path, flags, 0600);
    if (file < 0)
        return errno;
    int error = make_long_enough(file);
    void *mapped = MAP_FAILED;
    if (error == 0) {
        mapped = mmap(NULL, sizeof(uint64_t), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
        error = mapped == MAP_FAILED ? errno : 0;
    }
    close(file);
    if (error == 0)
        *counter = mapped;
    return error;
}

void tokenkeep_counter_unmap(uint64_t *counter) {
    munmap(counter, sizeof *counter);
}

void tokenkeep_counter_advance(uint64_t *counter) {
    __atomic_fetch_add(counter, 1, __ATOMIC_SEQ_CST);
}
