/* SPDX-License-Identifier: Apache-2.0 */
/* Watches: changes by other processes, descriptors, fork, threads. */
#define _GNU_SOURCE
#include "store_test.h"
#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { changes = 1000, accounts = 50 };

static tokenkeep_store *store;

static tokenkeep_watch *open_watch(const char *service) {
    tokenkeep_watch *watch = NULL;
    tokenkeep_error *error = NULL;
    if (!CHECK_NUMBER(TOKENKEEP_OK, tokenkeep_watch_open(store, service, &watch, &error))) {
        printf("     no watch: %s\n", tokenkeep_error_message(error));
        tokenkeep_error_free(error);
    }
    return watch;
}

static int is_readable(const tokenkeep_watch *watch) {
    struct pollfd poller = {tokenkeep_watch_fd(watch), POLLIN, 0};
    return poll(&poller, 1, 0) == 1;
}

/* The next event must be of this kind and about this account. */
static int next_is(tokenkeep_watch *watch, uint32_t kind, const char *account) {
    tokenkeep_event *event = NULL;
    int is_it = CHECK_NUMBER(TOKENKEEP_OK, tokenkeep_watch_next(watch, &event, NULL)) &&
                CHECK_NUMBER(kind, tokenkeep_event_kind(event)) &&
                CHECK_TEXT("", tokenkeep_event_namespace(event)) &&
                CHECK_TEXT("watch", tokenkeep_event_service(event)) &&
                CHECK_TEXT(account, tokenkeep_event_account(event));
    tokenkeep_event_free(event);
    return is_it;
}

static int nothing_is_next(tokenkeep_watch *watch) {
    tokenkeep_event *event = NULL;
    int is_nothing = CHECK_NUMBER(TOKENKEEP_NOT_FOUND, tokenkeep_watch_next(watch, &event, NULL)) &&
                     CHECK(event == NULL) && CHECK(!is_readable(watch));
    tokenkeep_event_free(event);
    return is_nothing;
}

static void saves_and_clears_are_told(void) {
    tokenkeep_watch *watch = open_watch("watch");
    tokenkeep_event *event = NULL;
    CHECK(nothing_is_next(watch));
    CHECK_STATUS(TOKENKEEP_NOT_FOUND, tokenkeep_watch_next(watch, &event, &error));
    CHECK_NUMBER(TOKENKEEP_OK, save_text(store, "watch", "a", "1", NULL));
    CHECK_NUMBER(TOKENKEEP_OK, save_text(store, "unwatched", "a", "1", NULL));
    CHECK(is_readable(watch));
    CHECK(next_is(watch, TOKENKEEP_EVENT_SAVED, "a"));
    CHECK(nothing_is_next(watch));
    CHECK_NUMBER(TOKENKEEP_OK, tokenkeep_clear(store, "watch", "a", NULL));
    CHECK(next_is(watch, TOKENKEEP_EVENT_CLEARED, "a"));
    CHECK(nothing_is_next(watch));
    tokenkeep_watch_close(watch);
}

static void names_outside_their_limits_are_refused(void) {
    tokenkeep_watch *watch = NULL;
    char long_name[TOKENKEEP_MAX_SERVICE + 2];
    memset(long_name, 'x', sizeof long_name - 1);
    long_name[sizeof long_name - 1] = 0;
    CHECK_REFUSED(TOKENKEEP_INVALID, "service", tokenkeep_watch_open(store, "", &watch, &error));
    CHECK_REFUSED(TOKENKEEP_INVALID, "service", tokenkeep_watch_open(store, long_name, &watch, &error));
    CHECK(watch == NULL);
}

static pid_t start_child(int (*body)(void)) {
    pid_t child;
    fflush(stdout);
    child = fork();
    if (child == 0) {
        alarm(CHECK_PATIENCE_S);
        _exit(body());
    }
    return child;
}

static int ended_well(pid_t child) {
    int status = 0;
    return CHECK(child > 0 && waitpid(child, &status, 0) == child) && CHECK_NUMBER(0, status);
}

/* Each change is another one: account N modulo accounts gets value N; every tenth is cleared and saved anew.
 */
static int change_a_lot(void) {
    tokenkeep_store *own = open_store();
    for (int number = 0; number < changes; number++) {
        char account[32], value[32];
        snprintf(account, sizeof account, "%d", number % accounts);
        snprintf(value, sizeof value, "%d", number);
        if (number % 10 == 0 && tokenkeep_clear(own, "watch", account, NULL) != TOKENKEEP_OK)
            return 1;
        if (save_text(own, "watch", account, value, NULL) != TOKENKEEP_OK)
            return 2;
    }
    for (int number = 0; number < accounts; number += 2) {
        char account[32];
        snprintf(account, sizeof account, "%d", number);
        if (tokenkeep_clear(own, "watch", account, NULL) != TOKENKEEP_OK)
            return 3;
    }
    tokenkeep_close(own);
    return 0;
}

