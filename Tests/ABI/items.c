/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of an item: label, attributes, level, expiry, dates; how long it lives; what errors and constants
 * say. */
#include "store_test.h"
#include <time.h>

static tokenkeep_store *store;

static void an_item_says_where_it_is_named(void) {
    tokenkeep_item *item;
    time_t before = time(NULL);
    CHECK_NUMBER(TOKENKEEP_OK, save_text(store, "named", "someone", "x", NULL));
    item = load(store, "named", "someone");
    CHECK_TEXT("", tokenkeep_item_namespace(item));
    CHECK_TEXT("named", tokenkeep_item_service(item));
    CHECK_TEXT("someone", tokenkeep_item_account(item));
    CHECK_TEXT("named (someone)", tokenkeep_item_label(item));
    CHECK_TEXT(stack_is_durable() ? "vault" : "memory", tokenkeep_item_module(item));
    CHECK_NUMBER(TOKENKEEP_AFTER_FIRST_UNLOCK, tokenkeep_item_accessibility(item));
    CHECK_NUMBER(0, tokenkeep_item_flags(item));
    CHECK_NUMBER(0, tokenkeep_item_expires_at(item));
    CHECK_NUMBER(0, tokenkeep_item_attribute_count(item));
    CHECK(tokenkeep_item_created_at(item) >= before && tokenkeep_item_created_at(item) <= time(NULL));
    CHECK(tokenkeep_item_modified_at(item) >= tokenkeep_item_created_at(item));
    CHECK(tokenkeep_item_version(item) != 0);
    tokenkeep_item_free(item);
}

static void namespaces_are_apart(void) {
    tokenkeep_store *other = open_namespace("other");
    tokenkeep_item *item;
    CHECK_NUMBER(TOKENKEEP_OK, save_text(store, "apart", "a", "here", NULL));
    CHECK_NUMBER(TOKENKEEP_NOT_FOUND, load_status(other, "apart", "a"));
    CHECK_NUMBER(TOKENKEEP_OK, save_text(other, "apart", "a", "there", NULL));
    item = load(other, "apart", "a");
    CHECK_TEXT("other", tokenkeep_item_namespace(item));
    CHECK_TEXT("there", (const char *)tokenkeep_item_secret(item, NULL));
    tokenkeep_item_free(item);
    CHECK_NUMBER(TOKENKEEP_OK, tokenkeep_clear(other, "apart", "a", NULL));
    item = load(store, "apart", "a");
    CHECK_TEXT("here", (const char *)tokenkeep_item_secret(item, NULL));
    tokenkeep_item_free(item);
    tokenkeep_close(other);
}

static void expiry_is_kept_and_expired_items_load(void) {
    const int64_t moments[] = {1, 2000000000, INT64_MAX, -1, INT64_MIN};
    for (size_t index = 0; index < sizeof moments / sizeof *moments; index++) {
        tokenkeep_save_options options = TOKENKEEP_SAVE_OPTIONS_INIT;
        tokenkeep_item *item;
        options.expires_at = moments[index];
        CHECK_NUMBER(TOKENKEEP_OK, save_text(store, "expiry", "a", "x", &options));
        item = load(store, "expiry", "a");
        CHECK_NUMBER(moments[index], tokenkeep_item_expires_at(item));
        tokenkeep_item_free(item);
    }
}

static void attributes_come_in_the_order_of_their_names(void) {
    const tokenkeep_attribute attributes[] = {{"zone", "eu"}, {"client.id", ""}, {"a-b_c", "\xc3\xa9"}};
    const char *const names[] = {"a-b_c", "client.id", "zone"}, *const values[] = {"\xc3\xa9", "", "eu"};
    tokenkeep_save_options options = TOKENKEEP_SAVE_OPTIONS_INIT;
    tokenkeep_item *item;
    const char *name = "untouched", *value = "untouched";
    options.attributes = attributes;
    options.attribute_count = 3;
    CHECK_NUMBER(TOKENKEEP_OK, save_text(store, "attributes", "a", "x", &options));
    item = load(store, "attributes", "a");
    CHECK_NUMBER(3, tokenkeep_item_attribute_count(item));
    CHECK_NUMBER(0, tokenkeep_item_attribute_at(item, 3, &name, &value));
    CHECK_NUMBER(0, tokenkeep_item_attribute_at(item, SIZE_MAX, &name, &value));
    CHECK_TEXT("untouched", name);
    for (size_t index = 0; index < 3; index++) {
        CHECK_NUMBER(1, tokenkeep_item_attribute_at(item, index, &name, &value));
        CHECK_TEXT(names[index], name);
        CHECK_TEXT(values[index], value);
        CHECK_TEXT(values[index], tokenkeep_item_attribute(item, names[index]));
    }
    CHECK_TEXT(NULL, tokenkeep_item_attribute(item, "zon"));
    CHECK_TEXT(NULL, tokenkeep_item_attribute(item, ""));
    CHECK_TEXT(NULL, tokenkeep_item_attribute(item, "\xff"));
    tokenkeep_item_free(item);
    /* A save replaces them all. */
    CHECK_NUMBER(TOKENKEEP_OK, save_text(store, "attributes", "a", "x", NULL));
    item = load(store, "attributes", "a");
    CHECK_NUMBER(0, tokenkeep_item_attribute_count(item));
    tokenkeep_item_free(item);
}

