/*
 * A program with a thread of its own, on a machine that refuses it more threads.
 *
 *   threadless fail N      the N-th call of pthread_create fails, and no other
 *   threadless from N      so does every later call
 *   threadless limit N     the user may have N processes and threads (RLIMIT_NPROC); not as root
 *
 * Uses the stack in HOST_STACK, or the default. Unlocks the vault, saves, loads, lists and synchronises;
 * prints each call with its status and milliseconds, then "threads N", the number of calls of pthread_create.
 * Exits 1 if its own thread no longer runs.
 */
#include "../Support/check.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <tokenkeep.h>

static int counts, calls, first, last;

/* In the place of libc's function, for this program and every library in it. */
int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*body)(void *), void *data) {
    int (*real)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *) = NULL;
    *(void **)&real = dlsym(RTLD_NEXT, "pthread_create");
    if (counts) {
        int number = __atomic_add_fetch(&calls, 1, __ATOMIC_SEQ_CST);
        if (number >= first && number <= last)
            return EAGAIN;
    }
    return real(thread, attributes, body, data);
}

static int ticks;

static void *tick(void *argument) {
    const struct timespec moment = {0, 1000000};
    for (;;) {
        __atomic_add_fetch(&ticks, 1, __ATOMIC_SEQ_CST);
        nanosleep(&moment, NULL);
    }
    return argument;
}

static int own_thread_runs(void) {
    const struct timespec moment = {0, 1000000};
    int before = __atomic_load_n(&ticks, __ATOMIC_SEQ_CST);
    for (int i = 0; i < 10000; i++) {
        if (__atomic_load_n(&ticks, __ATOMIC_SEQ_CST) > before + 1)
            return 1;
        nanosleep(&moment, NULL);
    }
    return 0;
}

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec * 1e3 + (double)time.tv_nsec / 1e6;
}

static double start;

static void report(const char *call, tokenkeep_status status, tokenkeep_error *error) {
    printf("%s %s %.0f\n", call, tokenkeep_status_name(status), now() - start);
    fflush(stdout);
    if (status != TOKENKEEP_OK)
        fprintf(stderr, "%s: %s\n", call, tokenkeep_error_message(error));
    tokenkeep_error_free(error);
    start = now();
}

static void use(tokenkeep_store *store) {
    tokenkeep_error *error = NULL;
    tokenkeep_item *item = NULL;
    tokenkeep_items *items = NULL;
    size_t drained, left;
    start = now();
    tokenkeep_status status = tokenkeep_unlock(store, "password", 8, &error);
    report("unlock", status, error);
    error = NULL;
    status = tokenkeep_save(store, "fault.test", "a", "token", 5, NULL, &error);
    report("save", status, error);
    error = NULL;
    status = tokenkeep_load(store, "fault.test", "a", &item, &error);
    report("load", status, error);
    error = NULL;
    status = tokenkeep_list(store, "fault.test", &items, &error);
    report("list", status, error);
    error = NULL;
    status = tokenkeep_sync(store, &drained, &left, &error);
    report("sync", status, error);
    tokenkeep_item_free(item);
    tokenkeep_items_free(items);
}

int main(int argc, char **argv) {
    pthread_t own;
    tokenkeep_store *store = NULL;
    tokenkeep_open_options options = TOKENKEEP_OPEN_OPTIONS_INIT;
    if (argc != 3 || pthread_create(&own, NULL, tick, NULL) != 0)
        return 2;
    options.stack_text = getenv("HOST_STACK");
    options.timeout_ms = CHECK_PATIENCE_MS;
    tokenkeep_error *error = NULL;
    if (tokenkeep_open(&options, &store, &error) != TOKENKEEP_OK) {
        fprintf(stderr, "no store: %s\n", tokenkeep_error_message(error));
        return 2;
    }
    int number = atoi(argv[2]);
    counts = 1;
    if (strcmp(argv[1], "limit") == 0) {
        struct rlimit limit = {(rlim_t)number, (rlim_t)number};
        if (setrlimit(RLIMIT_NPROC, &limit) != 0)
            return 2;
    } else {
        first = number;
        last = strcmp(argv[1], "from") == 0 ? 1 << 30 : number;
    }
    use(store);
    printf("threads %d\n", calls);
    fflush(stdout);
    if (!own_thread_runs())
        return 1;
    tokenkeep_close(store);
    return own_thread_runs() ? 0 : 1;
}
