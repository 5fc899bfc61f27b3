/* SPDX-License-Identifier: Apache-2.0 */
/* Conditional changes of an item in the Secret Service: conditions SERVICE ACCOUNT SECRET saves the secret
 * over the item's version, and then nothing over the earlier version. Prints what went wrong. */
#include "../Support/check.h"
#include <tokenkeep.h>

int main(int count, char **arguments) {
    tokenkeep_open_options options = TOKENKEEP_OPEN_OPTIONS_INIT;
    tokenkeep_save_options saving = TOKENKEEP_SAVE_OPTIONS_INIT;
    tokenkeep_store *store = NULL;
    tokenkeep_item *item = NULL;
    const char *service = count > 3 ? arguments[1] : "", *account = count > 3 ? arguments[2] : "";
    const char *secret = count > 3 ? arguments[3] : "";
    options.stack_text = "any required secret-service";
    CHECK_NUMBER(TOKENKEEP_OK, tokenkeep_open(&options, &store, NULL));
    CHECK_NUMBER(TOKENKEEP_OK, tokenkeep_load(store, service, account, &item, NULL));
    saving.expected_version = tokenkeep_item_version(item);
    tokenkeep_item_free(item);
    CHECK_NUMBER(TOKENKEEP_OK,
                 tokenkeep_save(store, service, account, secret, strlen(secret), &saving, NULL));
    CHECK_NUMBER(TOKENKEEP_CONFLICT, tokenkeep_save(store, service, account, "lost", 4, &saving, NULL));
    CHECK_NUMBER(TOKENKEEP_CONFLICT,
                 tokenkeep_clear_if(store, service, account, saving.expected_version, NULL));
    tokenkeep_close(store);
    return check_failures_here != 0;
}
