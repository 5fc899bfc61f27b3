/* Pending writes of numbered items into a keyring, beside as many stores by libsecret.
 *
 * drain use          saves one item, so that the service counts as used
 * drain pend ITEMS   saves the items; without a bus they stay pending
 * drain ours ITEMS   drains them and prints the microseconds of one item
 * drain theirs ITEMS stores as many by libsecret, with two attributes, and prints the same
 * drain alike ITEMS  the same with the attributes of an item of TokenKeep */
#include "service-theirs.h"
#include "stopwatch.h"

#include <string.h>
#include <tokenkeep.h>

static int save(tokenkeep_store *store, int number) {
    static const char token[] = "eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.c2lnbmF0dXJl";
    char account[32];
    snprintf(account, sizeof account, "account-%d", number);
    return tokenkeep_save(store, "bench.example", account, token, strlen(token), NULL, NULL) != TOKENKEEP_OK;
}

static int drain(tokenkeep_store *store, int items) {
    size_t drained = 0, left = 0;
    tokenkeep_status status = tokenkeep_sync(store, &drained, &left, NULL);
    return status != TOKENKEEP_OK || drained != (size_t)items || left != 0;
}

static int save_alike(const char *user) {
    static const SecretSchema schema = {
        .name = "org.example.Alike",
        .attributes = {{"service", SECRET_SCHEMA_ATTRIBUTE_STRING},
                       {"username", SECRET_SCHEMA_ATTRIBUTE_STRING},
                       {"namespace", SECRET_SCHEMA_ATTRIBUTE_STRING},
                       {"access", SECRET_SCHEMA_ATTRIBUTE_STRING}},
    };
    return !secret_password_store_sync(&schema, SECRET_COLLECTION_DEFAULT, user, theirs_token, NULL, NULL,
                                       "service", "bench.example", "username", user, "namespace", "",
                                       "access", "after-first-unlock", NULL);
}

static int store_by_libsecret(int items, int (*store)(const char *user)) {
    char user[32];
    for (int number = 0; number < items; number++) {
        snprintf(user, sizeof user, "account-%d", number);
        if (store(user) != 0)
            return 1;
    }
    return 0;
}

int main(int argc, char **argv) {
    tokenkeep_open_options options = TOKENKEEP_OPEN_OPTIONS_INIT;
    tokenkeep_store *store = NULL;
    options.timeout_ms = 600000;
    if (argc < 2 || tokenkeep_open(&options, &store, NULL) != TOKENKEEP_OK)
        return 2;
    int items = argc > 2 ? atoi(argv[2]) : 0, result = 0;
    double start = stopwatch_now();
    if (strcmp(argv[1], "use") == 0)
        result = save(store, 0);
    else if (strcmp(argv[1], "pend") == 0)
        for (int number = 1; number <= items && result == 0; number++)
            result = save(store, number);
    else if (strcmp(argv[1], "ours") == 0)
        result = drain(store, items);
    else
        result = store_by_libsecret(items, strcmp(argv[1], "alike") == 0 ? save_alike : theirs_save_as);
    if (result == 0)
        printf("%s %d %.2f\n", argv[1], items, (stopwatch_now() - start) / (items > 0 ? items : 1));
    tokenkeep_close(store);
    return result;
}
