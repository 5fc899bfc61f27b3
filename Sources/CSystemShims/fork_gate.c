#define _GNU_SOURCE
#include "CSystemShims.h"
#include "deadline.h"
#include "fork_handlers.h"

#include <pthread.h>
#include <stdatomic.h>

/* The Swift runtime has locks that no handler of fork() can take: those of types that a thread instantiates.
 * So fork() waits until no other thread is inside a call, and calls that begin meanwhile wait for fork(). */

/* A call may wait for a service for seconds: fork() does not wait for such a call. */
enum { longest_wait_ms = 100 };

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_once_t once_last = PTHREAD_ONCE_INIT;
static unsigned inside;
static unsigned forking;
static int others_are_inside;
static int is_unusable;
static void *_Atomic refusal;
static _Thread_local unsigned own;
static _Thread_local unsigned depth;

/* Leaves the mutex locked until the fork is over. The handlers are registered twice: only the first call
 * acts. */
static void before_fork(void) {
    if (depth++ > 0)
        return;
    const struct timespec deadline = tokenkeep_deadline_after(longest_wait_ms);
    int error = 0;
    pthread_mutex_lock(&mutex);
    forking++;
    while (inside > own && error == 0)
        error = pthread_cond_clockwait(&changed, &mutex, CLOCK_MONOTONIC, &deadline);
    others_are_inside = inside > own;
}

static void after_fork_in_parent(void) {
    if (--depth > 0)
        return;
    forking--;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&mutex);
}

static void after_fork_in_child(void) {
    if (--depth > 0)
        return;
    forking = 0;
    inside = own;
    is_unusable |= others_are_inside;
    changed = (pthread_cond_t)PTHREAD_COND_INITIALIZER;
    pthread_mutex_unlock(&mutex);
}

static void register_handlers(void) {
    pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
}

/* fork() calls the handler that was registered last first. A handler that took its mutex before this one
 * would stop the calls that this one waits for. */
static void register_handlers_last(void) {
    tokenkeep_register_lock_handlers();
    tokenkeep_register_derivation_handlers();
    register_handlers();
}

static void count(void) {
    inside++;
    own++;
}

int tokenkeep_call_enter(void) {
    pthread_once(&once, register_handlers);
    pthread_mutex_lock(&mutex);
    while (forking > 0 && own == 0)
        pthread_cond_wait(&changed, &mutex);
    int may_enter = !is_unusable;
    if (may_enter)
        count();
    pthread_mutex_unlock(&mutex);
    return may_enter;
}

void tokenkeep_call_resume(void) {
    pthread_mutex_lock(&mutex);
    while (forking > 0 && own == 0)
        pthread_cond_wait(&changed, &mutex);
    count();
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
