/* The first load of a process through a stack, and the median of those after it. Usage: module STACK ROUNDS
 */
#include "stopwatch.h"
#include <tokenkeep.h>

static tokenkeep_store *store;

static int load(int number) {
    tokenkeep_item *item = NULL;
    (void)number;
    tokenkeep_status status = tokenkeep_load(store, "bench.example", "nobody", &item, NULL);
    tokenkeep_item_free(item);
    return status != TOKENKEEP_NOT_FOUND;
}

int main(int count, char **arguments) {
    tokenkeep_open_options options = TOKENKEEP_OPEN_OPTIONS_INIT;
    if (count != 3)
        return 2;
    options.stack_text = arguments[1];
    if (tokenkeep_open(&options, &store, NULL) != TOKENKEEP_OK ||
        stopwatch_measure("first", 1, 1, load) != 0 ||
        stopwatch_measure("next", 1, atoi(arguments[2]), load) != 0)
        return 1;
    tokenkeep_close(store);
    return 0;
}
