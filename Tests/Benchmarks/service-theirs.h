/* One token on the Secret Service by libsecret's own API. */
#ifndef SERVICE_THEIRS_H
#define SERVICE_THEIRS_H

#include <libsecret/secret.h>

static const SecretSchema theirs_schema = {
    .name = "org.example.Bench",
    .attributes = {{"site", SECRET_SCHEMA_ATTRIBUTE_STRING}, {"user", SECRET_SCHEMA_ATTRIBUTE_STRING}},
};

static const char theirs_token[] = "eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.c2lnbmF0dXJl";

static inline int theirs_save_as(const char *user) {
    return !secret_password_store_sync(&theirs_schema, SECRET_COLLECTION_DEFAULT, user, theirs_token, NULL,
                                       NULL, "site", "bench.example", "user", user, NULL);
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

/* With the label, the dates and the attributes, which a load of ours always has. */
static inline int theirs_load_whole(void) {
    GHashTable *attributes =
        secret_attributes_build(&theirs_schema, "site", "bench.example", "user", "theirs", NULL);
    GList *found = secret_service_search_sync(NULL, &theirs_schema, attributes,
                                              SECRET_SEARCH_UNLOCK | SECRET_SEARCH_LOAD_SECRETS, NULL, NULL);
    SecretValue *value = found == NULL ? NULL : secret_item_get_secret(found->data);
    int result = value == NULL;
    g_clear_pointer(&value, secret_value_unref);
    g_list_free_full(found, g_object_unref);
    g_hash_table_unref(attributes);
    return result;
}

#endif