static void saving_with_defaults_keeps_the_level(void) {
    tokenkeep_save_options options = TOKENKEEP_SAVE_OPTIONS_INIT;
    tokenkeep_item *item;
    options.accessibility = TOKENKEEP_WHEN_UNLOCKED;
    options.flags = TOKENKEEP_SYNCHRONIZABLE;
    CHECK_NUMBER(TOKENKEEP_OK, save_text(store, "level", "a", "x", &options));
    CHECK_NUMBER(TOKENKEEP_OK, save_text(store, "level", "a", "y", NULL));
    item = load(store, "level", "a");
    CHECK_NUMBER(TOKENKEEP_WHEN_UNLOCKED, tokenkeep_item_accessibility(item));
    CHECK_NUMBER(TOKENKEEP_SYNCHRONIZABLE, tokenkeep_item_flags(item));
    tokenkeep_item_free(item);
}

static void memory_only_items_stay_in_their_store(void) {
    tokenkeep_store *other = open_store();
    tokenkeep_save_options options = TOKENKEEP_SAVE_OPTIONS_INIT;
    tokenkeep_item *item;
    options.accessibility = TOKENKEEP_MEMORY_ONLY;
    CHECK_NUMBER(TOKENKEEP_OK, save_text(other, "one-time", "a", "123456", &options));
    item = load(other, "one-time", "a");
    CHECK_TEXT("memory", tokenkeep_item_module(item));
    tokenkeep_item_free(item);
    CHECK_NUMBER(TOKENKEEP_NOT_FOUND, load_status(store, "one-time", "a"));
    tokenkeep_close(other);
    other = open_store();
    CHECK_NUMBER(TOKENKEEP_NOT_FOUND, load_status(other, "one-time", "a"));
    tokenkeep_close(other);
}

static void durable_items_outlive_their_store(void) {
    tokenkeep_store *other = open_store();
    CHECK_NUMBER(TOKENKEEP_OK, save_text(other, "durable", "a", "x", NULL));
    tokenkeep_close(other);
    other = open_store();
    CHECK_NUMBER(stack_is_durable() ? TOKENKEEP_OK : TOKENKEEP_NOT_FOUND, load_status(other, "durable", "a"));
    tokenkeep_close(other);
}

static void loaded_objects_outlive_the_store(void) {
    tokenkeep_store *other = open_store();
    tokenkeep_items *items = NULL;
    tokenkeep_item *item;
    CHECK_NUMBER(TOKENKEEP_OK, save_text(other, "outlive", "a", "the secret", NULL));
    item = load(other, "outlive", "a");
    CHECK_NUMBER(TOKENKEEP_OK, tokenkeep_list(other, "outlive", &items, NULL));
    CHECK_NUMBER(TOKENKEEP_OK, tokenkeep_clear(other, "outlive", "a", NULL));
    tokenkeep_close(other);
    CHECK_TEXT("the secret", (const char *)tokenkeep_item_secret(item, NULL));
    CHECK_TEXT("outlive", tokenkeep_item_service(item));
    CHECK_TEXT("outlive", tokenkeep_item_service(tokenkeep_items_at(items, 0)));
    tokenkeep_item_free(item);
    tokenkeep_items_free(items);
}