/* The items as an observer counts them from events alone; -1 after an event without a name. */
static int believed[accounts];

static size_t note_events(tokenkeep_watch *watch) {
    tokenkeep_event *event = NULL;
    size_t count = 0;
    for (; tokenkeep_watch_next(watch, &event, NULL) == TOKENKEEP_OK; count++) {
        int account = tokenkeep_event_account(event) ? atoi(tokenkeep_event_account(event)) : -1;
        if (account < 0)
            memset(believed, -1, sizeof believed);
        else if (CHECK(account < accounts))
            believed[account] = tokenkeep_event_kind(event) == TOKENKEEP_EVENT_SAVED ? 1 : 0;
        tokenkeep_event_free(event);
        event = NULL;
    }
    return count;
}

/* The observer's belief after the last event is the truth, however many events one reading gets. */
static void changes_by_another_process_are_told(void) {
    tokenkeep_watch *watch = open_watch("watch");
    size_t told = 0;
    memset(believed, 0, sizeof believed);
    pid_t child = start_child(change_a_lot);
    int status = 0;
    while (waitpid(child, &status, WNOHANG) == 0) {
        struct pollfd poller = {tokenkeep_watch_fd(watch), POLLIN, 0};
        poll(&poller, 1, 1000);
        told += note_events(watch);
    }
    CHECK_NUMBER(0, status);
    told += note_events(watch);
    for (int account = 0; account < accounts; account++) {
        CHECK_NUMBER(account % 2, believed[account]);
    }
    printf("     %d changes were told as %zu events\n", changes, told);
    CHECK(nothing_is_next(watch));
    CHECK_NUMBER(TOKENKEEP_OK, tokenkeep_clear_service(store, "watch", NULL, NULL));
    tokenkeep_watch_close(watch);
}

/* As many items as changes: every one is named. */
static int save_many(void) {
    tokenkeep_store *own = open_store();
    for (int number = 0; number < changes; number++) {
        char account[32];
        snprintf(account, sizeof account, "%d", number);
        if (save_text(own, "many", account, "x", NULL) != TOKENKEEP_OK)
            return 1;
    }
    tokenkeep_close(own);
    return 0;
}

static void a_thousand_items_by_another_process_are_told(void) {
    static char told[changes];
    tokenkeep_watch *watch = open_watch("many");
    tokenkeep_event *event = NULL;
    int missing = 0, twice = 0, read_again = 0;
    CHECK(ended_well(start_child(save_many)));
    CHECK(is_readable(watch));
    while (tokenkeep_watch_next(watch, &event, NULL) == TOKENKEEP_OK) {
        const char *account = tokenkeep_event_account(event);
        int number = account ? atoi(account) : -1;
        read_again += account == NULL;
        if (number >= 0 && number < changes)
            twice += told[number]++;
        tokenkeep_event_free(event);
        event = NULL;
    }
    for (int number = 0; number < changes; number++) {
        missing += !told[number];
    }
    CHECK_NUMBER(0, read_again ? 0 : missing);
    CHECK_NUMBER(0, twice);
    tokenkeep_watch_close(watch);
}

static tokenkeep_watch *parents;

static int use_the_parents_watch(void) {
    tokenkeep_event *event = NULL;
    tokenkeep_watch *own = NULL;
    tokenkeep_store *own_store;
    if (tokenkeep_watch_next(parents, &event, NULL) != TOKENKEEP_FORKED || event != NULL)
        return 1;
    if (tokenkeep_watch_open(store, NULL, &own, NULL) != TOKENKEEP_FORKED || own != NULL)
        return 2;
    tokenkeep_watch_close(parents);
    own_store = open_store();
    if (tokenkeep_watch_open(own_store, "watch", &own, NULL) != TOKENKEEP_OK)
        return 3;
    if (save_text(own_store, "watch", "child", "1", NULL) != TOKENKEEP_OK)
        return 4;
    if (tokenkeep_watch_next(own, &event, NULL) != TOKENKEEP_OK)
        return 5;
    tokenkeep_event_free(event);
    tokenkeep_watch_close(own);
    tokenkeep_close(own_store);
    return 0;
}

/* The parent's watch is as it was, though the child closed its copy; and the child took none of its notices.
 */
