/* SPDX-License-Identifier: Apache-2.0 */
/* fork() with a store open, with and without threads at work, and threads on one store. */
#define _GNU_SOURCE
#include "store_test.h"
#include <pthread.h>
#include <stdatomic.h>
#include <sys/wait.h>
#include <unistd.h>

enum { thread_count = 8, rounds = 40 };

static tokenkeep_store *store;
static atomic_int failures;
static atomic_int stop;

static void count_unless(int holds) {
    if (!holds) {
        atomic_fetch_add(&failures, 1);
    }
}

/* Every call of the store, in a child: 0, or the number of the check that failed. A child that hangs is
 * killed. */
static int use_the_parents_store(void) {
    tokenkeep_item *item = NULL;
    tokenkeep_items *items = NULL;
    size_t cleared = 7;
    tokenkeep_error *error = NULL;
    alarm(CHECK_PATIENCE_S);
    if (tokenkeep_save(store, "fork", "a", "x", 1, NULL, &error) != TOKENKEEP_FORKED)
        return 1;
    if (tokenkeep_error_status(error) != TOKENKEEP_FORKED || *tokenkeep_error_message(error) == 0)
        return 2;
    tokenkeep_error_free(error);
    if (tokenkeep_load(store, "fork", "a", &item, NULL) != TOKENKEEP_FORKED || item != NULL)
        return 3;
    if (tokenkeep_clear(store, "fork", "a", NULL) != TOKENKEEP_FORKED)
        return 4;
    if (tokenkeep_clear_if(store, "fork", "a", 1, NULL) != TOKENKEEP_FORKED)
        return 5;
    if (tokenkeep_clear_service(store, "fork", &cleared, NULL) != TOKENKEEP_FORKED || cleared != 7)
        return 6;
    if (tokenkeep_list(store, NULL, &items, NULL) != TOKENKEEP_FORKED || items != NULL)
        return 7;
    tokenkeep_cancel(store);
    if (tokenkeep_sync(store, &cleared, NULL, NULL) != TOKENKEEP_FORKED || cleared != 7)
        return 8;
    tokenkeep_close(store);
    return 0;
}

static int use_a_store_of_its_own(void) {
    tokenkeep_store *own;
    alarm(CHECK_PATIENCE_S);
    own = open_store();
    if (stack_is_durable() && load_status(own, "fork", "a") != TOKENKEEP_OK)
        return 1;
    if (save_text(own, "fork", "child", "y", NULL) != TOKENKEEP_OK)
        return 2;
    if (load_status(own, "fork", "child") != TOKENKEEP_OK)
        return 3;
    tokenkeep_close(own);
    return 0;
}