static void clearing_what_is_not_there_is_ok(void) {
    CHECK_STATUS(TOKENKEEP_OK, tokenkeep_clear(store, "never was", "a", &error));
    CHECK_NUMBER(TOKENKEEP_OK, save_text(store, "once was", "a", "x", NULL));
    CHECK_STATUS(TOKENKEEP_OK, tokenkeep_clear(store, "once was", "a", &error));
    CHECK_NUMBER(TOKENKEEP_NOT_FOUND, load_status(store, "once was", "a"));
    CHECK_STATUS(TOKENKEEP_OK, tokenkeep_clear(store, "once was", "a", &error));
}

static void outputs_are_untouched_where_they_must_be(void) {
    tokenkeep_error *untouched = (tokenkeep_error *)(void *)&store, *error = untouched;
    tokenkeep_item *item = (tokenkeep_item *)(void *)&store;
    CHECK_NUMBER(TOKENKEEP_OK, tokenkeep_clear(store, "never was", "a", &error));
    CHECK(error == untouched);
    CHECK_NUMBER(TOKENKEEP_NOT_FOUND, tokenkeep_load(store, "never was", "a", &item, &error));
    CHECK(item == (tokenkeep_item *)(void *)&store);
    CHECK(error != untouched);
    CHECK_NUMBER(TOKENKEEP_NOT_FOUND, tokenkeep_error_status(error));
    CHECK(strstr(tokenkeep_error_message(error), "never was (a)") != NULL);
    tokenkeep_error_free(error);
}

static void an_error_names_item_hint_and_module(void) {
    tokenkeep_error *error = NULL;
    tokenkeep_item *item = NULL;
    CHECK_NUMBER(TOKENKEEP_NOT_FOUND, tokenkeep_load(store, "no such", "a", &item, &error));
    CHECK_TEXT(stack_is_durable() ? "vault" : "memory", tokenkeep_error_module(error));
    tokenkeep_error_free(error);
    error = NULL;
    CHECK_NUMBER(TOKENKEEP_CONFLICT, tokenkeep_clear_if(store, "no such", "a", 1, &error));
    CHECK(strstr(tokenkeep_error_message(error), "; load it again") != NULL);
    tokenkeep_error_free(error);
}

static void statuses_have_names(void) {
    const char *const names[] = {"OK",        "NOT_FOUND", "LOCKED",   "UNAVAILABLE", "TIMED_OUT",
                                 "CANCELLED", "DENIED",    "POLICY",   "EXPIRED",     "CONFLICT",
                                 "DUPLICATE", "CORRUPT",   "INVALID",  "UNSUPPORTED", "IO",
                                 "BUSY",      "FORKED",    "INTERNAL", "NEEDS_LOGIN"};
    for (int status = 0; status <= TOKENKEEP_NEEDS_LOGIN; status++) {
        CHECK_TEXT(names[status], tokenkeep_status_name(status));
    }
    CHECK_TEXT("UNKNOWN", tokenkeep_status_name(TOKENKEEP_NEEDS_LOGIN + 1));
    CHECK_TEXT("UNKNOWN", tokenkeep_status_name(-1));
    CHECK_TEXT("UNKNOWN", tokenkeep_status_name(INT32_MIN));
}

static void the_version_is_that_of_the_header(void) {
    CHECK_TEXT(TOKENKEEP_VERSION, tokenkeep_version());
    CHECK_NUMBER(TOKENKEEP_VERSION_NUMBER, tokenkeep_version_number());
    CHECK_NUMBER(TOKENKEEP_VERSION_MAJOR * 1000000 + TOKENKEEP_VERSION_MINOR * 1000 + TOKENKEEP_VERSION_PATCH,
                 tokenkeep_version_number());
}

int main(void) {
    store = open_store();
    RUN(an_item_says_where_it_is_named);
    RUN(namespaces_are_apart);
    RUN(expiry_is_kept_and_expired_items_load);
    RUN(attributes_come_in_the_order_of_their_names);
    RUN(saving_with_defaults_keeps_the_level);
    RUN(memory_only_items_stay_in_their_store);
    RUN(durable_items_outlive_their_store);
    RUN(loaded_objects_outlive_the_store);
    RUN(clearing_what_is_not_there_is_ok);
    RUN(outputs_are_untouched_where_they_must_be);
    RUN(an_error_names_item_hint_and_module);
    RUN(statuses_have_names);
    RUN(the_version_is_that_of_the_header);
    tokenkeep_close(store);
    return check_result();
}
