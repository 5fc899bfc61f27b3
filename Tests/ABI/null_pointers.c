/* SPDX-License-Identifier: Apache-2.0 */
/* NULL in every pointer position of every function. */
#include "store_test.h"

static tokenkeep_store *store;
static tokenkeep_item *item;

static void store_functions_refuse_a_null_store(void) {
    tokenkeep_item *loaded = NULL;
    tokenkeep_items *items = NULL;
    size_t cleared = 7, drained = 7, left = 7;
    CHECK_REFUSED(TOKENKEEP_INVALID, "store", tokenkeep_save(NULL, "s", "a", "x", 1, NULL, &error));
    CHECK_REFUSED(TOKENKEEP_INVALID, "store", tokenkeep_load(NULL, "s", "a", &loaded, &error));
    CHECK_REFUSED(TOKENKEEP_INVALID, "store", tokenkeep_clear(NULL, "s", "a", &error));
    CHECK_REFUSED(TOKENKEEP_INVALID, "store", tokenkeep_clear_if(NULL, "s", "a", 1, &error));
    CHECK_REFUSED(TOKENKEEP_INVALID, "store", tokenkeep_clear_service(NULL, "s", &cleared, &error));
    CHECK_REFUSED(TOKENKEEP_INVALID, "store", tokenkeep_list(NULL, NULL, &items, &error));
    CHECK_REFUSED(TOKENKEEP_INVALID, "store", tokenkeep_sync(NULL, &drained, &left, &error));
    CHECK(loaded == NULL && items == NULL && cleared == 7 && drained == 7 && left == 7);
}

static void names_must_not_be_null(void) {
    tokenkeep_item *loaded = NULL;
    CHECK_REFUSED(TOKENKEEP_INVALID, "service", tokenkeep_save(store, NULL, "a", "x", 1, NULL, &error));
    CHECK_REFUSED(TOKENKEEP_INVALID, "account", tokenkeep_save(store, "s", NULL, "x", 1, NULL, &error));
    CHECK_REFUSED(TOKENKEEP_INVALID, "service", tokenkeep_load(store, NULL, "a", &loaded, &error));
    CHECK_REFUSED(TOKENKEEP_INVALID, "account", tokenkeep_load(store, "s", NULL, &loaded, &error));
    CHECK_REFUSED(TOKENKEEP_INVALID, "service", tokenkeep_clear(store, NULL, "a", &error));
    CHECK_REFUSED(TOKENKEEP_INVALID, "account", tokenkeep_clear(store, "s", NULL, &error));
    CHECK_REFUSED(TOKENKEEP_INVALID, "service", tokenkeep_clear_if(store, NULL, "a", 1, &error));
    CHECK_REFUSED(TOKENKEEP_INVALID, "account", tokenkeep_clear_if(store, "s", NULL, 1, &error));
    CHECK_REFUSED(TOKENKEEP_INVALID, "service", tokenkeep_clear_service(store, NULL, NULL, &error));
    CHECK(loaded == NULL);
}

static void outputs_must_not_be_null(void) {
    CHECK_STATUS(TOKENKEEP_INVALID, tokenkeep_open(NULL, NULL, &error));
    CHECK_STATUS(TOKENKEEP_INVALID, tokenkeep_load(store, "s", "a", NULL, &error));
    CHECK_STATUS(TOKENKEEP_INVALID, tokenkeep_list(store, NULL, NULL, &error));
}

static void a_null_secret_is_empty(void) {
    tokenkeep_item *empty;
    size_t length = 7;
    CHECK_REFUSED(TOKENKEEP_INVALID, "secret", tokenkeep_save(store, "null", "a", NULL, 1, NULL, &error));
    CHECK_NUMBER(TOKENKEEP_NOT_FOUND, load_status(store, "null", "a"));
    CHECK_STATUS(TOKENKEEP_OK, tokenkeep_save(store, "null", "a", NULL, 0, NULL, &error));
    empty = load(store, "null", "a");
    CHECK(tokenkeep_item_secret(empty, &length) != NULL);
    CHECK_NUMBER(0, length);
    tokenkeep_item_free(empty);
}

