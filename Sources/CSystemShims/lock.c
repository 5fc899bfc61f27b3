#define _GNU_SOURCE
#include "CSystemShims.h"
#include "waiting.h"
#include "lock_descriptors.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

/* F_OFD_SETLKW has no deadline, and polling starves under contention, because the kernel prefers waiting
 * threads. So a helper thread waits, and the caller waits for the helper. A caller that gives up leaves
 * the descriptor to the helper, which closes it when the lock is granted late. */

enum { MAXIMUM_ABANDONED_WAITS = 64, HELPER_STACK = 64 * 1024, FIRST_PAUSE_MS = 1, LONGEST_PAUSE_MS = 50 };

/* The kernel grants a lock of the whole range only when no byte of it is locked. If 16 threads lock and
 * release items without a pause, this does not happen within 10 s. So a caller that waits for the whole range
 * locks the gate, and other callers begin no new lock of a byte while the gate is locked. They wait at most
 * GATE_MS, because one of them may hold a byte for which the whole range waits, or wait for a slow
 * program. */
enum { GATE_MS = 1000, LONGEST_GATE_PAUSE_MS = 8 };

struct wait {
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    struct flock range;
    int descriptor;
    int finished;
    int abandoned;
    int error;
};

static struct flock write_lock(off_t offset, off_t length) {
    struct flock range = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = offset, .l_len = length};
    return range;
}

static struct flock gate_lock(void) {
    return write_lock(TOKENKEEP_LOCK_GATE, 1);
}

static void destroy(struct wait *wait) {
    pthread_cond_destroy(&wait->changed);
    pthread_mutex_destroy(&wait->mutex);
    free(wait);
}

static void *wait_for_lock(void *argument) {
    struct wait *wait = argument;
    int error = TEMP_FAILURE_RETRY(fcntl(wait->descriptor, F_OFD_SETLKW, &wait->range)) == 0 ? 0 : errno;
    pthread_mutex_lock(&wait->mutex);
    wait->error = error;
    wait->finished = 1;
    int abandoned = wait->abandoned;
    pthread_cond_signal(&wait->changed);
    pthread_mutex_unlock(&wait->mutex);
    if (abandoned) {
        tokenkeep_lock_descriptor_close(wait->descriptor);
        tokenkeep_abandoned_waits_add(-1);
        destroy(wait);
    }
    return NULL;
}

/* Starts the helper with all signals blocked, so that it runs no signal handler of the host. If the host's
 * thread-local variables do not fit on a small stack, the helper gets a stack of the default size. */
static int start_helper(struct wait *wait) {
    pthread_attr_t attributes;
    pthread_t helper;
    sigset_t all, previous;
    sigfillset(&all);
    pthread_attr_init(&attributes);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    pthread_attr_setstacksize(&attributes, HELPER_STACK);
    pthread_sigmask(SIG_SETMASK, &all, &previous);
    int error = pthread_create(&helper, &attributes, wait_for_lock, wait);
    if (error == EINVAL) {
        pthread_attr_destroy(&attributes);
        pthread_attr_init(&attributes);
        pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
        error = pthread_create(&helper, &attributes, wait_for_lock, wait);
    }
    pthread_sigmask(SIG_SETMASK, &previous, NULL);
    pthread_attr_destroy(&attributes);
    return error;
}

static struct wait *new_wait(int descriptor, struct flock range) {
    struct wait *wait = calloc(1, sizeof *wait);
    if (wait == NULL)
        return NULL;
    pthread_mutex_init(&wait->mutex, NULL);
    pthread_cond_init(&wait->changed, NULL);
    wait->descriptor = descriptor;
    wait->range = range;
    return wait;
}

/* Polls for the lock. The last resort: polling starves while others wait in the kernel. */
static int poll_for_lock(int descriptor, struct flock range, const struct tokenkeep_limit *limit) {
    uint32_t pause = FIRST_PAUSE_MS;
    while (!tokenkeep_is_over(limit)) {
        tokenkeep_pause(pause);
        if (fcntl(descriptor, F_OFD_SETLK, &range) == 0)
            return 0;
        if (errno != EAGAIN && errno != EACCES && errno != EINTR)
            return errno;
        pause = pause * 2 < LONGEST_PAUSE_MS ? pause * 2 : LONGEST_PAUSE_MS;
    }
    return EBUSY;
}

/* Waits while another caller waits for the whole range, but not beyond half of the time that is left. */
static void pass_gate(int descriptor, const struct tokenkeep_limit *limit) {
    int64_t now = tokenkeep_now();
    int64_t left = limit->deadline > now ? (limit->deadline - now) / 2 : 0;
    const int64_t most = (int64_t)GATE_MS * 1000000;
    const struct tokenkeep_limit end = {now + (left < most ? left : most), limit->is_cancelled, limit->data};
    for (uint32_t pause = FIRST_PAUSE_MS; !tokenkeep_is_over(&end);) {
        struct flock range = gate_lock();
        if (fcntl(descriptor, F_OFD_GETLK, &range) != 0 || range.l_type == F_UNLCK)
            return;
        tokenkeep_pause(pause);
        pause = pause * 2 < LONGEST_GATE_PAUSE_MS ? pause * 2 : LONGEST_GATE_PAUSE_MS;
    }
}

