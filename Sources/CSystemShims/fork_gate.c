#define _GNU_SOURCE
#include "CSystemShims.h"
#include "fork_handlers.h"

#include <pthread.h>
#include <stdatomic.h>

/* The Swift runtime has locks that no handler of fork() can take: those of types that a thread instantiates.
 * So fork() waits until no other thread is inside a call, and calls that begin meanwhile wait for fork(). */

/* Both waits are limited. fork() must not wait for a call that waits for a service for seconds. A call must
 * not wait for fork() without a limit, because fork() may wait, in a handler of the application, for a lock
 * that the caller holds. The limit of calls is longer, so that usually the fork is completed first. */
enum { longest_wait_ms = 100, longest_wait_for_fork_ms = 200 };

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static unsigned inside;
static unsigned forking;
static int is_unusable;
static void *_Atomic refusal;
static tokenkeep_fork_handlers pool_handlers;
static const tokenkeep_fork_handlers *_Atomic pool;
/* The handlers that ran before this fork, to be run after it. `pool` may be set during the fork. */
static const tokenkeep_fork_handlers *locked_pool;
static _Thread_local unsigned own;
static _Thread_local int is_forking;

/* Closes the gate. The gate's mutex is not held during the fork, because a thread that waits for this mutex
 * may hold a lock that a handler of the application takes. */
static void close_gate(void) {
    const int64_t deadline = tokenkeep_deadline_after(longest_wait_ms);
    int error = 0;
    pthread_mutex_lock(&mutex);
    forking++;
    while (inside > own && error == 0)
        error = tokenkeep_condition_wait(&changed, &mutex, deadline);
    pthread_mutex_unlock(&mutex);
}

/* Closes the gate before it locks any mutex. A mutex that is held while the gate waits could block the calls
 * for which the gate waits. */
static void before_fork(void) {
    is_forking = 1;
    close_gate();
    tokenkeep_locks_before_fork();
    tokenkeep_derivations_before_fork();
    const tokenkeep_fork_handlers *handlers = pool;
    if (handlers != NULL)
        handlers->before();
    locked_pool = handlers;
}

static void after_fork_in_parent(void) {
    if (locked_pool != NULL)
        locked_pool->after_in_parent();
    tokenkeep_derivations_after_fork_in_parent();
    tokenkeep_locks_after_fork_in_parent();
    pthread_mutex_lock(&mutex);
    forking--;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&mutex);
    is_forking = 0;
}

static void after_fork_in_child(void) {
    if (locked_pool != NULL)
        locked_pool->after_in_child();
    tokenkeep_derivations_after_fork_in_child();
    tokenkeep_locks_after_fork_in_child();
    /* Another thread of the parent may have held the gate's mutex, and does not exist in the child. */
    mutex = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
    changed = (pthread_cond_t)PTHREAD_COND_INITIALIZER;
    forking = 0;
    is_unusable |= inside > own;
    inside = own;
    is_forking = 0;
}

/* Registers the handlers when the library is loaded. fork() calls the prepare handlers in reverse order of
 * registration, so those of the application run first. A lock for which such a handler waits can then still
 * be released by a running call, because the gate is open. */
__attribute__((constructor)) static void register_handlers(void) {
    pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
}

void tokenkeep_fork_set_pool_handlers(const tokenkeep_fork_handlers *handlers) {
    pool_handlers = *handlers;
    pool = &pool_handlers;
}

/* Enters a call after waiting for a running fork. The caller must hold the mutex. */
static void enter_after_fork(void) {
    const int64_t deadline = tokenkeep_deadline_after(longest_wait_for_fork_ms);
    int error = 0;
    while (forking > 0 && own == 0 && error == 0)
        error = tokenkeep_condition_wait(&changed, &mutex, deadline);
    inside++;
    own++;
}

int tokenkeep_call_enter(void) {
    /* A fork handler of the application makes this call. This thread may have locked the mutexes of other
     * handlers. */
    if (is_forking)
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

int tokenkeep_call_is_inside(void) {
    return own > 0;
}

void tokenkeep_call_set_refusal(void *error) {
    refusal = error;
}

void *tokenkeep_call_refusal(void) {
    return refusal;
}