static void null_error_options_and_counts_are_allowed(void) {
    tokenkeep_store *other = NULL;
    tokenkeep_items *items = NULL;
    CHECK_NUMBER(TOKENKEEP_OK, tokenkeep_open(NULL, &other, NULL));
    tokenkeep_close(other);
    CHECK_NUMBER(TOKENKEEP_OK, tokenkeep_save(store, "optional", "a", "x", 1, NULL, NULL));
    CHECK_NUMBER(TOKENKEEP_INVALID, tokenkeep_save(store, NULL, NULL, NULL, 1, NULL, NULL));
    CHECK_NUMBER(TOKENKEEP_INVALID, tokenkeep_load(NULL, NULL, NULL, NULL, NULL));
    CHECK_NUMBER(TOKENKEEP_INVALID, tokenkeep_clear_if(store, "optional", "a", 0, NULL));
    CHECK_NUMBER(TOKENKEEP_OK, tokenkeep_list(store, NULL, &items, NULL));
    tokenkeep_items_free(items);
    CHECK_NUMBER(TOKENKEEP_OK, tokenkeep_clear_service(store, "optional", NULL, NULL));
    CHECK_NUMBER(TOKENKEEP_OK, tokenkeep_clear(store, "optional", "a", NULL));
    CHECK_NUMBER(TOKENKEEP_OK, tokenkeep_sync(store, NULL, NULL, NULL));
}

static void item_getters_take_null(void) {
    size_t length = 7;
    const char *name = "untouched", *value = "untouched";
    CHECK(tokenkeep_item_secret(NULL, &length) == NULL);
    CHECK_NUMBER(0, length);
    CHECK(tokenkeep_item_secret(NULL, NULL) == NULL);
    CHECK(tokenkeep_item_namespace(NULL) == NULL && tokenkeep_item_service(NULL) == NULL);
    CHECK(tokenkeep_item_account(NULL) == NULL && tokenkeep_item_label(NULL) == NULL);
    CHECK(tokenkeep_item_module(NULL) == NULL);
    CHECK_NUMBER(0, tokenkeep_item_attribute_count(NULL));
    CHECK_NUMBER(0, tokenkeep_item_attribute_at(NULL, 0, &name, &value));
    CHECK_TEXT("untouched", name);
    CHECK_TEXT("untouched", value);
    CHECK(tokenkeep_item_attribute(NULL, "name") == NULL && tokenkeep_item_attribute(NULL, NULL) == NULL);
    CHECK_NUMBER(0, tokenkeep_item_accessibility(NULL));
    CHECK_NUMBER(0, tokenkeep_item_flags(NULL));
    CHECK_NUMBER(0, tokenkeep_item_created_at(NULL));
    CHECK_NUMBER(0, tokenkeep_item_modified_at(NULL));
    CHECK_NUMBER(0, tokenkeep_item_expires_at(NULL));
    CHECK(tokenkeep_item_version(NULL) == 0);
}

static void item_getters_take_null_outputs(void) {
    CHECK(tokenkeep_item_secret(item, NULL) != NULL);
    CHECK(tokenkeep_item_attribute(item, NULL) == NULL);
    CHECK_NUMBER(1, tokenkeep_item_attribute_at(item, 0, NULL, NULL));
}

static void list_and_error_getters_take_null(void) {
    CHECK_NUMBER(0, tokenkeep_items_count(NULL));
    CHECK(tokenkeep_items_at(NULL, 0) == NULL);
    CHECK(tokenkeep_items_problem(NULL) == NULL);
    CHECK_NUMBER(TOKENKEEP_OK, tokenkeep_error_status(NULL));
    CHECK_TEXT("", tokenkeep_error_message(NULL));
    CHECK(tokenkeep_error_module(NULL) == NULL);
}

