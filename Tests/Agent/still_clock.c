/* A boot clock and a monotonic clock that stand still for the agent until a test moves them: by LD_PRELOAD,
 * or linked in. The test writes the time into a page that TOKENKEEP_AGENT_CLOCK names, and sends SIGRTMIN
 * (still_clock.py). The page also shows when the agent rests, which timer is next, and the timeouts that the
 * agent asked for. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <linux/keyctl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#define SECOND   1000000000LL
#define TIMERS   8
#define TIMEOUTS 256

/* still_clock.py has the same layout. Times are nanoseconds. */
struct page {
    int64_t now;
    /* Written by the test: how often it moved the clock, and set the wall clock. */
    int32_t moves, wall_sets;
    /* The number of moves that the agent knew of when it last had nothing to do. */
    int32_t rested_after;
    uint32_t timeout_count;
    /* The timers' times; 0: not armed. */
    int64_t timers[TIMERS];
    struct {
        int32_t serial;
        uint32_t seconds;
    } timeouts[TIMEOUTS];
};

static volatile struct page *page;
static volatile int32_t seen_moves, seen_wall_sets;
static int descriptors[TIMERS], wall_timer = -1;
static int timer_count;

#define REAL(name)                                                                                           \
    ({                                                                                                       \
        static __typeof__(&name) found;                                                                      \
        if (found == NULL)                                                                                   \
            found = (__typeof__(&name))dlsym(RTLD_NEXT, #name);                                              \
        found;                                                                                               \
    })

static int64_t nanoseconds(const struct timespec *time) {
    return time->tv_sec * SECOND + time->tv_nsec;
}

/* Found before a signal needs it. */
static int (*set_real_timer)(int, int, const struct itimerspec *, struct itimerspec *);

static void fire(int descriptor) {
    const struct itimerspec past = {.it_value.tv_nsec = 1};
    (void)set_real_timer(descriptor, TFD_TIMER_ABSTIME, &past, NULL);
}

/* The kernel's timer fires once its time has come, and never by itself. */
static void set_timer(int index) {
    const struct itimerspec never = {.it_value.tv_sec = 0};
    if (page->timers[index] != 0 && page->timers[index] <= page->now)
        fire(descriptors[index]);
    else
        (void)set_real_timer(descriptors[index], 0, &never, NULL);
}

static void on_move(int number) {
    (void)number;
    int32_t moves = page->moves;
    for (int index = 0; index < timer_count; index++)
        set_timer(index);
    if (seen_wall_sets != page->wall_sets && wall_timer >= 0)
        fire(wall_timer);
    seen_wall_sets = page->wall_sets;
    seen_moves = moves;
}

__attribute__((constructor)) static void begin(void) {
    const char *path = getenv("TOKENKEEP_AGENT_CLOCK");
    int file = path != NULL ? open(path, O_RDWR | O_CLOEXEC) : -1;
    if (file < 0)
        return;
    void *memory = mmap(NULL, sizeof(struct page), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    (void)close(file);
    if (memory == MAP_FAILED)
        abort();
    page = memory;
    set_real_timer = REAL(timerfd_settime);
    for (int index = 0; index < TIMERS; index++)
        page->timers[index] = 0;
    page->rested_after = -1;
    seen_moves = page->moves;
    seen_wall_sets = page->wall_sets;
    (void)signal(SIGRTMIN, on_move);
}

static int is_still(clockid_t clock) {
    return page != NULL && (clock == CLOCK_BOOTTIME || clock == CLOCK_MONOTONIC);
}

int clock_gettime(clockid_t clock, struct timespec *time) {
    if (!is_still(clock))
        return REAL(clock_gettime)(clock, time);
    *time = (struct timespec){.tv_sec = page->now / SECOND, .tv_nsec = page->now % SECOND};
    return 0;
}

int timerfd_create(clockid_t clock, int flags) {
    int descriptor = REAL(timerfd_create)(clock, flags);
    if (is_still(clock) && descriptor >= 0) {
        if (timer_count == TIMERS)
            abort();
        descriptors[timer_count++] = descriptor;
    }
    return descriptor;
}

int timerfd_settime(int descriptor, int flags, const struct itimerspec *new, struct itimerspec *old) {
    for (int index = 0; index < timer_count; index++) {
        if (descriptors[index] != descriptor)
            continue;
        int64_t time = nanoseconds(&new->it_value);
        page->timers[index] = time == 0 || (flags & TFD_TIMER_ABSTIME) != 0 ? time : page->now + time;
        /* A move of the clock meanwhile may have let the timer fire. */
        int32_t moves;
        do {
            moves = seen_moves;
            set_timer(index);
        } while (moves != seen_moves);
        return 0;
    }
    if (page != NULL && (flags & TFD_TIMER_CANCEL_ON_SET) != 0)
        wall_timer = descriptor;
    return REAL(timerfd_settime)(descriptor, flags, new, old);
}

/* An endless wait is a rest, unless there is something to do already. */
int epoll_wait(int epoll, struct epoll_event *events, int count, int milliseconds) {
    if (page == NULL || milliseconds >= 0)
        return REAL(epoll_wait)(epoll, events, count, milliseconds);
    int32_t moves = seen_moves;
    int ready = REAL(epoll_wait)(epoll, events, count, 0);
    if (ready != 0)
        return ready;
    page->rested_after = moves;
    return REAL(epoll_wait)(epoll, events, count, -1);
}

/* The limit of `tokenkeep agent test-lock` is for people. */
unsigned int alarm(unsigned int seconds) {
    return page != NULL ? 0 : REAL(alarm)(seconds);
}

long syscall(long number, ...) {
    long arguments[6];
    va_list list;
    va_start(list, number);
    for (int index = 0; index < 6; index++)
        arguments[index] = va_arg(list, long);
    va_end(list);
    if (page != NULL && number == SYS_keyctl && (int)arguments[0] == KEYCTL_SET_TIMEOUT) {
        uint32_t place = page->timeout_count % TIMEOUTS;
        page->timeouts[place].serial = (int32_t)arguments[1];
        page->timeouts[place].seconds = (uint32_t)arguments[2];
        page->timeout_count++;
    }
    return REAL(syscall)(number, arguments[0], arguments[1], arguments[2], arguments[3], arguments[4],
                         arguments[5]);
}
