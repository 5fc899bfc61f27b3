/* Makes the boot clock of a program SPEED times as fast, by LD_PRELOAD. Other clocks, as that of calls on a
 * bus, stay. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>
#include <sys/timerfd.h>
#include <time.h>

#define NANOSECONDS 1000000000LL
#define DESCRIPTORS 1024

static int64_t beginning;
static char counts_boot_time[DESCRIPTORS];

static int64_t nanoseconds(const struct timespec *time) {
    return time->tv_sec * NANOSECONDS + time->tv_nsec;
}

static struct timespec time_of(int64_t count) {
    return (struct timespec){.tv_sec = count / NANOSECONDS, .tv_nsec = count % NANOSECONDS};
}

int clock_gettime(clockid_t clock, struct timespec *time) {
    static int (*real)(clockid_t, struct timespec *);
    if (real == NULL)
        real = (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime");
    int result = real(clock, time);
    if (clock == CLOCK_BOOTTIME && result == 0) {
        if (beginning == 0)
            beginning = nanoseconds(time);
        *time = time_of(beginning + (nanoseconds(time) - beginning) * SPEED);
    }
    return result;
}

int timerfd_create(clockid_t clock, int flags) {
    int (*real)(clockid_t, int) = (int (*)(clockid_t, int))dlsym(RTLD_NEXT, "timerfd_create");
    int descriptor = real(clock, flags);
    if (descriptor >= 0 && descriptor < DESCRIPTORS)
        counts_boot_time[descriptor] = clock == CLOCK_BOOTTIME;
    return descriptor;
}

int timerfd_settime(int descriptor, int flags, const struct itimerspec *new, struct itimerspec *old) {
    int (*real)(int, int, const struct itimerspec *, struct itimerspec *) =
        (int (*)(int, int, const struct itimerspec *, struct itimerspec *))dlsym(RTLD_NEXT,
                                                                                 "timerfd_settime");
    struct itimerspec set = *new;
    int64_t end = nanoseconds(&set.it_value);
    if (descriptor < DESCRIPTORS && counts_boot_time[descriptor] && (flags & TFD_TIMER_ABSTIME) != 0 &&
        end > beginning)
        set.it_value = time_of(beginning + (end - beginning + SPEED - 1) / SPEED);
    return real(descriptor, flags, &set, old);
}