static void watches_refuse_null(void) {
    tokenkeep_watch *watch = NULL;
    tokenkeep_event *event = NULL;
    CHECK_REFUSED(TOKENKEEP_INVALID, "store", tokenkeep_watch_open(NULL, NULL, &watch, &error));
    CHECK_REFUSED(TOKENKEEP_INVALID, "watch", tokenkeep_watch_open(store, NULL, NULL, &error));
    CHECK_REFUSED(TOKENKEEP_INVALID, "watch", tokenkeep_watch_next(NULL, &event, &error));
    CHECK_NUMBER(TOKENKEEP_INVALID, tokenkeep_watch_open(NULL, NULL, NULL, NULL));
    CHECK_NUMBER(TOKENKEEP_INVALID, tokenkeep_watch_next(NULL, NULL, NULL));
    CHECK_NUMBER(-1, tokenkeep_watch_fd(NULL));
    CHECK(watch == NULL && event == NULL);
    CHECK_NUMBER(TOKENKEEP_OK, tokenkeep_watch_open(store, NULL, &watch, NULL));
    CHECK_REFUSED(TOKENKEEP_INVALID, "event", tokenkeep_watch_next(watch, NULL, &error));
    CHECK_NUMBER(TOKENKEEP_NOT_FOUND, tokenkeep_watch_next(watch, &event, NULL));
    tokenkeep_watch_close(watch);
}

static void event_getters_take_null(void) {
    CHECK_NUMBER(0, tokenkeep_event_kind(NULL));
    CHECK(tokenkeep_event_namespace(NULL) == NULL && tokenkeep_event_service(NULL) == NULL);
    CHECK(tokenkeep_event_account(NULL) == NULL);
}

static void freeing_null_does_nothing(void) {
    tokenkeep_watch_close(NULL);
    tokenkeep_event_free(NULL);
    tokenkeep_close(NULL);
    tokenkeep_item_free(NULL);
    tokenkeep_items_free(NULL);
    tokenkeep_error_free(NULL);
}

static void null_in_options(void) {
    tokenkeep_attribute attribute = {NULL, "value"};
    tokenkeep_save_options options = TOKENKEEP_SAVE_OPTIONS_INIT;
    options.attribute_count = 1;
    CHECK_REFUSED(TOKENKEEP_INVALID, "attributes", tokenkeep_save(store, "s", "a", "x", 1, &options, &error));
    options.attributes = &attribute;
    CHECK_REFUSED(TOKENKEEP_INVALID, "name", tokenkeep_save(store, "s", "a", "x", 1, &options, &error));
    attribute.name = "name";
    attribute.value = NULL;
    CHECK_REFUSED(TOKENKEEP_INVALID, "value", tokenkeep_save(store, "s", "a", "x", 1, &options, &error));
    options.attribute_count = 0; /* then the array is not looked at */
    CHECK_STATUS(TOKENKEEP_OK, tokenkeep_save(store, "s", "a", "x", 1, &options, &error));
}

int main(void) {
    tokenkeep_attribute attribute = {"name", "value"};
    tokenkeep_save_options options = TOKENKEEP_SAVE_OPTIONS_INIT;
    options.attributes = &attribute;
    options.attribute_count = 1;
    store = open_store();
    if (save_text(store, "present", "a", "x", &options) != TOKENKEEP_OK) {
        return 2;
    }
    item = load(store, "present", "a");
    RUN(store_functions_refuse_a_null_store);
    RUN(names_must_not_be_null);
    RUN(outputs_must_not_be_null);
    RUN(a_null_secret_is_empty);
    RUN(null_error_options_and_counts_are_allowed);
    RUN(item_getters_take_null);
    RUN(item_getters_take_null_outputs);
    RUN(list_and_error_getters_take_null);
    RUN(watches_refuse_null);
    RUN(event_getters_take_null);
    RUN(freeing_null_does_nothing);
    RUN(null_in_options);
    tokenkeep_item_free(item);
    tokenkeep_close(store);
    return check_result();
}
