/* libsecret's own file backend with a number of items in it, opened the way its tests do:
 * SECRET_BACKEND=file, SECRET_FILE_TEST_PATH and SECRET_FILE_TEST_PASSWORD. Usage: libsecret-file ITEMS
 * ROUNDS */
#include "stopwatch.h"

#include <libsecret/secret.h>

static const SecretSchema schema = {"org.tokenkeep.Bench",
                                    SECRET_SCHEMA_NONE,
                                    {{"account", SECRET_SCHEMA_ATTRIBUTE_STRING}},
                                    0,
                                    0,
                                    0,
                                    0,
                                    0,
                                    0,
                                    0,
                                    0};
static const char token[] = "eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.c2lnbmF0dXJl";

static int save(int number) {
    char account[32];
    snprintf(account, sizeof account, "account-%d", number);
    return !secret_password_store_sync(&schema, SECRET_COLLECTION_DEFAULT, account, token, NULL, NULL,
                                       "account", account, NULL);
}

static int load(int number) {
    char account[32];
    snprintf(account, sizeof account, "account-%d", number);
    gchar *found = secret_password_lookup_sync(&schema, NULL, NULL, "account", account, NULL);
    secret_password_free(found);
    return found == NULL;
}

int main(int argc, char **argv) {
    if (argc != 3)
        return 2;
    int items = atoi(argv[1]), rounds = atoi(argv[2]);
    for (int number = 0; number < items; number++)
        if (save(number) != 0)
            return 1;
    return stopwatch_measure("save", items, rounds, save) || stopwatch_measure("load", items, rounds, load);
}
