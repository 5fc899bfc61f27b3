#define _GNU_SOURCE
#include "CSystemShims.h"

#include <time.h>

int tokenkeep_mutex_lock(pthread_mutex_t *mutex, uint32_t timeout_ms) {
    struct timespec end;
    clock_gettime(CLOCK_MONOTONIC, &end);
    end.tv_sec += timeout_ms / 1000;
    end.tv_nsec += (long)(timeout_ms % 1000) * 1000000;
    if (end.tv_nsec >= 1000000000) {
        end.tv_sec += 1;
        end.tv_nsec -= 1000000000;
    }
    return pthread_mutex_clocklock(mutex, CLOCK_MONOTONIC, &end);
}
