/* One token on the Secret Service by libsecret's own API. */
#ifndef SERVICE_THEIRS_H
#define SERVICE_THEIRS_H

#include <libsecret/secret.h>

static const SecretSchema theirs_schema = {
    .name = "org.example.Bench",
    .attributes = {{"site", SECRET_SCHEMA_ATTRIBUTE_STRING}, {"user", SECRET_SCHEMA_ATTRIBUTE_STRING}},
};

static inline int theirs_save_as(const char *user) {
    static const char token[] = "eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.c2lnbmF0dXJl";
    return !secret_password_store_sync(&theirs_schema, SECRET_COLLECTION_DEFAULT, user, token, NULL, NULL,
                                       "site", "bench.example", "user", user, NULL);
}

static inline int theirs_save(void) {
    return theirs_save_as("theirs");
}

static inline int theirs_load(void) {
    gchar *found = secret_password_lookup_sync(&theirs_schema, NULL, NULL, "site", "bench.example", "user",
                                               "theirs", NULL);
    secret_password_free(found);
    return found == NULL;
}

#endif
