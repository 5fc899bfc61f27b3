#define _GNU_SOURCE
#include "CSystemShims.h"
#include "waiting.h"

#include <errno.h>
#include <limits.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#define NANOSECONDS                1000000000LL
#define NANOSECONDS_OF_MILLISECOND 1000000

int64_t tokenkeep_now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * NANOSECONDS + time.tv_nsec;
}

int64_t tokenkeep_deadline_after(uint32_t milliseconds) {
    return tokenkeep_now() + (int64_t)milliseconds * NANOSECONDS_OF_MILLISECOND;
}

int tokenkeep_timeout_until(int64_t deadline) {
    int64_t left = deadline - tokenkeep_now();
    if (left <= 0)
        return 0;
    int64_t milliseconds = (left + NANOSECONDS_OF_MILLISECOND - 1) / NANOSECONDS_OF_MILLISECOND;
    return milliseconds < INT_MAX ? (int)milliseconds : INT_MAX;
}

static struct timespec time_of(int64_t deadline) {
    return (struct timespec){deadline / NANOSECONDS, deadline % NANOSECONDS};
}

int tokenkeep_condition_wait(pthread_cond_t *condition, pthread_mutex_t *mutex, int64_t deadline) {
    const struct timespec time = time_of(deadline);
    return pthread_cond_clockwait(condition, mutex, CLOCK_MONOTONIC, &time);
}

/* The moment of the next check of a wait: soon if the wait can be cancelled, and never after the deadline. */
static int64_t next_check(int64_t deadline, tokenkeep_is_cancelled is_cancelled) {
    int64_t soon =
        is_cancelled == NULL ? deadline : tokenkeep_deadline_after(TOKENKEEP_CANCELLATION_GLANCE_MS);
    return soon < deadline ? soon : deadline;
}

int tokenkeep_is_over(const struct tokenkeep_limit *limit) {
    if (limit->is_cancelled != NULL && limit->is_cancelled(limit->data))
        return 1;
    return tokenkeep_now() >= limit->deadline;
}

void tokenkeep_condition_wait_a_while(pthread_cond_t *condition, pthread_mutex_t *mutex,
                                      const struct tokenkeep_limit *limit) {
    (void)tokenkeep_condition_wait(condition, mutex, next_check(limit->deadline, limit->is_cancelled));
}

int tokenkeep_mutex_lock(pthread_mutex_t *mutex, uint32_t timeout_ms, tokenkeep_is_cancelled is_cancelled,
                         const void *data) {
    const struct tokenkeep_limit limit = {tokenkeep_deadline_after(timeout_ms), is_cancelled, data};
    for (;;) {
        const struct timespec check = time_of(next_check(limit.deadline, is_cancelled));
        int error = pthread_mutex_clocklock(mutex, CLOCK_MONOTONIC, &check);
        if (error != ETIMEDOUT || tokenkeep_is_over(&limit))
            return error;
    }
}

void tokenkeep_pause(uint32_t milliseconds) {
    const struct timespec time = time_of((int64_t)milliseconds * NANOSECONDS_OF_MILLISECOND);
    nanosleep(&time, NULL);
}

int tokenkeep_alarm_open(uint32_t milliseconds) {
    /* The value 0 would stop the timer, so set at least 1 ns. */
    const struct itimerspec end = {.it_value =
                                       time_of((int64_t)milliseconds * NANOSECONDS_OF_MILLISECOND + 1)};
    int alarm = timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC | TFD_NONBLOCK);
    if (alarm < 0 || timerfd_settime(alarm, 0, &end, NULL) == 0)
        return alarm;
    int error = errno;
    close(alarm);
    errno = error;
    return -1;
}

int tokenkeep_timer_open(void) {
    return timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
}

void tokenkeep_timer_set(int timer, uint32_t milliseconds) {
    const struct itimerspec end = {.it_value = time_of((int64_t)milliseconds * NANOSECONDS_OF_MILLISECOND)};
    timerfd_settime(timer, 0, &end, NULL);
}

int tokenkeep_timer_has_passed(int timer) {
    uint64_t count;
    return read(timer, &count, sizeof count) == sizeof count;
}
