#define _GNU_SOURCE
#include "lock_descriptors.h"
#include "CSystemShims.h"
#include "fork_handlers.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static int *descriptors;
static size_t count;
static size_t capacity;
static int abandoned_waits;

void tokenkeep_locks_before_fork(void) {
    pthread_mutex_lock(&mutex);
}

void tokenkeep_locks_after_fork_in_parent(void) {
    pthread_mutex_unlock(&mutex);
}

void tokenkeep_locks_after_fork_in_child(void) {
    for (size_t i = 0; i < count; i++)
        close(descriptors[i]);
    count = 0;
    abandoned_waits = 0; /* the waiting threads are not in the child */
    pthread_mutex_unlock(&mutex);
}

/* Makes room for one more descriptor. The caller must hold the mutex. */
static int make_room(void) {
    if (count < capacity)
        return 1;
    size_t wanted = capacity == 0 ? 16 : capacity * 2;
    int *grown = realloc(descriptors, wanted * sizeof *grown);
    if (grown == NULL)
        return 0;
    descriptors = grown;
    capacity = wanted;
    return 1;
}

/* Opens a regular file. EBADFD for any other file: a pipe or a device could be locked too. */
static int open_regular_file(int directory, const char *path) {
    const int flags = O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK;
    int descriptor = tokenkeep_openat(directory, path, flags, 0600);
    if (descriptor < 0) {
        if (errno == ELOOP || errno == EISDIR || errno == ENXIO || errno == ENODEV)
            errno = EBADFD;
        return -1;
    }
    struct stat status;
    int failure = tokenkeep_fstat(descriptor, &status) == 0 ? EBADFD : errno;
    if (failure == EBADFD && S_ISREG(status.st_mode))
        return descriptor;
    close(descriptor);
    errno = failure;
    return -1;
}

int tokenkeep_lock_descriptor_open(int directory, const char *path) {
    int descriptor = -1;
    pthread_mutex_lock(&mutex);
    if (!make_room()) {
        errno = ENOMEM;
    } else {
        descriptor = open_regular_file(directory, path);
        if (descriptor >= 0)
            descriptors[count++] = descriptor;
    }
    int error = errno;
    pthread_mutex_unlock(&mutex);
    errno = error;
    return descriptor;
}

void tokenkeep_lock_descriptor_close(int descriptor) {
    pthread_mutex_lock(&mutex);
    for (size_t i = 0; i < count; i++) {
        if (descriptors[i] != descriptor)
            continue;
        descriptors[i] = descriptors[--count];
        /* A child that another thread is starting has a copy of the descriptor until it runs its program:
         * closing alone would not release the lock. */
        struct flock all = {.l_type = F_UNLCK, .l_whence = SEEK_SET};
        fcntl(descriptor, F_OFD_SETLK, &all);
        close(descriptor);
        break;
    }
    pthread_mutex_unlock(&mutex);
}

int tokenkeep_abandoned_waits(void) {
    pthread_mutex_lock(&mutex);
    int number = abandoned_waits;
    pthread_mutex_unlock(&mutex);
    return number;
}

void tokenkeep_abandoned_waits_add(int number) {
    pthread_mutex_lock(&mutex);
    abandoned_waits += number;
    pthread_mutex_unlock(&mutex);
}