static void a_child_watches_for_itself(void) {
    parents = open_watch("watch");
    CHECK_NUMBER(TOKENKEEP_OK, save_text(store, "watch", "a", "1", NULL));
    CHECK(ended_well(start_child(use_the_parents_watch)));
    CHECK(next_is(parents, TOKENKEEP_EVENT_SAVED, "a"));
    CHECK(next_is(parents, TOKENKEEP_EVENT_SAVED, "child"));
    CHECK(nothing_is_next(parents));
    CHECK_NUMBER(TOKENKEEP_OK, save_text(store, "watch", "a", "2", NULL));
    CHECK(next_is(parents, TOKENKEEP_EVENT_SAVED, "a"));
    tokenkeep_watch_close(parents);
}

static int count_descriptors(void) {
    DIR *directory = opendir("/proc/self/fd");
    int count = 0;
    if (directory == NULL)
        return -1;
    while (readdir(directory) != NULL)
        count++;
    closedir(directory);
    return count;
}

static void a_closed_watch_leaves_no_descriptor(void) {
    tokenkeep_watch *kept = open_watch(NULL);
    int before = count_descriptors();
    for (int round = 0; round < 20; round++) {
        tokenkeep_watch *watch = open_watch(NULL);
        CHECK(fcntl(tokenkeep_watch_fd(watch), F_GETFD) & FD_CLOEXEC);
        tokenkeep_watch_close(watch);
    }
    CHECK_NUMBER(before, count_descriptors());
    CHECK(nothing_is_next(kept)); /* the ends of the others are no news */
    tokenkeep_watch_close(kept);
}

static void a_watch_outlives_its_store(void) {
    tokenkeep_store *own = open_store();
    tokenkeep_watch *watch = NULL;
    tokenkeep_event *event = NULL;
    CHECK_NUMBER(TOKENKEEP_OK, tokenkeep_watch_open(own, NULL, &watch, NULL));
    tokenkeep_close(own);
    CHECK_NUMBER(TOKENKEEP_OK, save_text(store, "watch", "later", "1", NULL));
    CHECK_NUMBER(TOKENKEEP_OK, tokenkeep_watch_next(watch, &event, NULL));
    tokenkeep_watch_close(watch);
    CHECK_TEXT("later", tokenkeep_event_account(event)); /* and an event its watch */
    tokenkeep_event_free(event);
}

static int only_read_again_is_next(tokenkeep_watch *watch) {
    tokenkeep_event *event = NULL;
    int is_it = CHECK_NUMBER(TOKENKEEP_OK, tokenkeep_watch_next(watch, &event, NULL)) &&
                CHECK_NUMBER(TOKENKEEP_EVENT_LIST_AGAIN, tokenkeep_event_kind(event)) &&
                CHECK_TEXT("", tokenkeep_event_namespace(event)) &&
                CHECK(tokenkeep_event_service(event) == NULL && tokenkeep_event_account(event) == NULL);
    tokenkeep_event_free(event);
    return is_it && nothing_is_next(watch);
}

static int open_signal(const char *vault) {
    char path[4096];
    snprintf(path, sizeof path, "%s/changes", vault);
    return open(path, O_WRONLY);
}

/* More notices than the kernel keeps. The same one twice counts once: hence two vaults in turn. */
static void what_was_lost_is_read_again(void) {
    const char *vault = getenv("TOKENKEEP_VAULT");
    char here[2048], elsewhere[4000];
    long limit = 0;
    FILE *limits = fopen("/proc/sys/fs/inotify/max_queued_events", "r");
    if (!CHECK(limits != NULL && fscanf(limits, "%ld", &limit) == 1 && vault != NULL))
        return;
    fclose(limits);
    snprintf(here, sizeof here, "%s", vault);
    snprintf(elsewhere, sizeof elsewhere, "%s-elsewhere", here);
    setenv("TOKENKEEP_VAULT", elsewhere, 1);
    tokenkeep_store *other = open_store();
    tokenkeep_watch *there = NULL, *watch = open_watch("watch");
    CHECK_NUMBER(TOKENKEEP_OK, save_text(other, "watch", "a", "1", NULL));
    CHECK_NUMBER(TOKENKEEP_OK, tokenkeep_watch_open(other, "watch", &there, NULL));
    setenv("TOKENKEEP_VAULT", here, 1);
    int signals[2] = {open_signal(here), open_signal(elsewhere)};
    for (long number = 0; number <= limit; number++) {
        CHECK(futimens(signals[number % 2], NULL) == 0);
    }
    CHECK_NUMBER(TOKENKEEP_OK, save_text(store, "watch", "unseen", "1", NULL));
    CHECK(only_read_again_is_next(watch));
    CHECK(only_read_again_is_next(there));
    CHECK_NUMBER(TOKENKEEP_OK, save_text(store, "watch", "seen", "1", NULL));
    CHECK(next_is(watch, TOKENKEEP_EVENT_SAVED, "seen"));
    CHECK(nothing_is_next(watch) && nothing_is_next(there));
    close(signals[0]);
    close(signals[1]);
    tokenkeep_watch_close(there);
    tokenkeep_watch_close(watch);
    tokenkeep_close(other);
}