/* The exit status of a child that runs body, or 1000 and its signal. */
static int in_a_child(int (*body)(void)) {
    int status = 0;
    pid_t child;
    fflush(stdout);
    child = fork();
    if (child == 0) {
        _exit(body());
    }
    if (child < 0 || waitpid(child, &status, 0) != child) {
        return -1;
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

static void a_store_made_before_fork_answers_forked(void) {
    CHECK_NUMBER(TOKENKEEP_OK, save_text(store, "fork", "a", "x", NULL));
    CHECK_NUMBER(0, in_a_child(use_the_parents_store));
    CHECK_NUMBER(TOKENKEEP_OK, load_status(store, "fork", "a")); /* in the parent all is as it was */
}

static void a_store_opened_in_the_child_works(void) {
    CHECK_NUMBER(0, in_a_child(use_a_store_of_its_own));
    CHECK_NUMBER(stack_is_durable() ? TOKENKEEP_OK : TOKENKEEP_NOT_FOUND,
                 load_status(store, "fork", "child"));
}

static void *save_until_stopped(void *argument) {
    char account[32];
    snprintf(account, sizeof account, "busy-%d", *(int *)argument);
    while (!atomic_load(&stop)) {
        count_unless(save_text(store, "threads", account, account, NULL) == TOKENKEEP_OK);
        count_unless(load_status(store, "threads", account) == TOKENKEEP_OK);
    }
    return NULL;
}

static void forking_while_threads_work_leaves_no_lock_behind(void) {
    pthread_t threads[4];
    int numbers[4];
    atomic_store(&failures, 0);
    atomic_store(&stop, 0);
    for (int index = 0; index < 4; index++) {
        numbers[index] = index;
        CHECK_NUMBER(0, pthread_create(&threads[index], NULL, save_until_stopped, &numbers[index]));
    }
    for (int round = 0; round < 20; round++) {
        CHECK_NUMBER(0, in_a_child(round % 2 ? use_the_parents_store : use_a_store_of_its_own));
    }
    atomic_store(&stop, 1);
    for (int index = 0; index < 4; index++) {
        pthread_join(threads[index], NULL);
    }
    CHECK_NUMBER(0, atomic_load(&failures));
}

/* One account for each thread, and one for all of them, whose secret must always be whole. */
static void *use_everything(void *argument) {
    char account[32], secret[64];
    int number = *(int *)argument;
    snprintf(account, sizeof account, "thread-%d", number);
    for (int round = 0; round < rounds; round++) {
        tokenkeep_item *item = NULL;
        tokenkeep_items *items = NULL;
        const char *shared;
        snprintf(secret, sizeof secret, "%d-%d", number, round);
        count_unless(save_text(store, "threads", account, secret, NULL) == TOKENKEEP_OK);
        count_unless(tokenkeep_load(store, "threads", account, &item, NULL) == TOKENKEEP_OK);
        count_unless(item != NULL && strcmp((const char *)tokenkeep_item_secret(item, NULL), secret) == 0);
        tokenkeep_item_free(item);
        item = NULL;
        snprintf(secret, sizeof secret, "%08d%08d%08d", number, number, number);
        count_unless(save_text(store, "threads", "shared", secret, NULL) == TOKENKEEP_OK);
        count_unless(tokenkeep_load(store, "threads", "shared", &item, NULL) == TOKENKEEP_OK);
        shared = (const char *)tokenkeep_item_secret(item, NULL);
        count_unless(shared != NULL && strlen(shared) == 24 && memcmp(shared, shared + 8, 16) == 0);
        tokenkeep_item_free(item);
        if (round % 8 == 0) {
            count_unless(tokenkeep_list(store, "threads", &items, NULL) == TOKENKEEP_OK);
            tokenkeep_items_free(items);
        }
    }
    return NULL;
}

static void threads_on_one_store(void) {
    pthread_t threads[thread_count];
    int numbers[thread_count];
    atomic_store(&failures, 0);
    for (int index = 0; index < thread_count; index++) {
        numbers[index] = index;
        CHECK_NUMBER(0, pthread_create(&threads[index], NULL, use_everything, &numbers[index]));
    }
    for (int index = 0; index < thread_count; index++) {
        pthread_join(threads[index], NULL);
    }
    CHECK_NUMBER(0, atomic_load(&failures));
}

/* Each adds one to a number in an item; no addition may be lost. */
static void *count_up(void *argument) {
    (void)argument;
    for (int added = 0; added < 10;) {
        tokenkeep_save_options options = TOKENKEEP_SAVE_OPTIONS_INIT;
        tokenkeep_item *item = NULL;
        char number[16];
        tokenkeep_status status;
        if (tokenkeep_load(store, "counter", "a", &item, NULL) != TOKENKEEP_OK) {
            count_unless(0);
            return NULL;
        }
        snprintf(number, sizeof number, "%d", atoi((const char *)tokenkeep_item_secret(item, NULL)) + 1);
        options.expected_version = tokenkeep_item_version(item);
        tokenkeep_item_free(item);
        status = save_text(store, "counter", "a", number, &options);
        count_unless(status == TOKENKEEP_OK || status == TOKENKEEP_CONFLICT);
        added += status == TOKENKEEP_OK;
        if (atomic_load(&failures)) {
            return NULL;
        }
    }
    return NULL;
}

static void compare_and_swap_loses_no_addition(void) {
    pthread_t threads[thread_count];
    tokenkeep_item *item;
    atomic_store(&failures, 0);
    CHECK_NUMBER(TOKENKEEP_OK, save_text(store, "counter", "a", "0", NULL));
    for (int index = 0; index < thread_count; index++) {
        CHECK_NUMBER(0, pthread_create(&threads[index], NULL, count_up, NULL));
    }
    for (int index = 0; index < thread_count; index++) {
        pthread_join(threads[index], NULL);
    }
    CHECK_NUMBER(0, atomic_load(&failures));
    item = load(store, "counter", "a");
    CHECK_TEXT("80", (const char *)tokenkeep_item_secret(item, NULL));
    tokenkeep_item_free(item);
}

int main(void) {
    store = open_store();
    RUN(a_store_made_before_fork_answers_forked);
    RUN(a_store_opened_in_the_child_works);
    RUN(forking_while_threads_work_leaves_no_lock_behind);
    RUN(threads_on_one_store);
    RUN(compare_and_swap_loses_no_addition);
    tokenkeep_close(store);
    return check_result();
}
