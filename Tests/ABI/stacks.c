/* SPDX-License-Identifier: Apache-2.0 */
/* Every call on a thread with a stack of 64 KiB, the first call of its kind in the process. */
#include "store_test.h"
#include <pthread.h>

enum { stack_size = 64 * 1024 };

static tokenkeep_store *store;

static tokenkeep_status open_call(tokenkeep_error **error) {
    tokenkeep_open_options options = TOKENKEEP_OPEN_OPTIONS_INIT;
    options.stack_text = stack_under_test();
    return tokenkeep_open(&options, &store, error);
}

static tokenkeep_status save_call(tokenkeep_error **error) {
    tokenkeep_save_options options = TOKENKEEP_SAVE_OPTIONS_INIT;
    options.label = "a label";
    return tokenkeep_save(store, "stacks", "ann", "token", 5, &options, error);
}

static tokenkeep_status load_call(tokenkeep_error **error) {
    tokenkeep_item *item = NULL;
    tokenkeep_status status = tokenkeep_load(store, "stacks", "ann", &item, error);
    tokenkeep_item_free(item);
    return status;
}

static tokenkeep_status list_call(tokenkeep_error **error) {
    tokenkeep_items *items = NULL;
    tokenkeep_status status = tokenkeep_list(store, "stacks", &items, error);
    tokenkeep_items_free(items);
    return status;
}

static tokenkeep_status watch_call(tokenkeep_error **error) {
    tokenkeep_watch *watch = NULL;
    tokenkeep_status status = tokenkeep_watch_open(store, "stacks", &watch, error);
    tokenkeep_watch_close(watch);
    return status;
}

static tokenkeep_status protection_call(tokenkeep_error **error) {
    tokenkeep_protection *protection = NULL;
    tokenkeep_status status = tokenkeep_protection_for(store, 0, 0, &protection, error);
    tokenkeep_protection_free(protection);
    return status;
}

static tokenkeep_status sync_call(tokenkeep_error **error) {
    return tokenkeep_sync(store, NULL, NULL, error);
}

static tokenkeep_status unlock_call(tokenkeep_error **error) {
    return tokenkeep_unlock(store, "horse", 5, error);
}

static tokenkeep_status lock_call(tokenkeep_error **error) {
    return tokenkeep_lock(store, error);
}

static tokenkeep_status clear_call(tokenkeep_error **error) {
    return tokenkeep_clear(store, "stacks", "ann", error);
}

static tokenkeep_status clear_service_call(tokenkeep_error **error) {
    return tokenkeep_clear_service(store, "stacks", NULL, error);
}

static tokenkeep_status close_call(tokenkeep_error **error) {
    (void)error;
    tokenkeep_close(store);
    return TOKENKEEP_OK;
}

struct run {
    tokenkeep_status (*call)(tokenkeep_error **error);
    tokenkeep_status status;
    tokenkeep_error *error;
};

static void *run_call(void *argument) {
    struct run *run = argument;
    run->status = run->call(&run->error);
    return NULL;
}

static tokenkeep_status on_small_stack(tokenkeep_status (*call)(tokenkeep_error **error)) {
    struct run run = {call, TOKENKEEP_INTERNAL, NULL};
    pthread_attr_t attributes;
    pthread_t thread;
    pthread_attr_init(&attributes);
    if (CHECK_NUMBER(0, pthread_attr_setstacksize(&attributes, stack_size)) &&
        CHECK_NUMBER(0, pthread_create(&thread, &attributes, run_call, &run)))
        pthread_join(thread, NULL);
    pthread_attr_destroy(&attributes);
    if (run.status != TOKENKEEP_OK)
        printf("     %s\n", tokenkeep_error_message(run.error));
    tokenkeep_error_free(run.error);
    return run.status;
}

static void a_stack_of_64_kib_is_enough(void) {
    /* Only a vault with a password is locked and unlocked. */
    int has_password = getenv("TOKENKEEP_TEST_PASSWORD") != NULL;
    tokenkeep_status of_lock = has_password ? TOKENKEEP_OK : TOKENKEEP_UNSUPPORTED;
    CHECK_NUMBER(TOKENKEEP_OK, on_small_stack(open_call));
    CHECK_NUMBER(of_lock, on_small_stack(unlock_call));
    CHECK_NUMBER(TOKENKEEP_OK, on_small_stack(save_call));
    CHECK_NUMBER(TOKENKEEP_OK, on_small_stack(load_call));
    CHECK_NUMBER(TOKENKEEP_OK, on_small_stack(list_call));
    if (stack_is_durable())
        CHECK_NUMBER(TOKENKEEP_OK, on_small_stack(watch_call));
    CHECK_NUMBER(TOKENKEEP_OK, on_small_stack(protection_call));
    CHECK_NUMBER(TOKENKEEP_OK, on_small_stack(sync_call));
    CHECK_NUMBER(TOKENKEEP_OK, on_small_stack(clear_call));
    CHECK_NUMBER(TOKENKEEP_NOT_FOUND, on_small_stack(load_call));
    CHECK_NUMBER(TOKENKEEP_OK, on_small_stack(save_call));
    CHECK_NUMBER(TOKENKEEP_OK, on_small_stack(clear_service_call));
    CHECK_NUMBER(of_lock, on_small_stack(lock_call));
    CHECK_NUMBER(TOKENKEEP_OK, on_small_stack(close_call));
}

int main(void) {
    RUN(a_stack_of_64_kib_is_enough);
    return check_result();
}
