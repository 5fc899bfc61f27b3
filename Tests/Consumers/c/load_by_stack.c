/* Loads example.com (ann) through the stack that is given in place. */
#include <stdio.h>
#include <tokenkeep.h>

int main(int argc, char **argv) {
    tokenkeep_open_options options = TOKENKEEP_OPEN_OPTIONS_INIT;
    tokenkeep_store *store = NULL;
    tokenkeep_item *item = NULL;
    tokenkeep_error *error = NULL;
    options.stack_text = argc == 2 ? argv[1] : NULL;
    if (tokenkeep_open(&options, &store, &error) != TOKENKEEP_OK ||
        tokenkeep_load(store, "example.com", "ann", &item, &error) != TOKENKEEP_OK)
        return fprintf(stderr, "%s\n", tokenkeep_error_message(error)), 1;
    puts(tokenkeep_item_secret(item, NULL));
    tokenkeep_item_free(item);
    tokenkeep_close(store);
}
