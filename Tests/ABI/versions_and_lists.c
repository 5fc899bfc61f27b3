/* SPDX-License-Identifier: Apache-2.0 */
/* Versions and what depends on them: compare-and-swap, IF_ABSENT, clear_if. Lists and clearing a service. */
#define _GNU_SOURCE
#include "../Support/passed_limits.h"
#include "store_test.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static tokenkeep_store *store;

static uint64_t version_of(const char *service) {
    tokenkeep_item *item = load(store, service, "a");
    uint64_t version = tokenkeep_item_version(item);
    tokenkeep_item_free(item);
    return version;
}

static void a_version_changes_with_what_is_seen_and_only_then(void) {
    tokenkeep_save_options options = TOKENKEEP_SAVE_OPTIONS_INIT;
    tokenkeep_attribute attribute = {"name", "value"};
    uint64_t first, saved = 0, other = 0;
    options.saved_version = &saved;
    CHECK_NUMBER(TOKENKEEP_OK, save_text(store, "version", "a", "x", &options));
    first = saved;
    CHECK(first != 0 && first == version_of("version"));
    CHECK_NUMBER(TOKENKEEP_OK, save_text(store, "version", "a", "x", &options));
    CHECK(saved == first);
    options.label = "another";
    CHECK_NUMBER(TOKENKEEP_OK, save_text(store, "version", "a", "x", &options));
    CHECK(saved != first);
    other = saved;
    options.attributes = &attribute;
    options.attribute_count = 1;
    CHECK_NUMBER(TOKENKEEP_OK, save_text(store, "version", "a", "x", &options));
    CHECK(saved != other);
    other = saved;
    options.expires_at = 1;
    CHECK_NUMBER(TOKENKEEP_OK, save_text(store, "version", "a", "x", &options));
    CHECK(saved != other);
    other = saved;
    CHECK_NUMBER(TOKENKEEP_OK, save_text(store, "version", "a", "y", &options));
    CHECK(saved != other);
}

static void compare_and_swap(void) {
    tokenkeep_save_options options = TOKENKEEP_SAVE_OPTIONS_INIT;
    uint64_t first, saved = 7;
    tokenkeep_item *item;
    CHECK_NUMBER(TOKENKEEP_OK, save_text(store, "swap", "a", "one", NULL));
    first = version_of("swap");
    options.expected_version = first;
    options.saved_version = &saved;
    CHECK_STATUS(TOKENKEEP_OK, tokenkeep_save(store, "swap", "a", "two", 3, &options, &error));
    CHECK(saved == version_of("swap") && saved != first);
    saved = 7;
    CHECK_STATUS(TOKENKEEP_CONFLICT, tokenkeep_save(store, "swap", "a", "three", 5, &options, &error));
    CHECK(saved == 7);
    item = load(store, "swap", "a");
    CHECK_TEXT("two", (const char *)tokenkeep_item_secret(item, NULL));
    tokenkeep_item_free(item);
    CHECK_STATUS(TOKENKEEP_CONFLICT, tokenkeep_save(store, "not there", "a", "x", 1, &options, &error));
    CHECK_NUMBER(TOKENKEEP_NOT_FOUND, load_status(store, "not there", "a"));
}

static void if_absent(void) {
    tokenkeep_save_options options = TOKENKEEP_SAVE_OPTIONS_INIT;
    tokenkeep_item *item;
    options.flags = TOKENKEEP_IF_ABSENT;
    CHECK_STATUS(TOKENKEEP_OK, tokenkeep_save(store, "absent", "a", "one", 3, &options, &error));
    CHECK_STATUS(TOKENKEEP_DUPLICATE, tokenkeep_save(store, "absent", "a", "two", 3, &options, &error));
    item = load(store, "absent", "a");
    CHECK_TEXT("one", (const char *)tokenkeep_item_secret(item, NULL));
    CHECK_NUMBER(0, tokenkeep_item_flags(item)); /* it is not kept */
    tokenkeep_item_free(item);
    CHECK_NUMBER(TOKENKEEP_OK, tokenkeep_clear(store, "absent", "a", NULL));
    CHECK_STATUS(TOKENKEEP_OK, tokenkeep_save(store, "absent", "a", "two", 3, &options, &error));
}

