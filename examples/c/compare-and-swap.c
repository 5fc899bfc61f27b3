/*
 * Replaces a token only if nobody else did in between: two programs that renew the same token do not
 * overwrite each other's.
 *
 *     cc compare-and-swap.c $(pkg-config --cflags --libs tokenkeep) -o compare-and-swap
 */
#include <stdio.h>
#include <string.h>
#include <tokenkeep.h>

static int fail(const tokenkeep_error *error) {
    fprintf(stderr, "%s\n", tokenkeep_error_message(error));
    return 1;
}

static tokenkeep_status replace(tokenkeep_store *store, const char *token, uint64_t version,
                                tokenkeep_error **error) {
    tokenkeep_save_options options = TOKENKEEP_SAVE_OPTIONS_INIT;
    options.expected_version = version;
    return tokenkeep_save(store, "example.com", "alice", token, strlen(token), &options, error);
}

int main(void) {
    tokenkeep_store *store = NULL;
    tokenkeep_item *item = NULL;
    tokenkeep_error *error = NULL;
    uint64_t version;

    if (tokenkeep_open(NULL, &store, &error) != TOKENKEEP_OK ||
        tokenkeep_save(store, "example.com", "alice", "first", strlen("first"), NULL, &error) !=
            TOKENKEEP_OK ||
        tokenkeep_load(store, "example.com", "alice", &item, &error) != TOKENKEEP_OK) {
        return fail(error);
    }
    version = tokenkeep_item_version(item);
    tokenkeep_item_free(item);

    if (replace(store, "second", version, &error) != TOKENKEEP_OK) {
        return fail(error);
    }
    puts("replaced the version that was read");

    /* The version is an old one by now: somebody (here, we) replaced the token since. */
    switch (replace(store, "third", version, &error)) {
    case TOKENKEEP_CONFLICT:
        printf("not replaced: %s\n", tokenkeep_error_message(error));
        tokenkeep_error_free(error);
        error = NULL;
        break;
    case TOKENKEEP_OK:
        puts("replaced");
        break;
    default:
        return fail(error);
    }

    if (tokenkeep_clear(store, "example.com", "alice", &error) != TOKENKEEP_OK) {
        return fail(error);
    }
    tokenkeep_close(store);
    return 0;
}
