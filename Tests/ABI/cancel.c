/* SPDX-License-Identifier: Apache-2.0 */
/* Calls that wait for another process, ended from another thread. */
#define _GNU_SOURCE
#include "store_test.h"
#include "vault_lock.h"
#include <pthread.h>
#include <time.h>

enum { threads = 4, longest_ms = CHECK_PATIENCE_MS };

static tokenkeep_store *store;
static tokenkeep_status statuses[threads];
static char messages[threads][256];

static double seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static void *call(void *argument) {
    size_t number = (size_t)argument;
    tokenkeep_error *error = NULL;
    size_t count = 0;
    switch (number) {
    case 0:
        statuses[number] = tokenkeep_save(store, "cancel", "a", "new", 3, NULL, &error);
        break;
    case 1:
        statuses[number] = tokenkeep_clear(store, "cancel", "a", &error);
        break;
    case 2:
        statuses[number] = tokenkeep_clear_service(store, "cancel", &count, &error);
        break;
    default:
        statuses[number] = tokenkeep_clear_if(store, "cancel", "a", 1, &error);
    }
    snprintf(messages[number], sizeof messages[number], "%s", tokenkeep_error_message(error));
    tokenkeep_error_free(error);
    return NULL;
}

static void every_call_in_flight_ends(void) {
    pthread_t running[threads];
    tokenkeep_open_options options = TOKENKEEP_OPEN_OPTIONS_INIT;
    options.stack_text = "any required vault";
    options.timeout_ms = longest_ms;
    CHECK_NUMBER(TOKENKEEP_OK, tokenkeep_open(&options, &store, NULL));
    CHECK_NUMBER(TOKENKEEP_OK, save_text(store, "cancel", "a", "old", NULL));
    int lock = hold_lock();
    for (size_t i = 0; i < threads; i++)
        pthread_create(&running[i], NULL, call, (void *)i);
    CHECK(await_waiting(lock, threads));
    double start = seconds();
    tokenkeep_cancel(store);
    for (size_t i = 0; i < threads; i++)
        pthread_join(running[i], NULL);
    CHECK(seconds() - start < longest_ms / 2000.0);
    for (size_t i = 0; i < threads; i++) {
        CHECK_NUMBER(TOKENKEEP_CANCELLED, statuses[i]);
        CHECK(messages[i][0] != 0);
    }
    close(lock);
    /* Calls that begin later are not concerned, and nothing has happened. */
    tokenkeep_item *item = load(store, "cancel", "a");
    CHECK_TEXT("old", tokenkeep_item_secret(item, NULL));
    tokenkeep_item_free(item);
    CHECK_NUMBER(TOKENKEEP_OK, save_text(store, "cancel", "a", "newer", NULL));
    tokenkeep_close(store);
}

static void nothing_in_flight_is_nothing_to_cancel(void) {
    store = open_store();
    tokenkeep_cancel(store);
    tokenkeep_cancel(NULL);
    CHECK_NUMBER(TOKENKEEP_OK, save_text(store, "cancel", "b", "x", NULL));
    tokenkeep_close(store);
}

int main(void) {
    RUN(every_call_in_flight_ends);
    RUN(nothing_in_flight_is_nothing_to_cancel);
    return check_result();
}
