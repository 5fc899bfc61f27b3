#define _GNU_SOURCE
#include "CSystemShims.h"

#include "deadline.h"

#include <errno.h>

int tokenkeep_mutex_lock(pthread_mutex_t *mutex, uint32_t timeout_ms, tokenkeep_is_cancelled is_cancelled,
                         const void *data) {
    const struct timespec deadline = tokenkeep_deadline_after(timeout_ms);
    for (;;) {
        struct timespec glance = tokenkeep_next_glance(&deadline, is_cancelled);
        int error = pthread_mutex_clocklock(mutex, CLOCK_MONOTONIC, &glance);
        if (error != ETIMEDOUT || tokenkeep_is_over(&deadline, is_cancelled, data))
            return error;
    }
}
