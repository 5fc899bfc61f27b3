/* Loads one item over and over; from a vault that is locked or not, with or without a password. Usage:
 * password STACK [FLAGS [device]]; with flags it saves the item first, for this device only if asked.
 * TOKENKEEP_VAULT says where the vault is. */
#include "stopwatch.h"

#include <stdlib.h>
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
    tokenkeep_save_options saving = TOKENKEEP_SAVE_OPTIONS_INIT;
    if (argc < 2)
        return 1;
    options.stack_text = argv[1];
    if (tokenkeep_open(&options, &store, NULL) != TOKENKEEP_OK)
        return 1;
    saving.accessibility =
        argc > 3 ? TOKENKEEP_AFTER_FIRST_UNLOCK_THIS_DEVICE_ONLY : TOKENKEEP_AFTER_FIRST_UNLOCK;
    saving.flags = argc > 2 ? (uint32_t)atoi(argv[2]) : 0;
    if (argc > 2 &&
        tokenkeep_save(store, "bench.example", "account", "token", 5, &saving, NULL) != TOKENKEEP_OK)
        return 1;
    if (stopwatch_measure("load", 1, 4000, load) != 0)
        return 1;
    tokenkeep_close(store);
    return 0;
}