static void clear_if(void) {
    uint64_t first;
    CHECK_NUMBER(TOKENKEEP_OK, save_text(store, "clear if", "a", "one", NULL));
    first = version_of("clear if");
    CHECK_STATUS(TOKENKEEP_INVALID, tokenkeep_clear_if(store, "clear if", "a", 0, &error));
    CHECK_NUMBER(TOKENKEEP_OK, save_text(store, "clear if", "a", "two", NULL));
    CHECK_STATUS(TOKENKEEP_CONFLICT, tokenkeep_clear_if(store, "clear if", "a", first, &error));
    CHECK_NUMBER(TOKENKEEP_OK, load_status(store, "clear if", "a"));
    CHECK_STATUS(TOKENKEEP_OK, tokenkeep_clear_if(store, "clear if", "a", version_of("clear if"), &error));
    CHECK_NUMBER(TOKENKEEP_NOT_FOUND, load_status(store, "clear if", "a"));
    CHECK_STATUS(TOKENKEEP_CONFLICT, tokenkeep_clear_if(store, "clear if", "a", first, &error));
}

static void a_list_has_metadata_and_no_secret(void) {
    tokenkeep_save_options options = TOKENKEEP_SAVE_OPTIONS_INIT;
    tokenkeep_attribute attribute = {"client", "one"};
    tokenkeep_items *items = NULL;
    const tokenkeep_item *item;
    size_t length = 7;
    options.label = "a label";
    options.attributes = &attribute;
    options.attribute_count = 1;
    options.expires_at = 2000000000;
    CHECK_NUMBER(TOKENKEEP_OK, save_text(store, "listed", "b", "x", NULL));
    CHECK_NUMBER(TOKENKEEP_OK, save_text(store, "listed", "a", "x", &options));
    CHECK_NUMBER(TOKENKEEP_OK, save_text(store, "listed also", "a", "x", NULL));
    CHECK_STATUS(TOKENKEEP_OK, tokenkeep_list(store, "listed", &items, &error));
    CHECK_NUMBER(2, tokenkeep_items_count(items));
    CHECK(tokenkeep_items_problem(items) == NULL);
    item = tokenkeep_items_at(items, 0);
    CHECK_TEXT("a", tokenkeep_item_account(item));
    CHECK_TEXT("a label", tokenkeep_item_label(item));
    CHECK_TEXT("one", tokenkeep_item_attribute(item, "client"));
    CHECK_NUMBER(2000000000, tokenkeep_item_expires_at(item));
    CHECK(tokenkeep_item_secret(item, &length) == NULL);
    CHECK_NUMBER(0, length);
    CHECK_TEXT("b", tokenkeep_item_account(tokenkeep_items_at(items, 1)));
    CHECK(tokenkeep_items_at(items, 2) == NULL && tokenkeep_items_at(items, SIZE_MAX) == NULL);
    tokenkeep_items_free(items);
}

static void a_list_of_nothing_is_empty(void) {
    tokenkeep_items *items = NULL;
    CHECK_STATUS(TOKENKEEP_OK, tokenkeep_list(store, "no such service", &items, &error));
    CHECK(items != NULL);
    CHECK_NUMBER(0, tokenkeep_items_count(items));
    CHECK(tokenkeep_items_at(items, 0) == NULL);
    tokenkeep_items_free(items);
}

static void all_services_are_listed_in_order(void) {
    tokenkeep_store *other = open_namespace("ordered");
    tokenkeep_items *items = NULL;
    CHECK_NUMBER(TOKENKEEP_OK, save_text(other, "b", "1", "x", NULL));
    CHECK_NUMBER(TOKENKEEP_OK, save_text(other, "a", "2", "x", NULL));
    CHECK_NUMBER(TOKENKEEP_OK, save_text(other, "a", "1", "x", NULL));
    CHECK_STATUS(TOKENKEEP_OK, tokenkeep_list(other, NULL, &items, &error));
    CHECK_NUMBER(3, tokenkeep_items_count(items));
    CHECK_TEXT("a", tokenkeep_item_service(tokenkeep_items_at(items, 0)));
    CHECK_TEXT("1", tokenkeep_item_account(tokenkeep_items_at(items, 0)));
    CHECK_TEXT("2", tokenkeep_item_account(tokenkeep_items_at(items, 1)));
    CHECK_TEXT("b", tokenkeep_item_service(tokenkeep_items_at(items, 2)));
    tokenkeep_items_free(items);
    tokenkeep_close(other);
}

