/* SPDX-License-Identifier: Apache-2.0 */
/* Saves one item, in the stack that an argument gives or else in the default one, and prints the status and
 * whether the process runs with more rights than its caller (AT_SECURE). */
#include <stdio.h>
#include <sys/auxv.h>
#include <tokenkeep.h>

int main(int count, char **arguments) {
    tokenkeep_store *store = NULL;
    tokenkeep_open_options options = TOKENKEEP_OPEN_OPTIONS_INIT;
    if (count > 1)
        options.stack_text = arguments[1];
    tokenkeep_status status = tokenkeep_open(&options, &store, NULL);
    if (status == TOKENKEEP_OK) {
        status = tokenkeep_save(store, "secure", "a", "x", 1, NULL, NULL);
    }
    tokenkeep_close(store);
    printf("%s %s\n", getauxval(AT_SECURE) ? "secure" : "plain", tokenkeep_status_name(status));
    return 0;
}
