#define _GNU_SOURCE
#include "CSystemShims.h"
#include "deadline.h"
#include "fork_handlers.h"

#include <pthread.h>
#include <stdatomic.h>

/* The Swift runtime has locks that no handler of fork() can take: those of types that a thread instantiates.
 * So fork() waits until no other thread is inside a call, and calls that begin meanwhile wait for fork(). */

/* A call may wait for a service for seconds: fork() does not wait for such a call. A call that waits for a
 * fork waits longer than the fork does for calls: but the fork may wait, in a handler of the application, for
 * a lock that the caller holds. */
enum { longest_wait_ms = 100, longest_wait_for_fork_ms = 200 };

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_once_t once_last = PTHREAD_ONCE_INIT;
static unsigned inside;
static unsigned forking;
static int is_unusable;
static void *_Atomic refusal;
static _Thread_local unsigned own;
static _Thread_local unsigned depth;

/* The mutex is not held during the fork: a thread may hold a lock that a handler of the application takes,
 * and wait for this mutex. The handlers are registered twice: only the first call acts. */
static void before_fork(void) {
    if (depth++ > 0)
        return;
    const struct timespec deadline = tokenkeep_deadline_after(longest_wait_ms);
    int error = 0;
    pthread_mutex_lock(&mutex);
    forking++;
    while (inside > own && error == 0)
        error = pthread_cond_clockwait(&changed, &mutex, CLOCK_MONOTONIC, &deadline);
    pthread_mutex_unlock(&mutex);
}

static void after_fork_in_parent(void) {
    if (--depth > 0)
        return;
    pthread_mutex_lock(&mutex);
    forking--;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&mutex);
}

static void after_fork_in_child(void) {
    if (--depth > 0)
        return;
    /* Another thread, which is missing here, may have held the mutex. */
    mutex = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
    changed = (pthread_cond_t)PTHREAD_COND_INITIALIZER;
    forking = 0;
    is_unusable |= inside > own;
    inside = own;
}

static void register_handlers(void) {
    pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
}

/* Before any call: a fork that has begun without the handlers would not see the first call. */
__attribute__((constructor)) static void register_handlers_first(void) {
    pthread_once(&once, register_handlers);
}

/* fork() calls the handler that was registered last first. A handler that took its mutex before this one
 * would stop the calls that this one waits for. */
static void register_handlers_last(void) {
    tokenkeep_register_lock_handlers();
    tokenkeep_register_derivation_handlers();
    register_handlers();
}

/* Under the mutex. */
static void enter_after_fork(void) {
    const struct timespec deadline = tokenkeep_deadline_after(longest_wait_for_fork_ms);
    int error = 0;
    while (forking > 0 && own == 0 && error == 0)
        error = pthread_cond_clockwait(&changed, &mutex, CLOCK_MONOTONIC, &deadline);
    inside++;
    own++;
}

int tokenkeep_call_enter(void) {
    /* A handler of the application calls: the mutexes of other handlers may be locked by this thread. */
    if (depth > 0)
        return 0;
    pthread_mutex_lock(&mutex);
    int may_enter = !is_unusable;
    if (may_enter)
        enter_after_fork();
    pthread_mutex_unlock(&mutex);
    return may_enter;
}

void tokenkeep_call_resume(void) {
    pthread_mutex_lock(&mutex);
    enter_after_fork();
    pthread_mutex_unlock(&mutex);
}

void tokenkeep_call_leave(void) {
    pthread_mutex_lock(&mutex);
    inside--;
    own--;
    if (forking > 0)
        pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&mutex);
}

void tokenkeep_call_gate_finish(void *error) {
    refusal = error;
    pthread_once(&once_last, register_handlers_last);
}

void *tokenkeep_call_refusal(void) {
    return refusal;
}
