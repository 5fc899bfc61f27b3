/* A module compiled against smaller structures: one item, without metadata. */
#include "old-module.h"

#include <stdlib.h>
#include <string.h>

static const tokenkeep_host *host;
static char names[600];
static void *kept;
static size_t kept_length;

static void name_item(char *text, const char *name_space, const char *service, const char *account) {
    strcat(strcat(strcat(strcat(strcpy(text, name_space), "\t"), service), "\t"), account);
}

static tokenkeep_status open_handle(const tokenkeep_module_options *options, void **handle,
                                    tokenkeep_call *call) {
    (void)options, (void)handle, (void)call;
    return TOKENKEEP_OK;
}

static tokenkeep_status load(void *handle, const char *name_space, const char *service, const char *account,
                             tokenkeep_call *call) {
    char wanted[600];
    (void)handle;
    name_item(wanted, name_space, service, account);
    if (kept == NULL || strcmp(wanted, names) != 0)
        return TOKENKEEP_NOT_FOUND;
    tokenkeep_module_item item = {sizeof item, NULL, NULL, NULL, NULL, kept, kept_length};
    host->answer(call, &item);
    return TOKENKEEP_OK;
}

static tokenkeep_status save(void *handle, const tokenkeep_module_item *item, tokenkeep_call *call) {
    (void)handle, (void)call;
    host->free(kept);
    kept_length = item->secret_length;
    kept = host->alloc(kept_length);
    memcpy(kept, item->secret, kept_length);
    name_item(names, item->name_space, item->service, item->account);
    return TOKENKEEP_OK;
}

static tokenkeep_status clear(void *handle, const char *name_space, const char *service, const char *account,
                              tokenkeep_call *call) {
    char wanted[600];
    (void)handle, (void)call;
    name_item(wanted, name_space, service, account);
    if (kept == NULL || strcmp(wanted, names) != 0)
        return TOKENKEEP_NOT_FOUND;
    host->free(kept);
    kept = NULL;
    return TOKENKEEP_OK;
}

tokenkeep_status tokenkeep_module_init_1(const tokenkeep_host *given, uint32_t host_minor,
                                         tokenkeep_module *module) {
    tokenkeep_module mine = {sizeof mine, TOKENKEEP_MODULE_MINOR, 0, NULL, open_handle, NULL, load, save,
                             clear};
    (void)host_minor;
    host = given;
    *module = mine;
    return TOKENKEEP_OK;
}
