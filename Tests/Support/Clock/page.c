#define _GNU_SOURCE
#include "include/test_clock.h"

#include <fcntl.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define SECOND 1000000000LL

/* The system calls themselves: preload.c stands in the place of the functions. */
int64_t test_clock_real_now(void) {
    struct timespec time;
    syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &time);
    return time.tv_sec * SECOND + time.tv_nsec;
}

void test_clock_real_pause(int64_t nanoseconds) {
    struct timespec time = {nanoseconds / SECOND, nanoseconds % SECOND};
    syscall(SYS_clock_nanosleep, CLOCK_MONOTONIC, 0, &time, NULL);
}

test_clock_page *test_clock_open(const char *path) {
    int descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    struct stat status;
    if (descriptor < 0)
        return NULL;
    void *page = MAP_FAILED;
    if (fstat(descriptor, &status) == 0 && (status.st_size == (off_t)sizeof(test_clock_page) ||
                                            ftruncate(descriptor, sizeof(test_clock_page)) == 0))
        page = mmap(NULL, sizeof(test_clock_page), PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
    close(descriptor);
    return page == MAP_FAILED ? NULL : page;
}

test_clock_page *test_clock_of_environment(void) {
    static _Atomic(test_clock_page *) opened;
    test_clock_page *page = opened;
    const char *path = getenv(TEST_CLOCK_VARIABLE);
    if (page == NULL && path != NULL && (page = test_clock_open(path)) != NULL)
        opened = page;
    return page;
}

typedef struct {
    int64_t real, shown, slowness;
} state;

/* A page that nobody has written yet shows the real time. */
static state state_of(test_clock_page *page) {
    int64_t slowness = __atomic_load_n(&page->slowness, __ATOMIC_RELAXED);
    return (state){__atomic_load_n(&page->real, __ATOMIC_RELAXED),
                   __atomic_load_n(&page->shown, __ATOMIC_RELAXED), slowness == 0 ? 1 : slowness};
}

static state read_state(test_clock_page *page) {
    for (;;) {
        uint32_t version = __atomic_load_n(&page->version, __ATOMIC_ACQUIRE);
        state read = state_of(page);
        __atomic_thread_fence(__ATOMIC_ACQUIRE);
        if (version % 2 == 0 && __atomic_load_n(&page->version, __ATOMIC_RELAXED) == version)
            return read;
        sched_yield();
    }
}

static int64_t shown_by(state now) {
    return now.shown + (test_clock_real_now() - now.real) / now.slowness;
}

int64_t test_clock_now(test_clock_page *page) {
    return shown_by(read_state(page));
}

int64_t test_clock_real_until(test_clock_page *page, int64_t moment) {
    state now = read_state(page);
    int64_t left = moment - shown_by(now);
    if (left <= 0)
        return 0;
    return left > INT64_MAX / now.slowness ? INT64_MAX : left * now.slowness;
}

static void change(test_clock_page *page, uint32_t slowness, int64_t forward) {
    uint32_t version;
    do {
        version = __atomic_load_n(&page->version, __ATOMIC_RELAXED) & ~1U;
    } while (!__atomic_compare_exchange_n(&page->version, &version, version + 1, 0, __ATOMIC_ACQ_REL,
                                          __ATOMIC_RELAXED));
    state before = state_of(page);
    int64_t real = test_clock_real_now();
    int64_t shown = before.shown + (real - before.real) / before.slowness + forward;
    __atomic_store_n(&page->shown, shown, __ATOMIC_RELAXED);
    __atomic_store_n(&page->real, real, __ATOMIC_RELAXED);
    __atomic_store_n(&page->slowness, slowness != 0 ? slowness : (uint32_t)before.slowness, __ATOMIC_RELAXED);
    __atomic_store_n(&page->version, version + 2, __ATOMIC_RELEASE);
}

void test_clock_set_slowness(test_clock_page *page, uint32_t slowness) {
    change(page, slowness, 0);
}

void test_clock_advance(test_clock_page *page, int64_t nanoseconds) {
    change(page, 0, nanoseconds);
}

void test_clock_set_wall(test_clock_page *page, int64_t nanoseconds) {
    __atomic_store_n(&page->wall, nanoseconds, __ATOMIC_RELEASE);
}

int64_t test_clock_next_deadline(test_clock_page *page, int32_t pid, int32_t rounds) {
    int64_t next = INT64_MAX;
    for (int i = 0; i < TEST_CLOCK_WAITS; i++) {
        test_clock_wait *wait = &page->waits[i];
        int32_t owner = __atomic_load_n(&wait->pid, __ATOMIC_ACQUIRE);
        if (owner != 0 && (pid == 0 || owner == pid) &&
            __atomic_load_n(&wait->rounds, __ATOMIC_RELAXED) >= rounds && wait->deadline < next)
            next = wait->deadline;
    }
    return next;
}
