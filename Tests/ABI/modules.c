/* SPDX-License-Identifier: Apache-2.0 */
/* A program whose stack has a module of somebody else's. With "crash" as its argument the module faults, and
 * with it the program. With "time" it prints what loading the module adds to a first call, in microseconds.
 */
#include "store_test.h"

#include <sys/wait.h>
#include <unistd.h>

static tokenkeep_store *open_stack(const char *text) {
    tokenkeep_store *store = NULL;
    tokenkeep_open_options options = TOKENKEEP_OPEN_OPTIONS_INIT;
    options.stack_text = text;
    return tokenkeep_open(&options, &store, NULL) == TOKENKEEP_OK ? store : NULL;
}

static void what_is_saved_in_a_module_is_loaded(void) {
    tokenkeep_store *store = open_stack("any sufficient fixture\nany required vault");
    if (!CHECK(store != NULL))
        return;
    uint64_t version = 0;
    tokenkeep_attribute attribute = {"client", "phone"};
    tokenkeep_save_options options = TOKENKEEP_SAVE_OPTIONS_INIT;
    options.label = "a label";
    options.attributes = &attribute;
    options.attribute_count = 1;
    options.saved_version = &version;
    CHECK_NUMBER(TOKENKEEP_OK, save_text(store, "example.com", "ann", "s3cr3t", &options));

    tokenkeep_item *item = NULL;
    size_t length = 0;
    CHECK_NUMBER(TOKENKEEP_OK, tokenkeep_load(store, "example.com", "ann", &item, NULL));
    CHECK_TEXT("s3cr3t", tokenkeep_item_secret(item, &length));
    CHECK_NUMBER(6, length);
    CHECK_TEXT("fixture", tokenkeep_item_module(item));
    CHECK_TEXT("a label", tokenkeep_item_label(item));
    CHECK_TEXT("phone", tokenkeep_item_attribute(item, "client"));
    CHECK(tokenkeep_item_version(item) == version);
    tokenkeep_item_free(item);

    tokenkeep_items *items = NULL;
    CHECK_NUMBER(TOKENKEEP_OK, tokenkeep_list(store, NULL, &items, NULL));
    CHECK_NUMBER(1, tokenkeep_items_count(items));
    tokenkeep_items_free(items);
    CHECK_NUMBER(TOKENKEEP_OK, tokenkeep_clear(store, "example.com", "ann", NULL));
    CHECK_NUMBER(TOKENKEEP_NOT_FOUND, tokenkeep_load(store, "example.com", "ann", &item, NULL));
    tokenkeep_close(store);
}

static void a_child_of_fork_opens_its_own(void) {
    tokenkeep_store *store = open_stack("any required fixture");
    if (!CHECK(store != NULL))
        return;
    CHECK_NUMBER(TOKENKEEP_OK, save_text(store, "example.com", "ann", "parent", NULL));
    pid_t child = fork();
    if (child == 0) {
        tokenkeep_item *item = NULL;
        tokenkeep_store *own = open_stack("any required fixture");
        int is_right = tokenkeep_load(store, "example.com", "ann", &item, NULL) == TOKENKEEP_FORKED &&
                       save_text(own, "example.com", "ann", "child", NULL) == TOKENKEEP_OK &&
                       tokenkeep_load(own, "example.com", "ann", &item, NULL) == TOKENKEEP_OK &&
                       strcmp(tokenkeep_item_secret(item, NULL), "child") == 0;
        tokenkeep_item_free(item);
        tokenkeep_close(own);
        _exit(is_right ? 0 : 1);
    }
    int status = -1;
    CHECK(waitpid(child, &status, 0) == child);
    CHECK_NUMBER(0, status);
    tokenkeep_item *item = NULL;
    CHECK_NUMBER(TOKENKEEP_OK, tokenkeep_load(store, "example.com", "ann", &item, NULL));
    CHECK_TEXT("parent", tokenkeep_item_secret(item, NULL));
    tokenkeep_item_free(item);
    tokenkeep_close(store);
}

static void a_wrong_answer_is_corrupt(void) {
    tokenkeep_item *item = NULL;
    tokenkeep_error *error = NULL;
    tokenkeep_store *store = open_stack("any required fixture fault=label");
    CHECK_NUMBER(TOKENKEEP_CORRUPT, tokenkeep_load(store, "example.com", "ann", &item, &error));
    CHECK_TEXT("fixture", tokenkeep_error_module(error));
    tokenkeep_error_free(error);
    tokenkeep_close(store);
    CHECK(open_stack("any required no-such-module") == NULL);
}

int main(int count, char **arguments) {
    if (count > 1 && strcmp(arguments[1], "crash") == 0) {
        tokenkeep_item *item = NULL;
        return (int)tokenkeep_load(open_stack("any required fixture fault=crash"), "example.com", "ann",
                                   &item, NULL);
    }

    RUN(what_is_saved_in_a_module_is_loaded);
    RUN(a_child_of_fork_opens_its_own);
    RUN(a_wrong_answer_is_corrupt);
    return check_result();
}
