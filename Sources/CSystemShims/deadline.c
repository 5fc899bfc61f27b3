#define _GNU_SOURCE
#include "deadline.h"

#include <limits.h>

struct timespec tokenkeep_deadline_after(uint32_t milliseconds) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    time.tv_sec += milliseconds / 1000;
    time.tv_nsec += (long)(milliseconds % 1000) * 1000000;
    if (time.tv_nsec >= 1000000000) {
        time.tv_sec++;
        time.tv_nsec -= 1000000000;
    }
    return time;
}

static int is_before(const struct timespec *one, const struct timespec *other) {
    return one->tv_sec < other->tv_sec || (one->tv_sec == other->tv_sec && one->tv_nsec < other->tv_nsec);
}

int tokenkeep_is_over(const struct timespec *deadline, tokenkeep_is_cancelled is_cancelled,
                      const void *data) {
    struct timespec now;
    if (is_cancelled != NULL && is_cancelled(data))
        return 1;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return !is_before(&now, deadline);
}

int tokenkeep_milliseconds_until(const struct timespec *deadline) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    if (!is_before(&now, deadline))
        return 0;
    long long left = (deadline->tv_sec - now.tv_sec) * 1000LL + (deadline->tv_nsec - now.tv_nsec) / 1000000;
    return left < INT_MAX ? (int)left + 1 : INT_MAX;
}

struct timespec tokenkeep_next_glance(const struct timespec *deadline, tokenkeep_is_cancelled is_cancelled) {
    if (is_cancelled == NULL)
        return *deadline;
    struct timespec soon = tokenkeep_deadline_after(TOKENKEEP_CANCELLATION_GLANCE_MS);
    return is_before(&soon, deadline) ? soon : *deadline;
}