static void removed_for_good(const char *vault) {
    char command[4200];
    snprintf(command, sizeof command, "rm -rf '%s'", vault);
    CHECK_NUMBER(0, system(command));
}

/* The program has the vault's directory open: the kernel does not tell its watch of the removal. */
static void a_vault_made_anew_is_watched(void) {
    char here[2048], elsewhere[4000];
    snprintf(here, sizeof here, "%s", getenv("TOKENKEEP_VAULT"));
    snprintf(elsewhere, sizeof elsewhere, "%s-anew", here);
    setenv("TOKENKEEP_VAULT", elsewhere, 1);
    tokenkeep_store *other = open_store();
    CHECK_NUMBER(TOKENKEEP_OK, save_text(other, "watch", "a", "1", NULL));
    tokenkeep_watch *watch = NULL;
    CHECK_NUMBER(TOKENKEEP_OK, tokenkeep_watch_open(other, "watch", &watch, NULL));
    for (int round = 0; round < 3; round++) {
        char log[4100];
        snprintf(log, sizeof log, "%s/changes", elsewhere);
        CHECK_NUMBER(0, unlink(log));
        CHECK_NUMBER(TOKENKEEP_NOT_FOUND, tokenkeep_watch_next(watch, &(tokenkeep_event *){NULL}, NULL));
        removed_for_good(elsewhere);
        CHECK(is_readable(watch));
        CHECK(next_is(watch, TOKENKEEP_EVENT_CLEARED, "a"));
        CHECK_NUMBER(TOKENKEEP_NOT_FOUND, tokenkeep_watch_next(watch, &(tokenkeep_event *){NULL}, NULL));
        CHECK_NUMBER(TOKENKEEP_OK, save_text(other, "watch", "a", "2", NULL));
        CHECK(is_readable(watch));
        CHECK(next_is(watch, TOKENKEEP_EVENT_SAVED, "a"));
        CHECK_NUMBER(TOKENKEEP_OK, save_text(other, "watch", "a", "3", NULL));
        CHECK(is_readable(watch));
        CHECK(next_is(watch, TOKENKEEP_EVENT_SAVED, "a"));
    }
    tokenkeep_watch_close(watch);
    tokenkeep_close(other);
    setenv("TOKENKEEP_VAULT", here, 1);
}

static tokenkeep_watch *shared;
static atomic_int told_to_threads;
static atomic_int stop;

static void *ask_until_stopped(void *argument) {
    tokenkeep_event *event = NULL;
    (void)argument;
    while (!atomic_load(&stop)) {
        tokenkeep_watch *brief = NULL;
        if (tokenkeep_watch_next(shared, &event, NULL) == TOKENKEEP_OK) {
            atomic_fetch_add(&told_to_threads, 1);
            tokenkeep_event_free(event);
        }
        if (tokenkeep_watch_open(store, "nothing", &brief, NULL) == TOKENKEEP_OK)
            tokenkeep_watch_close(brief);
    }
    return NULL;
}

static void each_event_is_told_to_one_thread(void) {
    enum { threads = 4, saves = 100 };
    pthread_t thread[threads];
    tokenkeep_event *event = NULL;
    shared = open_watch("watch");
    for (int index = 0; index < threads; index++) {
        CHECK_NUMBER(0, pthread_create(&thread[index], NULL, ask_until_stopped, NULL));
    }
    for (int number = 0; number < saves; number++) {
        char account[32];
        snprintf(account, sizeof account, "thread-%d", number);
        CHECK_NUMBER(TOKENKEEP_OK, save_text(store, "watch", account, "x", NULL));
    }
    atomic_store(&stop, 1);
    for (int index = 0; index < threads; index++) {
        pthread_join(thread[index], NULL);
    }
    while (tokenkeep_watch_next(shared, &event, NULL) == TOKENKEEP_OK) {
        atomic_fetch_add(&told_to_threads, 1);
        tokenkeep_event_free(event);
    }
    CHECK_NUMBER(saves, atomic_load(&told_to_threads));
    tokenkeep_watch_close(shared);
}

int main(void) {
    store = open_store();
    RUN(saves_and_clears_are_told);
    RUN(names_outside_their_limits_are_refused);
    RUN(changes_by_another_process_are_told);
    RUN(a_thousand_items_by_another_process_are_told);
    RUN(a_child_watches_for_itself);
    RUN(a_closed_watch_leaves_no_descriptor);
    RUN(a_watch_outlives_its_store);
    RUN(what_was_lost_is_read_again);
    RUN(a_vault_made_anew_is_watched);
    RUN(each_event_is_told_to_one_thread);
    tokenkeep_close(store);
    return check_result();
}
