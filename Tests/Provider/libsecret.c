/* Uses libsecret's C API as programs do, and prints what it saw. `sessions N` opens N sessions. */
#include <libsecret/secret.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const SecretSchema schema = {
    "org.example.Test",
    SECRET_SCHEMA_NONE,
    {{"number", SECRET_SCHEMA_ATTRIBUTE_INTEGER}, {"name", SECRET_SCHEMA_ATTRIBUTE_STRING}, {NULL, 0}},
    0,
    0,
    0,
    0,
    0,
    0,
    0,
    0};
static const SecretSchema any_name = {
    "org.example.Other",
    SECRET_SCHEMA_DONT_MATCH_NAME,
    {{"number", SECRET_SCHEMA_ATTRIBUTE_INTEGER}, {"name", SECRET_SCHEMA_ATTRIBUTE_STRING}, {NULL, 0}},
    0,
    0,
    0,
    0,
    0,
    0,
    0,
    0};

static void check(GError *error, const char *what) {
    if (error == NULL)
        return;
    printf("%s: %s\n", what, error->message);
    exit(1);
}

static void look(const SecretSchema *by) {
    GError *error = NULL;
    gchar *found = secret_password_lookup_sync(by, NULL, &error, "number", 7, "name", "ann", NULL);
    check(error, "lookup");
    printf("lookup: %s\n", found == NULL ? "nothing" : found);
    secret_password_free(found);
}

static void stored(GObject *source, GAsyncResult *result, gpointer loop) {
    (void)source;
    GError *error = NULL;
    secret_password_store_finish(result, &error);
    check(error, "store in the background");
    g_main_loop_quit(loop);
}

static void simple(void) {
    GError *error = NULL;
    secret_password_store_sync(&schema, SECRET_COLLECTION_DEFAULT, "label", "first", NULL, &error, "number",
                               7, "name", "ann", NULL);
    check(error, "store");
    look(&schema);
    look(&any_name);
    GMainLoop *loop = g_main_loop_new(NULL, FALSE);
    secret_password_store(&schema, SECRET_COLLECTION_DEFAULT, "label", "second", NULL, stored, loop, "number",
                          7, "name", "ann", NULL);
    g_main_loop_run(loop);
    g_main_loop_unref(loop);
    look(&schema);
    secret_password_store_sync(&schema, SECRET_COLLECTION_SESSION, "label", "volatile", NULL, &error,
                               "number", 8, "name", "ann", NULL);
    check(error, "store in the session collection");
    gchar *found = secret_password_lookup_sync(&schema, NULL, &error, "number", 8, NULL);
    check(error, "lookup in the session collection");
    printf("session: %s\n", found);
    secret_password_free(found);
}

static void full(void) {
    GError *error = NULL;
    SecretService *service =
        secret_service_get_sync(SECRET_SERVICE_OPEN_SESSION | SECRET_SERVICE_LOAD_COLLECTIONS, NULL, &error);
    check(error, "service");
    SecretCollection *collection = secret_collection_for_alias_sync(
        service, SECRET_COLLECTION_DEFAULT, SECRET_COLLECTION_LOAD_ITEMS, NULL, &error);
    check(error, "collection");
    printf("collection: %s, locked %d\n", secret_collection_get_label(collection),
           secret_collection_get_locked(collection));
    GHashTable *attributes = secret_attributes_build(&schema, "number", 9, "name", "bob", NULL);
    SecretValue *value = secret_value_new("a\0b", 3, "application/octet-stream");
    SecretItem *item = secret_item_create_sync(collection, &schema, attributes, "an item", value,
                                               SECRET_ITEM_CREATE_REPLACE, NULL, &error);
    check(error, "create");
    secret_value_unref(value);
    secret_item_load_secret_sync(item, NULL, &error);
    check(error, "load");
    value = secret_item_get_secret(item);
    gsize length = 0;
    const gchar *bytes = secret_value_get(value, &length);
    printf("item: %s, %d bytes, %d\n", secret_item_get_label(item), (int)length, memcmp(bytes, "a\0b", 3));
    secret_value_unref(value);
    secret_item_set_label_sync(item, "another label", NULL, &error);
    check(error, "label");
    GList *found = secret_service_search_sync(
        service, &schema, attributes, SECRET_SEARCH_ALL | SECRET_SEARCH_UNLOCK | SECRET_SEARCH_LOAD_SECRETS,
        NULL, &error);
    check(error, "search");
    printf("found: %u, %s\n", g_list_length(found), found == NULL ? "" : secret_item_get_label(found->data));
    g_list_free_full(found, g_object_unref);
    secret_item_delete_sync(item, NULL, &error);
    check(error, "delete");
    printf("cleared: %d\n", secret_password_clear_sync(&schema, NULL, &error, "number", 7, NULL));
    check(error, "clear");
    look(&schema);
    g_hash_table_unref(attributes);
    g_object_unref(item);
    g_object_unref(collection);
    g_object_unref(service);
}

static int sessions(int count) {
    for (int i = 0; i < count; i++) {
        GError *error = NULL;
        secret_password_store_sync(&schema, SECRET_COLLECTION_SESSION, "label", "value", NULL, &error,
                                   "number", 1, NULL);
        check(error, "store");
        gchar *found = secret_password_lookup_sync(&schema, NULL, &error, "number", 1, NULL);
        check(error, "lookup");
        if (found == NULL || strcmp(found, "value") != 0)
            return 1;
        secret_password_free(found);
        secret_service_disconnect();
    }
    printf("%d sessions\n", count);
    return 0;
}

int main(int argc, char **argv) {
    if (argc == 3 && strcmp(argv[1], "sessions") == 0)
        return sessions(atoi(argv[2]));
    simple();
    full();
    printf("done\n");
    return 0;
}
