/*
 * Saves, loads and clears a token.
 *
 *     cc save-load-clear.c $(pkg-config --cflags --libs tokenkeep) -o save-load-clear
 */
#include <stdio.h>
#include <tokenkeep.h>

int main(void) {
    tokenkeep_store *store = NULL;
    tokenkeep_item *item = NULL;
    tokenkeep_error *error = NULL;
    const char token[] = "an access token";

    if (tokenkeep_open(NULL, &store, &error) != TOKENKEEP_OK ||
        tokenkeep_save(store, "example.com", "alice", token, sizeof token - 1, NULL, &error) !=
            TOKENKEEP_OK ||
        tokenkeep_load(store, "example.com", "alice", &item, &error) != TOKENKEEP_OK) {
        fprintf(stderr, "%s\n", tokenkeep_error_message(error));
        return 1;
    }
    /* A NUL follows the secret's bytes, so a token that is text can be used as a string. */
    printf("loaded: %s\n", (const char *)tokenkeep_item_secret(item, NULL));
    tokenkeep_item_free(item); /* wipes the secret */

    if (tokenkeep_clear(store, "example.com", "alice", &error) != TOKENKEEP_OK) {
        fprintf(stderr, "%s\n", tokenkeep_error_message(error));
        return 1;
    }
    puts("cleared");
    tokenkeep_close(store);
    return 0;
}
