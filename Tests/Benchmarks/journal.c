/* What the journal adds to the time of a load: the vault alone, and the same vault in a stack with a module
 * that may have a pending write, in turns. Usage: journal ITEMS ROUNDS; TOKENKEEP_VAULT says where. */
#include "stopwatch.h"

#include <string.h>
#include <tokenkeep.h>

static stopwatch alone, stacked;

static tokenkeep_store *open_stack(const char *text) {
    tokenkeep_open_options options = TOKENKEEP_OPEN_OPTIONS_INIT;
    tokenkeep_store *store = NULL;
    options.stack_text = text;
    return tokenkeep_open(&options, &store, NULL) == TOKENKEEP_OK ? store : NULL;
}

static int load(tokenkeep_store *store, const char *account, stopwatch *watch) {
    tokenkeep_item *item = NULL;
    double start = stopwatch_now();
    if (tokenkeep_load(store, "bench.example", account, &item, NULL) != TOKENKEEP_OK)
        return 1;
    stopwatch_add(watch, stopwatch_now() - start);
    tokenkeep_item_free(item);
    return 0;
}

int main(int argc, char **argv) {
    tokenkeep_store *vault = open_stack("any required vault");
    tokenkeep_store *stack = open_stack("any sufficient vault\nany required secret-service");
    if (argc != 3 || vault == NULL || stack == NULL)
        return 2;
    int items = atoi(argv[1]), rounds = atoi(argv[2]);
    char account[32];
    for (int number = 0; number < items; number++) {
        snprintf(account, sizeof account, "account-%d", number);
        if (tokenkeep_save(vault, "bench.example", account, "token", 5, NULL, NULL) != TOKENKEEP_OK)
            return 1;
    }
    /* What was just written is looked at more closely for a second or two. */
    for (double start = stopwatch_now(); stopwatch_now() - start < 2.5e6;)
        if (load(stack, "account-0", &stacked) != 0)
            return 1;
    stacked.count = 0;
    for (int round = 0; round < rounds; round++) {
        snprintf(account, sizeof account, "account-%d",
                 (int)((uint32_t)round * 2654435761u % (uint32_t)items));
        if (load(vault, account, &alone) != 0 || load(stack, account, &stacked) != 0)
            return 1;
    }
    stopwatch_print(&alone, "alone", items);
    stopwatch_print(&stacked, "stacked", items);
    tokenkeep_close(stack);
    tokenkeep_close(vault);
    return 0;
}
