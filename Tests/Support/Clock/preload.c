/* Lets a program live by the test clock (include/test_clock.h), by LD_PRELOAD: what it reads of the monotonic
 * clock, and how long it waits. The programs under test are the ones that are shipped, byte for byte.
 *
 * Programs of the system (below /usr and /opt) and Python keep the real clock: a test's own patience is real.
 */
#define _GNU_SOURCE
#undef _FORTIFY_SOURCE
#include "include/test_clock.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#define SECOND 1000000000LL
/* A wait looks at the clock so often, in real time: soon after a test has moved it. */
#define SLICE       (10 * 1000000LL)
#define DESCRIPTORS 4096

static test_clock_page *page;
static char is_monotonic_timer[DESCRIPTORS];

/* The C library's own function of the same name. */
#define REAL(name)                                                                                           \
    ({                                                                                                       \
        static __typeof__(&name) found;                                                                      \
        if (found == NULL)                                                                                   \
            found = (__typeof__(&name))dlsym(RTLD_NEXT, #name);                                              \
        found;                                                                                               \
    })

static int is_system_program(const char *path) {
    const char *name = strrchr(path, '/') == NULL ? path : strrchr(path, '/') + 1;
    return strncmp(path, "/usr/", 5) == 0 || strncmp(path, "/opt/", 5) == 0 ||
           strncmp(path, "/bin/", 5) == 0 || strncmp(path, "/sbin/", 6) == 0 ||
           strncmp(name, "python", 6) == 0;
}

/* Looked up at the start: a child of a process with threads calls it between fork and exec. */
static __typeof__(&setitimer) real_setitimer;

__attribute__((constructor)) static void begin(void) {
    real_setitimer = REAL(setitimer);
    char path[PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", path, sizeof path - 1);
    if (length <= 0)
        return;
    path[length] = 0;
    if (!is_system_program(path) || getenv("TOKENKEEP_TEST_CLOCK_OF_SYSTEM") != NULL)
        page = test_clock_of_environment();
}

static int64_t count(const struct timespec *time) {
    return time->tv_sec * SECOND + time->tv_nsec;
}

static struct timespec time_of(int64_t nanoseconds) {
    return (struct timespec){nanoseconds / SECOND, nanoseconds % SECOND};
}

static struct timespec real_time_in(int64_t nanoseconds) {
    struct timespec now;
    REAL(clock_gettime)(CLOCK_MONOTONIC, &now);
    return time_of(nanoseconds > INT64_MAX - count(&now) ? INT64_MAX : count(&now) + nanoseconds);
}

static int is_moved(clockid_t clock) {
    return page != NULL &&
           (clock == CLOCK_MONOTONIC || clock == CLOCK_MONOTONIC_RAW || clock == CLOCK_MONOTONIC_COARSE);
}

/* A thread's wait, listed in the page so that a test sees for which moment the thread waits. A wait that the
 * caller begins again, as those for a condition, goes on. */
typedef struct {
    int64_t deadline;
    int32_t rounds;
    int was_cut; /* the last wait returned only to let its caller look again, who waits for another moment
                    then */
    test_clock_wait *place;
} wait_state;

static __thread wait_state mine;

static test_clock_wait *take_place(void) {
    static __thread int next;
    for (int i = 0; i < TEST_CLOCK_WAITS; i++) {
        test_clock_wait *place = &page->waits[(next + i) % TEST_CLOCK_WAITS];
        int32_t owner = __atomic_load_n(&place->pid, __ATOMIC_RELAXED);
        if ((owner == 0 || (i >= TEST_CLOCK_WAITS / 2 && kill(owner, 0) != 0 && errno == ESRCH)) &&
            __atomic_compare_exchange_n(&place->pid, &owner, -1, 0, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)) {
            next = (next + i) % TEST_CLOCK_WAITS;
            return place;
        }
    }
    return NULL;
}

static void begin_wait(int64_t deadline) {
    int error = errno;
    if (mine.deadline != deadline && !mine.was_cut)
        mine.rounds = 0;
    mine.was_cut = 0;
    mine.deadline = deadline;
    mine.place = take_place();
    if (mine.place != NULL) {
        mine.place->deadline = deadline;
        mine.place->rounds = mine.rounds;
        __atomic_store_n(&mine.place->pid, getpid(), __ATOMIC_RELEASE);
    }
    errno = error;
}

/* How long to wait in reality before the next look; 0 once the moment has passed. */
static int64_t next_round(void) {
    int64_t left = test_clock_real_until(page, mine.deadline);
    mine.rounds++;
    if (mine.place != NULL)
        __atomic_store_n(&mine.place->rounds, mine.rounds, __ATOMIC_RELAXED);
    return left < SLICE ? left : SLICE;
}

static void end_wait(void) {
    if (mine.place != NULL)
        __atomic_store_n(&mine.place->pid, 0, __ATOMIC_RELEASE);
    mine.place = NULL;
}

int clock_gettime(clockid_t clock, struct timespec *time) {
    if (is_moved(clock)) {
        *time = time_of(test_clock_now(page));
        return 0;
    }
    int result = REAL(clock_gettime)(clock, time);
    int64_t wall =
        page == NULL || clock != CLOCK_REALTIME ? 0 : __atomic_load_n(&page->wall, __ATOMIC_ACQUIRE);
    if (result == 0 && wall != 0)
        *time = time_of(count(time) + wall);
    return result;
}

static int poll_until(struct pollfd *polled, nfds_t count, int64_t limit, const sigset_t *signals) {
    int result;
    begin_wait(test_clock_now(page) + limit);
    for (;;) {
        int64_t round = next_round();
        struct timespec time = time_of(round);
        result = REAL(ppoll)(polled, count, &time, signals);
        if (result != 0 || round == 0)
            break;
    }
    end_wait();
    return result;
}

int poll(struct pollfd *polled, nfds_t count, int milliseconds) {
    if (page == NULL || milliseconds <= 0)
        return REAL(poll)(polled, count, milliseconds);
    return poll_until(polled, count, milliseconds * (SECOND / 1000), NULL);
}

int ppoll(struct pollfd *polled, nfds_t number, const struct timespec *limit, const sigset_t *signals) {
    if (page == NULL || limit == NULL || count(limit) == 0)
        return REAL(ppoll)(polled, number, limit, signals);
    return poll_until(polled, number, count(limit), signals);
}

int __poll_chk(struct pollfd *polled, nfds_t count, int milliseconds, size_t size) {
    if (count > size / sizeof *polled)
        abort();
    return poll(polled, count, milliseconds);
}

int __ppoll_chk(struct pollfd *polled, nfds_t count, const struct timespec *limit, const sigset_t *signals,
                size_t size) {
    if (count > size / sizeof *polled)
        abort();
    return ppoll(polled, count, limit, signals);
}

int epoll_pwait(int epoll, struct epoll_event *events, int count, int milliseconds, const sigset_t *signals) {
    if (page == NULL || milliseconds <= 0)
        return REAL(epoll_pwait)(epoll, events, count, milliseconds, signals);
    int result;
    begin_wait(test_clock_now(page) + milliseconds * (SECOND / 1000));
    for (;;) {
        int64_t round = next_round();
        result = REAL(epoll_pwait)(epoll, events, count, (int)((round + 999999) / 1000000), signals);
        if (result != 0 || round == 0)
            break;
    }
    end_wait();
    return result;
}

int epoll_wait(int epoll, struct epoll_event *events, int count, int milliseconds) {
    return epoll_pwait(epoll, events, count, milliseconds, NULL);
}

/* Sleeps until `deadline` of the test clock: 0, or the error of an interrupted sleep. */
static int sleep_until(int64_t deadline) {
    int error = 0;
    begin_wait(deadline);
    for (int64_t round; error == 0 && (round = next_round()) > 0;) {
        struct timespec time = time_of(round);
        error = REAL(nanosleep)(&time, NULL) == 0 ? 0 : errno;
    }
    end_wait();
    return error;
}

int nanosleep(const struct timespec *limit, struct timespec *left) {
    if (page == NULL)
        return REAL(nanosleep)(limit, left);
    int64_t deadline = test_clock_now(page) + count(limit);
    int error = sleep_until(deadline);
    if (error == 0)
        return 0;
    if (left != NULL) {
        int64_t rest = deadline - test_clock_now(page);
        *left = time_of(rest > 0 ? rest : 0);
    }
    errno = error;
    return -1;
}

int usleep(useconds_t microseconds) {
    struct timespec limit = time_of(microseconds * 1000LL);
    return nanosleep(&limit, NULL);
}

int clock_nanosleep(clockid_t clock, int flags, const struct timespec *limit, struct timespec *left) {
    if (!is_moved(clock))
        return REAL(clock_nanosleep)(clock, flags, limit, left);
    if ((flags & TIMER_ABSTIME) == 0)
        return nanosleep(limit, left) == 0 ? 0 : errno;
    return sleep_until(count(limit));
}

/* Returns as if the condition was signalled when it is time to look again: each caller tests what it waits
 * for. */
int pthread_cond_clockwait(pthread_cond_t *condition, pthread_mutex_t *mutex, clockid_t clock,
                           const struct timespec *limit) {
    if (!is_moved(clock))
        return REAL(pthread_cond_clockwait)(condition, mutex, clock, limit);
    begin_wait(count(limit));
    struct timespec time = real_time_in(next_round());
    int error = REAL(pthread_cond_clockwait)(condition, mutex, CLOCK_MONOTONIC, &time);
    end_wait();
    mine.was_cut = error == ETIMEDOUT && test_clock_real_until(page, count(limit)) > 0;
    return mine.was_cut ? 0 : error;
}

int pthread_cond_timedwait(pthread_cond_t *condition, pthread_mutex_t *mutex, const struct timespec *limit) {
    /* The C library's own mark of a condition that pthread_condattr_setclock(3) gave the monotonic clock. */
    int is_monotonic = (condition->__data.__wrefs & 2) != 0;
    if (page == NULL || !is_monotonic)
        return REAL(pthread_cond_timedwait)(condition, mutex, limit);
    return pthread_cond_clockwait(condition, mutex, CLOCK_MONOTONIC, limit);
}

int pthread_mutex_clocklock(pthread_mutex_t *mutex, clockid_t clock, const struct timespec *limit) {
    if (!is_moved(clock))
        return REAL(pthread_mutex_clocklock)(mutex, clock, limit);
    int error;
    begin_wait(count(limit));
    for (;;) {
        int64_t round = next_round();
        struct timespec time = real_time_in(round);
        error = REAL(pthread_mutex_clocklock)(mutex, CLOCK_MONOTONIC, &time);
        if (error != ETIMEDOUT || round == 0)
            break;
    }
    end_wait();
    return error;
}

int timerfd_create(clockid_t clock, int flags) {
    int descriptor = REAL(timerfd_create)(clock, flags);
    if (descriptor >= 0 && descriptor < DESCRIPTORS)
        is_monotonic_timer[descriptor] = clock == CLOCK_MONOTONIC;
    return descriptor;
}

/* The kernel's timers go slower, but do not see when a test moves the clock. */
int timerfd_settime(int descriptor, int flags, const struct itimerspec *timer, struct itimerspec *old) {
    struct itimerspec set = *timer;
    if (page != NULL && descriptor >= 0 && descriptor < DESCRIPTORS && is_monotonic_timer[descriptor] &&
        count(&set.it_value) != 0) {
        int64_t now = test_clock_now(page), given = count(&set.it_value);
        int is_absolute = (flags & TFD_TIMER_ABSTIME) != 0;
        int64_t real = test_clock_real_until(page, is_absolute ? given : now + given);
        set.it_value = is_absolute ? real_time_in(real) : time_of(real > 0 ? real : 1);
        if (count(&set.it_interval) != 0)
            set.it_interval = time_of(test_clock_real_until(page, now + count(&set.it_interval)));
    }
    return REAL(timerfd_settime)(descriptor, flags, &set, old);
}

static struct timeval times(struct timeval time, int64_t factor, int64_t divisor) {
    int64_t microseconds = (time.tv_sec * 1000000LL + time.tv_usec) * factor / divisor;
    return (struct timeval){microseconds / 1000000, microseconds % 1000000};
}

static struct itimerval timer_times(struct itimerval timer, int64_t factor, int64_t divisor) {
    return (struct itimerval){.it_interval = times(timer.it_interval, factor, divisor),
                              .it_value = times(timer.it_value, factor, divisor)};
}

static int64_t slowness(void) {
    return page->slowness == 0 ? 1 : page->slowness;
}

/* These go slower, too. A test that wants one to end sends SIGALRM. */
int setitimer(__itimer_which_t which, const struct itimerval *timer, struct itimerval *old) {
    if (page == NULL || which != ITIMER_REAL)
        return real_setitimer(which, timer, old);
    struct itimerval set = timer_times(*timer, slowness(), 1);
    int result = real_setitimer(which, &set, old);
    if (result == 0 && old != NULL)
        *old = timer_times(*old, 1, slowness());
    return result;
}

int getitimer(__itimer_which_t which, struct itimerval *timer) {
    int result = REAL(getitimer)(which, timer);
    if (result == 0 && page != NULL && which == ITIMER_REAL)
        *timer = timer_times(*timer, 1, slowness());
    return result;
}

unsigned int alarm(unsigned int seconds) {
    struct itimerval set = {.it_value = {.tv_sec = seconds}}, old;
    if (setitimer(ITIMER_REAL, &set, &old) != 0)
        return 0;
    return (unsigned int)old.it_value.tv_sec + (old.it_value.tv_usec != 0);
}

/* The limits of setsockopt(2). A number may have been given to another socket since. */
static int64_t receive_limits[DESCRIPTORS];

static int has_receive_limit(int socket, int flags) {
    struct timeval limit = {0, 0};
    socklen_t length = sizeof limit;
    return page != NULL && socket >= 0 && socket < DESCRIPTORS && receive_limits[socket] > 0 &&
           (flags & MSG_DONTWAIT) == 0 && (fcntl(socket, F_GETFL) & O_NONBLOCK) == 0 &&
           getsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &limit, &length) == 0 &&
           (limit.tv_sec != 0 || limit.tv_usec != 0);
}

/* The kernel's limit does not see when a test moves the clock. */
ssize_t recv(int socket, void *buffer, size_t size, int flags) {
    if (has_receive_limit(socket, flags)) {
        struct pollfd polled = {.fd = socket, .events = POLLIN};
        int ready = poll_until(&polled, 1, receive_limits[socket], NULL);
        if (ready <= 0) {
            errno = ready == 0 ? EAGAIN : errno;
            return -1;
        }
    }
    return REAL(recv)(socket, buffer, size, flags);
}

int setsockopt(int socket, int level, int option, const void *value, socklen_t length) {
    if (page == NULL || level != SOL_SOCKET || (option != SO_RCVTIMEO && option != SO_SNDTIMEO) ||
        length != sizeof(struct timeval))
        return REAL(setsockopt)(socket, level, option, value, length);
    struct timeval limit = *(const struct timeval *)value;
    if (option == SO_RCVTIMEO && socket >= 0 && socket < DESCRIPTORS)
        receive_limits[socket] = limit.tv_sec * SECOND + limit.tv_usec * 1000;
    int64_t real =
        test_clock_real_until(page, test_clock_now(page) + limit.tv_sec * SECOND + limit.tv_usec * 1000);
    limit = (struct timeval){real / SECOND, real % SECOND / 1000};
    return REAL(setsockopt)(socket, level, option, &limit, length);
}
