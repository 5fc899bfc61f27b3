/*
 * Saves a token with the moment it ends, and looks before it uses it. Loading an expired item is no error:
 * the caller decides what an old token is still good for.
 *
 *     cc expiry.c $(pkg-config --cflags --libs tokenkeep) -o expiry
 */
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <tokenkeep.h>

static int fail(const tokenkeep_error *error) {
    fprintf(stderr, "%s\n", tokenkeep_error_message(error));
    return 1;
}

static tokenkeep_status save_until(tokenkeep_store *store, const char *account, time_t end,
                                   tokenkeep_error **error) {
    tokenkeep_save_options options = TOKENKEEP_SAVE_OPTIONS_INIT;
    options.expires_at = (int64_t)end; /* Unix seconds */
    return tokenkeep_save(store, "example.com", account, "token", strlen("token"), &options, error);
}

/* 0 stands for no end. */
static int is_expired(const tokenkeep_item *item) {
    int64_t end = tokenkeep_item_expires_at(item);
    return end != 0 && end <= (int64_t)time(NULL);
}

int main(void) {
    tokenkeep_store *store = NULL;
    tokenkeep_item *item = NULL;
    tokenkeep_error *error = NULL;
    const char *const accounts[] = {"fresh", "stale"};
    const time_t ends[] = {time(NULL) + 3600, time(NULL) - 1};

    if (tokenkeep_open(NULL, &store, &error) != TOKENKEEP_OK) {
        return fail(error);
    }
    for (int index = 0; index < 2; index++) {
        if (save_until(store, accounts[index], ends[index], &error) != TOKENKEEP_OK ||
            tokenkeep_load(store, "example.com", accounts[index], &item, &error) != TOKENKEEP_OK) {
            return fail(error);
        }
        printf("%s: %s\n", accounts[index], is_expired(item) ? "expired, sign in again" : "good");
        tokenkeep_item_free(item);
    }
    if (tokenkeep_clear_service(store, "example.com", NULL, &error) != TOKENKEEP_OK) {
        return fail(error);
    }
    tokenkeep_close(store);
    return 0;
}
