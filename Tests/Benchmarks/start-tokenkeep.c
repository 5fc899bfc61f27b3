/* Opens a store, loads one token from the vault, and ends. */
#include <tokenkeep.h>

int main(void) {
    tokenkeep_store *store = NULL;
    tokenkeep_item *item = NULL;
    tokenkeep_open_options options = TOKENKEEP_OPEN_OPTIONS_INIT;
    options.stack_text = "any required vault";
    if (tokenkeep_open(&options, &store, NULL) != TOKENKEEP_OK)
        return 1;
    tokenkeep_status status = tokenkeep_load(store, "bench.example", "account-0", &item, NULL);
    tokenkeep_item_free(item);
    tokenkeep_close(store);
    return status != TOKENKEEP_OK;
}
