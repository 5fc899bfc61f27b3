/* TokenKeep's vault with a number of items in it. Usage: vault ITEMS ROUNDS; 0 rounds fill it.
 * TOKENKEEP_VAULT says where. */
#include "stopwatch.h"

#include <string.h>
#include <tokenkeep.h>

static tokenkeep_store *store;
static const char token[] = "eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.c2lnbmF0dXJl";

static int save(int number) {
    char account[32];
    snprintf(account, sizeof account, "account-%d", number);
    return tokenkeep_save(store, "bench.example", account, token, strlen(token), NULL, NULL) != TOKENKEEP_OK;
}

static int load(int number) {
    char account[32];
    tokenkeep_item *item = NULL;
    snprintf(account, sizeof account, "account-%d", number);
    if (tokenkeep_load(store, "bench.example", account, &item, NULL) != TOKENKEEP_OK)
        return 1;
    tokenkeep_item_free(item);
    return 0;
}

int main(int argc, char **argv) {
    tokenkeep_open_options options = TOKENKEEP_OPEN_OPTIONS_INIT;
    if (argc != 3)
        return 2;
    int items = atoi(argv[1]), rounds = atoi(argv[2]);
    options.stack_text = "any required vault";
    if (tokenkeep_open(&options, &store, NULL) != TOKENKEEP_OK)
        return 1;
    for (int number = 0; rounds == 0 && number < items; number++)
        if (save(number) != 0)
            return 1;
    if (rounds == 0)
        return 0;
    if (stopwatch_measure("save", items, rounds, save) != 0 ||
        stopwatch_measure("load", items, 2000, load) != 0)
        return 1;
    tokenkeep_close(store);
    return 0;
}
