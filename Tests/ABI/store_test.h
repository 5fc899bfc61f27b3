/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the programs of this folder: a store of the stack under test, and calls in one line. */
#ifndef TOKENKEEP_TESTS_STORE_TEST_H
#define TOKENKEEP_TESTS_STORE_TEST_H

#include "../Support/check.h"
#include <stdlib.h>
#include <tokenkeep.h>

/* TOKENKEEP_TEST_STACK holds the stack; without it the default is tested. */
static inline const char *stack_under_test(void) {
    return getenv("TOKENKEEP_TEST_STACK");
}

/* Whether items outlive the store that saved them. */
static inline int stack_is_durable(void) {
    const char *stack = stack_under_test();
    return stack == NULL || strstr(stack, "vault") != NULL;
}

static inline tokenkeep_store *open_namespace(const char *name_space) {
    tokenkeep_open_options options = TOKENKEEP_OPEN_OPTIONS_INIT;
    tokenkeep_store *store = NULL;
    tokenkeep_error *error = NULL;
    options.stack_text = stack_under_test();
    options.name_space = name_space;
    if (tokenkeep_open(&options, &store, &error) != TOKENKEEP_OK) {
        printf("no store: %s\n", tokenkeep_error_message(error));
        exit(2);
    }
    return store;
}

static inline tokenkeep_store *open_store(void) {
    return open_namespace(NULL);
}

static inline tokenkeep_status save_text(tokenkeep_store *store, const char *service, const char *account,
                                         const char *secret, const tokenkeep_save_options *options) {
    return tokenkeep_save(store, service, account, secret, strlen(secret), options, NULL);
}

/* The item, or NULL: what a test then reads of it is NULL or 0, and its checks fail. */
static inline tokenkeep_item *load(tokenkeep_store *store, const char *service, const char *account) {
    tokenkeep_item *item = NULL;
    tokenkeep_error *error = NULL;
    if (tokenkeep_load(store, service, account, &item, &error) != TOKENKEEP_OK) {
        printf("     no item: %s\n", tokenkeep_error_message(error));
        tokenkeep_error_free(error);
    }
    return item;
}

static inline tokenkeep_status load_status(tokenkeep_store *store, const char *service, const char *account) {
    tokenkeep_item *item = NULL;
    tokenkeep_status status = tokenkeep_load(store, service, account, &item, NULL);
    tokenkeep_item_free(item);
    return status;
}

/* The status of a call that takes `&error`, which must be told alike by an error object, with a message of
 * one line; TOKENKEEP_OK makes none. */
#define CHECK_STATUS(expected, call)                                                                         \
    do {                                                                                                     \
        tokenkeep_error *error = NULL;                                                                       \
        CHECK_NUMBER(expected, call);                                                                        \
        CHECK_NUMBER(expected, tokenkeep_error_status(error));                                               \
        CHECK((expected) == TOKENKEEP_OK ? error == NULL : *tokenkeep_error_message(error) != 0);            \
        CHECK(strchr(tokenkeep_error_message(error), '\n') == NULL);                                         \
        tokenkeep_error_free(error);                                                                         \
    } while (0)

/* As CHECK_STATUS, and the message must name what it is about. */
#define CHECK_REFUSED(expected, word, call)                                                                  \
    do {                                                                                                     \
        tokenkeep_error *error = NULL;                                                                       \
        CHECK_NUMBER(expected, call);                                                                        \
        if (!CHECK(strstr(tokenkeep_error_message(error), word) != NULL))                                    \
            printf("     the message is \"%s\"\n", tokenkeep_error_message(error));                          \
        tokenkeep_error_free(error);                                                                         \
    } while (0)

#endif
