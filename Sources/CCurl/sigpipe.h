/* Protects a thread that writes to a connection from SIGPIPE, because libcurl's TLS may write without
 * MSG_NOSIGNAL. */
#ifndef TOKENKEEP_SIGPIPE_H
#define TOKENKEEP_SIGPIPE_H

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <time.h>

typedef struct held_sigpipe {
    sigset_t earlier;
    int was_pending;
} held_sigpipe;

static inline sigset_t only_sigpipe(void) {
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGPIPE);
    return signals;
}

static inline held_sigpipe hold_sigpipe(void) {
    held_sigpipe held;
    sigset_t pending, signals = only_sigpipe();
    sigpending(&pending);
    held.was_pending = sigismember(&pending, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &signals, &held.earlier);
    return held;
}

static inline void release_sigpipe(const held_sigpipe *held) {
    const struct timespec at_once = {0};
    sigset_t signals = only_sigpipe();
    if (!held->was_pending)
        while (sigtimedwait(&signals, NULL, &at_once) == -1 && errno == EINTR)
            ;
    pthread_sigmask(SIG_SETMASK, &held->earlier, NULL);
}

#endif