static void clearing_a_service_counts(void) {
    tokenkeep_store *other = open_namespace("elsewhere");
    size_t cleared = 7;
    CHECK_NUMBER(TOKENKEEP_OK, save_text(store, "group", "a", "x", NULL));
    CHECK_NUMBER(TOKENKEEP_OK, save_text(store, "group", "b", "x", NULL));
    CHECK_NUMBER(TOKENKEEP_OK, save_text(store, "group2", "a", "x", NULL));
    CHECK_NUMBER(TOKENKEEP_OK, save_text(other, "group", "a", "x", NULL));
    CHECK_STATUS(TOKENKEEP_OK, tokenkeep_clear_service(store, "group", &cleared, &error));
    CHECK_NUMBER(2, cleared);
    CHECK_NUMBER(TOKENKEEP_NOT_FOUND, load_status(store, "group", "a"));
    CHECK_NUMBER(TOKENKEEP_NOT_FOUND, load_status(store, "group", "b"));
    CHECK_NUMBER(TOKENKEEP_OK, load_status(store, "group2", "a"));
    CHECK_NUMBER(TOKENKEEP_OK, load_status(other, "group", "a"));
    CHECK_STATUS(TOKENKEEP_OK, tokenkeep_clear_service(store, "group", &cleared, &error));
    CHECK_NUMBER(0, cleared);
    tokenkeep_close(other);
}

/* A bus that never answers may have items: from then on its absence is an outage. */
static void use_a_silent_bus(tokenkeep_store *offline) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    char bus[sizeof address.sun_path + 16];
    const char *before = getenv("DBUS_SESSION_BUS_ADDRESS");
    char *kept = before ? strdup(before) : NULL;
    int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    snprintf(address.sun_path, sizeof address.sun_path, "/tmp/tokenkeep-silent-%d", (int)getpid());
    snprintf(bus, sizeof bus, "unix:path=%s", address.sun_path);
    CHECK(bind(listener, (struct sockaddr *)&address, sizeof address) == 0 && listen(listener, 1) == 0);
    setenv("DBUS_SESSION_BUS_ADDRESS", bus, 1);
    CHECK_NUMBER(TOKENKEEP_TIMED_OUT, load_status(offline, "pending", "nobody"));
    if (kept)
        setenv("DBUS_SESSION_BUS_ADDRESS", kept, 1);
    else
        unsetenv("DBUS_SESSION_BUS_ADDRESS");
    free(kept);
    close(listener);
    unlink(address.sun_path);
}

/* There is no bus: each save is a pending write. */
static void syncing_counts_pending_writes(void) {
    tokenkeep_open_options options = TOKENKEEP_OPEN_OPTIONS_INIT;
    tokenkeep_store *offline = NULL;
    size_t drained = 7, left = 7;
    CHECK_STATUS(TOKENKEEP_OK, tokenkeep_sync(store, &drained, &left, &error));
    CHECK(drained == 0 && left == 0);
    options.stack_text = "any sufficient secret-service\nany required vault";
    options.name_space = "offline";
    options.timeout_ms = PASSED_LIMIT_MS;
    if (!CHECK(tokenkeep_open(&options, &offline, NULL) == TOKENKEEP_OK && begin_passing_limits())) {
        return;
    }
    use_a_silent_bus(offline);
    CHECK_NUMBER(TOKENKEEP_OK, save_text(offline, "pending", "a", "x", NULL));
    CHECK_NUMBER(TOKENKEEP_OK, save_text(offline, "pending", "b", "x", NULL));
    CHECK_STATUS(TOKENKEEP_OK, tokenkeep_sync(offline, &drained, &left, &error));
    CHECK_NUMBER(0, drained);
    CHECK_NUMBER(2, left);
    CHECK_STATUS(TOKENKEEP_OK, tokenkeep_sync(offline, NULL, NULL, &error));
    /* Another stack has no pending writes. */
    CHECK_STATUS(TOKENKEEP_OK, tokenkeep_sync(store, &drained, &left, &error));
    CHECK(drained == 0 && left == 0);
    end_passing_limits();
    tokenkeep_close(offline);
}

int main(void) {
    store = open_store();
    RUN(a_version_changes_with_what_is_seen_and_only_then);
    RUN(compare_and_swap);
    RUN(if_absent);
    RUN(clear_if);
    RUN(a_list_has_metadata_and_no_secret);
    RUN(a_list_of_nothing_is_empty);
    RUN(all_services_are_listed_in_order);
    RUN(clearing_a_service_counts);
    RUN(syncing_counts_pending_writes);
    tokenkeep_close(store);
    return check_result();
}
