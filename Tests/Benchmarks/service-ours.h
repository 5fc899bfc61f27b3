/* One token on the Secret Service by TokenKeep. */
#ifndef SERVICE_OURS_H
#define SERVICE_OURS_H

#include <stddef.h>
#include <string.h>
#include <tokenkeep.h>

static inline tokenkeep_store *ours_open(void) {
    tokenkeep_open_options options = TOKENKEEP_OPEN_OPTIONS_INIT;
    tokenkeep_store *store = NULL;
    options.stack_text = "any required secret-service";
    return tokenkeep_open(&options, &store, NULL) == TOKENKEEP_OK ? store : NULL;
}

static inline int ours_save_as(tokenkeep_store *store, const char *account) {
    static const char token[] = "eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.c2lnbmF0dXJl";
    return tokenkeep_save(store, "bench.example", account, token, strlen(token), NULL, NULL) != TOKENKEEP_OK;
}

static inline int ours_save(tokenkeep_store *store) {
    return ours_save_as(store, "ours");
}

static inline int ours_load_of(tokenkeep_store *store, const char *account) {
    tokenkeep_item *item = NULL;
    tokenkeep_status status = tokenkeep_load(store, "bench.example", account, &item, NULL);
    tokenkeep_item_free(item);
    return status != TOKENKEEP_OK;
}

static inline int ours_load(tokenkeep_store *store) {
    return ours_load_of(store, "ours");
}

#endif
