/* Keys for one process tree, in a sealed memory file (memfd_create(2)) that its processes inherit. */
#define _GNU_SOURCE
#include "CSystemShims.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define ALL_SEALS (F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE)

/* Shells use descriptors below 10 and a few above for redirections. */
#define BEYOND_REDIRECTIONS 100

/* Linux 6.3 and later; earlier kernels refuse it. */
#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 8U
#endif

static int make_file(void) {
    int file = memfd_create("tokenkeep-keys", MFD_CLOEXEC | MFD_ALLOW_SEALING | MFD_NOEXEC_SEAL);
    if (file < 0 && errno == EINVAL)
        file = memfd_create("tokenkeep-keys", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    return file;
}

static int fill_and_seal(int file, const void *payload, size_t length) {
    ssize_t written = tokenkeep_write(file, payload, length, 0);
    if (written < 0)
        return errno;
    if ((size_t)written != length)
        return ENOSPC;
    if (fchmod(file, S_IRUSR) != 0 || fcntl(file, F_ADD_SEALS, ALL_SEALS) != 0)
        return errno;
    return 0;
}

int tokenkeep_sealed_memory_make(const void *payload, size_t length, int *descriptor) {
    int file = make_file();
    if (file < 0)
        return errno;
    int error = fill_and_seal(file, payload, length);
    if (error == 0) {
        /* Both lack FD_CLOEXEC. A low limit of descriptors leaves any number. */
        *descriptor = fcntl(file, F_DUPFD, BEYOND_REDIRECTIONS);
        if (*descriptor < 0)
            *descriptor = fcntl(file, F_DUPFD, 3);
        error = *descriptor < 0 ? errno : 0;
    }
    close(file);
    return error;
}

int tokenkeep_sealed_memory_read(int descriptor, void *payload, size_t capacity, size_t *length) {
    struct stat status;
    if (tokenkeep_fstat(descriptor, &status) != 0)
        return errno;
    int seals = fcntl(descriptor, F_GET_SEALS);
    if (!S_ISREG(status.st_mode) || seals < 0 || (seals & ALL_SEALS) != ALL_SEALS)
        return EINVAL;
    if (status.st_uid != geteuid())
        return EPERM;
    if (status.st_size <= 0 || (size_t)status.st_size > capacity)
        return EMSGSIZE;
    ssize_t count = TEMP_FAILURE_RETRY(pread(descriptor, payload, (size_t)status.st_size, 0));
    if (count < 0)
        return errno;
    *length = (size_t)count;
    return count == status.st_size ? 0 : EIO;
}
