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

static inline int ours_save(tokenkeep_store *store) {
    static const char token[] = "eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.c2lnbmF0dXJl";
    return tokenkeep_save(store, "bench.example", "ours", token, strlen(token), NULL, NULL) != TOKENKEEP_OK;
}

static inline int ours_load(tokenkeep_store *store) {
    tokenkeep_item *item = NULL;
    tokenkeep_status status = tokenkeep_load(store, "bench.example", "ours", &item, NULL);
    tokenkeep_item_free(item);
    return status != TOKENKEEP_OK;
}

#endif
