/* Loads one item of TokenKeep's vault over and over; locked or not, with or without a password. Usage:
 * password SAVE; with 1 it saves the item first. TOKENKEEP_VAULT says where. */
#include "stopwatch.h"

#include <string.h>
#include <tokenkeep.h>

static tokenkeep_store *store;

static int load(int number) {
    tokenkeep_item *item = NULL;
    (void)number;
    if (tokenkeep_load(store, "bench.example", "account", &item, NULL) != TOKENKEEP_OK)
        return 1;
    tokenkeep_item_free(item);
    return 0;
}

int main(int argc, char **argv) {
    tokenkeep_open_options options = TOKENKEEP_OPEN_OPTIONS_INIT;
    options.stack_text = "any required vault";
    if (argc != 2 || tokenkeep_open(&options, &store, NULL) != TOKENKEEP_OK)
        return 1;
    if (strcmp(argv[1], "1") == 0 &&
        tokenkeep_save(store, "bench.example", "account", "token", 5, NULL, NULL) != TOKENKEEP_OK)
        return 1;
    if (stopwatch_measure("load", 1, 4000, load) != 0)
        return 1;
    tokenkeep_close(store);
    return 0;
}
