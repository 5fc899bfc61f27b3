/*
 * A program that saves, loads and clears as the fault tests tell it.
 *
 *   probe save ACCOUNT SECRET [TIMEOUT_MS]   probe load ACCOUNT   probe clear ACCOUNT   probe count
 *   probe save-until ACCOUNT SECRET EXPIRES  saves with an expiry date, in Unix seconds
 *   probe saves ACCOUNT COUNT                saves 1 to COUNT; prints each number once it is acknowledged
 *   probe pattern ACCOUNT COUNT LETTER       saves LETTER repeated, of changing length, COUNT times
 *   probe watch ACCOUNT COUNT                loads COUNT times: every secret must be one letter repeated
 *
 *   probe serve [TIMEOUT_MS]   probe crowd ACCOUNT COUNT NAME   probe cancel ACCOUNT SECRET   probe events:
 * see serve.h
 *
 * Prints what a load found, with " until EXPIRES" where it expires; then the status's name. Exits 0 for OK.
 * The stack is the vault alone, or what the environment's PROBE_STACK names ("" for the default).
 */
#include "../Support/check.h"
#include "serve.h"
#include "sessions.h"
#include <tokenkeep.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char service[] = "fault.test";

static int report(tokenkeep_status status, tokenkeep_error *error) {
    printf("%s\n", tokenkeep_status_name(status));
    if (status != TOKENKEEP_OK)
        fprintf(stderr, "%s\n", tokenkeep_error_message(error));
    tokenkeep_error_free(error);
    return status == TOKENKEEP_OK ? 0 : 1;
}

static tokenkeep_status save(tokenkeep_store *store, const char *account, const char *secret, size_t length,
                             tokenkeep_error **error) {
    return tokenkeep_save(store, service, account, secret, length, NULL, error);
}

static tokenkeep_status save_until(tokenkeep_store *store, const char *account, const char *secret,
                                   const char *expires, tokenkeep_error **error) {
    tokenkeep_save_options options = TOKENKEEP_SAVE_OPTIONS_INIT;
    options.expires_at = atoll(expires);
    return tokenkeep_save(store, service, account, secret, strlen(secret), &options, error);
}

static int saves(tokenkeep_store *store, const char *account, int count) {
    tokenkeep_error *error = NULL;
    for (int number = 1; number <= count; number++) {
        char secret[16];
        int length = snprintf(secret, sizeof secret, "%d", number);
        tokenkeep_status status = save(store, account, secret, (size_t)length, &error);
        if (status != TOKENKEEP_OK)
            return report(status, error);
        printf("%d\n", number);
        fflush(stdout);
    }
    return report(TOKENKEEP_OK, NULL);
}

static int pattern(tokenkeep_store *store, const char *account, int count, char letter) {
    static char secret[8192];
    tokenkeep_error *error = NULL;
    memset(secret, letter, sizeof secret);
    for (int number = 1; number <= count; number++) {
        tokenkeep_status status =
            save(store, account, secret, 1 + (size_t)(number * 997) % sizeof secret, &error);
        if (status != TOKENKEEP_OK)
            return report(status, error);
    }
    return report(TOKENKEEP_OK, NULL);
}

static int watch(tokenkeep_store *store, const char *account, int count) {
    tokenkeep_error *error = NULL;
    for (int number = 0; number < count; number++) {
        tokenkeep_item *item = NULL;
        tokenkeep_status status = tokenkeep_load(store, service, account, &item, &error);
        if (status != TOKENKEEP_OK)
            return report(status, error);
        size_t length = 0;
        const char *secret = tokenkeep_item_secret(item, &length);
        for (size_t i = 1; i < length; i++) {
            if (secret[i] != secret[0]) {
                printf("TORN\n");
                return 1;
            }
        }
        tokenkeep_item_free(item);
    }
    return report(TOKENKEEP_OK, NULL);
}

static int load(tokenkeep_store *store, const char *account) {
    tokenkeep_error *error = NULL;
    tokenkeep_item *item = NULL;
    tokenkeep_status status = tokenkeep_load(store, service, account, &item, &error);
    if (status == TOKENKEEP_OK) {
        long long expires = tokenkeep_item_expires_at(item);
        printf("%s", (const char *)tokenkeep_item_secret(item, NULL));
        if (expires != 0)
            printf(" until %lld", expires);
        printf("\n");
    }
    tokenkeep_item_free(item);
    return report(status, error);
}

static int count_items(tokenkeep_store *store) {
    tokenkeep_error *error = NULL;
    tokenkeep_items *items = NULL;
    tokenkeep_status status = tokenkeep_list(store, NULL, &items, &error);
    if (status == TOKENKEEP_OK)
        printf("%zu%s\n", tokenkeep_items_count(items),
               tokenkeep_items_problem(items) == NULL ? "" : " PROBLEM");
    tokenkeep_items_free(items);
    return report(status, error);
}

int main(int argc, char **argv) {
    tokenkeep_store *store = NULL;
    tokenkeep_error *error = NULL;
    tokenkeep_open_options options = TOKENKEEP_OPEN_OPTIONS_INIT;
    if (argc < 2)
        return 2;
    const char *command = argv[1];
    const char *account = argc > 2 ? argv[2] : "";
    if (argc > 4 && strcmp(command, "save") == 0)
        options.timeout_ms = (uint32_t)atoi(argv[4]);
    if (argc > 2 && strcmp(command, "serve") == 0)
        options.timeout_ms = (uint32_t)atoi(argv[2]);
    if (strcmp(command, "crowd") == 0 || strcmp(command, "cancel") == 0)
        options.timeout_ms = CHECK_PATIENCE_MS;
    const char *stack = getenv("PROBE_STACK");
    if (stack == NULL)
        options.stack_text = "any required vault";
    else if (stack[0] != '\0')
        options.stack = stack;
    tokenkeep_status status = tokenkeep_open(&options, &store, &error);
    if (status != TOKENKEEP_OK)
        return report(status, error);
    int result = 2;
    if (strcmp(command, "save") == 0 && argc > 3)
        result = report(save(store, account, argv[3], strlen(argv[3]), &error), error);
    else if (strcmp(command, "save-until") == 0 && argc > 4)
        result = report(save_until(store, account, argv[3], argv[4], &error), error);
    else if (strcmp(command, "saves") == 0 && argc > 3)
        result = saves(store, account, atoi(argv[3]));
    else if (strcmp(command, "pattern") == 0 && argc > 4)
        result = pattern(store, account, atoi(argv[3]), argv[4][0]);
    else if (strcmp(command, "watch") == 0 && argc > 3)
        result = watch(store, account, atoi(argv[3]));
    else if (strcmp(command, "load") == 0)
        result = load(store, account);
    else if (strcmp(command, "begin") == 0)
        result = report(begin_session(store, account, &error), error);
    else if (strcmp(command, "token") == 0)
        result = report(print_token(store, account, &error), error);
    else if (strcmp(command, "logout") == 0)
        result = report(end_session(store, account, &error), error);
    else if (strcmp(command, "clear") == 0)
        result = report(tokenkeep_clear(store, service, account, &error), error);
    else if (strcmp(command, "count") == 0)
        result = count_items(store);
    else if (strcmp(command, "serve") == 0)
        result = serve(store, service);
    else if (strcmp(command, "crowd") == 0 && argc > 4)
        result = crowd(store, service, account, atoi(argv[3]), argv[4]);
    else if (strcmp(command, "cancel") == 0 && argc > 3)
        result = save_until_told(store, service, account, argv[3]);
    else if (strcmp(command, "events") == 0)
        result = watch_events(store, service);
    tokenkeep_close(store);
    return result;
}
