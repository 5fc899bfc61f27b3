#define _GNU_SOURCE
#include "CSystemShims.h"

#include <errno.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

/* The kernel sends SIGXFSZ to a thread whose write passes RLIMIT_FSIZE, and the signal's default ends the
 * host. So the signal is blocked around each write, and taken back if the write caused it. */

struct blocked {
    sigset_t signal;
    sigset_t mask;
    int was_pending;
};

static void block(struct blocked *blocked) {
    sigset_t pending;
    sigemptyset(&blocked->signal);
    sigaddset(&blocked->signal, SIGXFSZ);
    pthread_sigmask(SIG_BLOCK, &blocked->signal, &blocked->mask);
    sigpending(&pending);
    blocked->was_pending = sigismember(&pending, SIGXFSZ) == 1;
}

static void unblock(const struct blocked *blocked, int error) {
    const struct timespec no_wait = {0, 0};
    if (error == EFBIG && !blocked->was_pending)
        while (sigtimedwait(&blocked->signal, NULL, &no_wait) < 0 && errno == EINTR)
            ;
    pthread_sigmask(SIG_SETMASK, &blocked->mask, NULL);
}

int tokenkeep_write_all(int descriptor, const void *bytes, size_t count) {
    struct blocked blocked;
    int error = 0;
    block(&blocked);
    for (size_t done = 0; done < count && error == 0;) {
        ssize_t written = write(descriptor, (const char *)bytes + done, count - done);
        if (written > 0)
            done += (size_t)written;
        else if (written == 0)
            error = EIO;
        else if (errno != EINTR)
            error = errno;
    }
    unblock(&blocked, error);
    return error;
}

int tokenkeep_overwrite(int descriptor, const void *bytes, size_t count, off_t offset) {
    struct blocked blocked;
    ssize_t written;
    block(&blocked);
    do {
        written = pwrite(descriptor, bytes, count, offset);
    } while (written < 0 && errno == EINTR);
    int error = written < 0 ? errno : (size_t)written == count ? 0 : EIO;
    unblock(&blocked, error);
    return error;
}