/* Waits for the lock. Returns 0 if the lock was granted, or EBUSY after the deadline or a cancellation.
 * `*abandoned` is then true if the helper owns the descriptor. */
static int wait_with_deadline(int descriptor, struct flock range, const struct tokenkeep_limit *limit,
                              int *abandoned) {
    struct wait *wait = NULL;
    if (tokenkeep_abandoned_waits() < MAXIMUM_ABANDONED_WAITS)
        wait = new_wait(descriptor, range);
    if (wait == NULL)
        return poll_for_lock(descriptor, range, limit);
    if (start_helper(wait) != 0) {
        destroy(wait);
        return poll_for_lock(descriptor, range, limit);
    }
    pthread_mutex_lock(&wait->mutex);
    while (!wait->finished && !tokenkeep_is_over(limit))
        tokenkeep_condition_wait_a_while(&wait->changed, &wait->mutex, limit);
    *abandoned = wait->abandoned = !wait->finished;
    if (*abandoned) {
        tokenkeep_abandoned_waits_add(1);
        /* The caller no longer waits for the whole range, so release the gate, even if the helper thread
         * still waits. */
        struct flock gate = gate_lock();
        gate.l_type = F_UNLCK;
        (void)fcntl(descriptor, F_OFD_SETLK, &gate);
    }
    int error = wait->finished ? wait->error : EBUSY;
    pthread_mutex_unlock(&wait->mutex);
    if (!*abandoned)
        destroy(wait);
    return error;
}

/* 0 if the lock is granted at once; EBUSY if it is not, or an errno. */
static int try_to_lock(int descriptor, struct flock range) {
    if (fcntl(descriptor, F_OFD_SETLK, &range) == 0)
        return 0;
    return errno == EAGAIN || errno == EACCES || errno == EINTR ? EBUSY : errno;
}

static int lock_range(int descriptor, struct flock range, const struct tokenkeep_limit *limit,
                      int *abandoned) {
    int error = try_to_lock(descriptor, range);
    if (error != EBUSY || tokenkeep_is_over(limit))
        return error;
    return wait_with_deadline(descriptor, range, limit, abandoned);
}

/* Locks the range: passes the gate, closes it, or ignores it. The gate is open again when the descriptor is
 * closed. */
static int lock_descriptor(int descriptor, struct flock range, enum tokenkeep_lock_gate gate,
                           const struct tokenkeep_limit *limit, int *abandoned) {
    if (gate == TOKENKEEP_PASSING_GATE)
        pass_gate(descriptor, limit);
    if (gate == TOKENKEEP_CLOSING_GATE) {
        int error = try_to_lock(descriptor, range);
        if (error != EBUSY || tokenkeep_is_over(limit))
            return error;
        error = lock_range(descriptor, gate_lock(), limit, abandoned);
        if (error != 0)
            return error;
    }
    return lock_range(descriptor, range, limit, abandoned);
}

static int is_current(int directory, const char *path, int descriptor) {
    struct stat held, named;
    return tokenkeep_fstat(descriptor, &held) == 0 &&
           tokenkeep_fstatat(directory, path, &named, AT_SYMLINK_NOFOLLOW) == 0 &&
           held.st_dev == named.st_dev && held.st_ino == named.st_ino;
}

int tokenkeep_lock_acquire(int directory, const char *path, off_t offset, off_t length,
                           enum tokenkeep_lock_gate gate, uint32_t timeout_ms,
                           tokenkeep_is_cancelled is_cancelled, const void *data, int *descriptor) {
    const struct tokenkeep_limit limit = {tokenkeep_deadline_after(timeout_ms), is_cancelled, data};
    for (;;) {
        int opened = tokenkeep_lock_descriptor_open(directory, path);
        if (opened < 0)
            return errno;
        int abandoned = 0;
        int error = lock_descriptor(opened, write_lock(offset, length), gate, &limit, &abandoned);
        if (error == 0 && is_current(directory, path, opened)) {
            *descriptor = opened;
            return 0;
        }
        if (!abandoned)
            tokenkeep_lock_descriptor_close(opened);
        if (error != 0)
            return error;
        if (tokenkeep_is_over(&limit))
            return EBUSY;
    }
}

int tokenkeep_lock_try(int directory, const char *path, off_t offset, off_t length, int *descriptor) {
    int opened = tokenkeep_lock_descriptor_open(directory, path);
    if (opened < 0)
        return errno;
    struct flock range = write_lock(offset, length);
    int error = TEMP_FAILURE_RETRY(fcntl(opened, F_OFD_SETLK, &range)) == 0 ? 0 : errno;
    if (error == 0) {
        *descriptor = opened;
        return 0;
    }
    tokenkeep_lock_descriptor_close(opened);
    return error == EAGAIN || error == EACCES ? EBUSY : error;
}

int tokenkeep_lock_is_held(int directory, const char *path) {
    int opened = openat(directory, path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (opened < 0)
        return 0;
    struct flock range = write_lock(0, 0);
    int is_held = fcntl(opened, F_OFD_GETLK, &range) == 0 && range.l_type != F_UNLCK;
    close(opened);
    return is_held;
}

void tokenkeep_lock_release(int descriptor) {
    tokenkeep_lock_descriptor_close(descriptor);
}
