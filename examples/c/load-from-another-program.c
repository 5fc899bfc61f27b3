/*
 * Loads a password that another program keeps in the desktop's keyring, here one that secret-tool stored:
 *
 *     secret-tool store --label="Ann at example.com" service example.com username ann
 *
 * Python's keyring, go-keyring and keyring-rs name their items by the same two attributes.
 *
 *     cc load-from-another-program.c $(pkg-config --cflags --libs tokenkeep) -o load-from-another-program
 */
#include <stdio.h>
#include <tokenkeep.h>

int main(void) {
    tokenkeep_store *store = NULL;
    tokenkeep_item *item = NULL;
    tokenkeep_error *error = NULL;

    if (tokenkeep_open(NULL, &store, &error) != TOKENKEEP_OK) {
        fprintf(stderr, "%s\n", tokenkeep_error_message(error));
        return 1;
    }
    switch (tokenkeep_load(store, "example.com", "ann", &item, &error)) {
    case TOKENKEEP_OK:
        printf("%s: %s, from %s\n", tokenkeep_item_label(item),
               (const char *)tokenkeep_item_secret(item, NULL), tokenkeep_item_module(item));
        tokenkeep_item_free(item);
        break;
    case TOKENKEEP_NOT_FOUND:
        puts("no program keeps it");
        break;
    default: /* locked, or out of reach: it may be there all the same */
        fprintf(stderr, "%s\n", tokenkeep_error_message(error));
        return 1;
    }
    tokenkeep_close(store);
    return 0;
}
