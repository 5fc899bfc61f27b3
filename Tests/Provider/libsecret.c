/* Uses libsecret's C API as programs do, and prints what it saw. `sessions N` opens N sessions, `collections`
 * makes collections and locks items, for which gnome-keyring would ask. */
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

static void say_error(GError *error, const char *what) {
    printf("%s: %s\n", what, error == NULL ? "no error" : g_dbus_error_get_remote_error(error));
    g_clear_error(&error);
}

static void aliases(SecretService *service, SecretCollection *made) {
    GError *error = NULL;
    SecretCollection *login = secret_collection_for_alias_sync(service, SECRET_COLLECTION_DEFAULT,
                                                               SECRET_COLLECTION_NONE, NULL, &error);
    check(error, "alias");
    secret_service_set_alias_sync(service, SECRET_COLLECTION_DEFAULT, login, NULL, &error);
    check(error, "the alias that is set");
    secret_service_set_alias_sync(service, SECRET_COLLECTION_DEFAULT, made, NULL, &error);
    say_error(error, "another collection");
    error = NULL;
    secret_service_set_alias_sync(service, "other", made, NULL, &error);
    say_error(error, "another alias");
    error = NULL;
    SecretCollection *none =
        secret_collection_for_alias_sync(service, "other", SECRET_COLLECTION_NONE, NULL, &error);
    check(error, "unknown alias");
    SecretCollection *again =
        secret_collection_create_sync(service, "label", SECRET_COLLECTION_DEFAULT, 0, NULL, &error);
    check(error, "create with the alias");
    printf("unknown alias: %p, again: %d, label %s\n", (void *)none,
           strcmp(g_dbus_proxy_get_object_path(G_DBUS_PROXY(again)),
                  g_dbus_proxy_get_object_path(G_DBUS_PROXY(login))),
           secret_collection_get_label(again));
    g_object_unref(again);
    g_object_unref(login);
}

static void locks(SecretService *service, SecretCollection *collection) {
    GError *error = NULL;
    GHashTable *attributes = secret_attributes_build(&schema, "number", 1, NULL);
    SecretValue *value = secret_value_new("v", 1, "text/plain");
    SecretItem *item =
        secret_item_create_sync(collection, &schema, attributes, "item", value, 0, NULL, &error);
    check(error, "create");
    GHashTable *none = g_hash_table_new(g_str_hash, g_str_equal);
    GList *found = secret_service_search_sync(service, NULL, none, SECRET_SEARCH_ALL, NULL, &error);
    check(error, "search without attributes");
    printf("all: %u, ", g_list_length(found));
    g_list_free_full(found, g_object_unref);
    found = secret_collection_search_sync(collection, NULL, none, SECRET_SEARCH_ALL, NULL, &error);
    check(error, "search of a collection without attributes");
    printf("of the collection: %u\n", g_list_length(found));
    g_list_free_full(found, g_object_unref);
    GList one = {item, NULL, NULL};
    GList *changed = NULL;
    int count = secret_service_lock_sync(service, &one, NULL, &changed, &error);
    check(error, "lock of an item");
    secret_item_refresh(item);
    printf("locked: %d %u\n", count, g_list_length(changed));
    g_list_free_full(changed, g_object_unref);
    secret_item_set_secret_sync(item, value, NULL, &error);
    say_error(error, "secret of a locked item");
    error = NULL;
    secret_item_delete_sync(item, NULL, &error);
    say_error(error, "deletion of a locked item");
    error = NULL;
    count = secret_service_unlock_sync(service, &one, NULL, &changed, &error);
    check(error, "unlock of an item");
    printf("unlocked: %d %u\n", count, g_list_length(changed));
    g_list_free_full(changed, g_object_unref);
    secret_item_set_secret_sync(item, value, NULL, &error);
    check(error, "secret of an item");
    g_hash_table_unref(none);
    g_hash_table_unref(attributes);
    secret_value_unref(value);
    g_object_unref(item);
}

static void collections(void) {
    GError *error = NULL;
    SecretService *service = secret_service_get_sync(SECRET_SERVICE_LOAD_COLLECTIONS, NULL, &error);
    check(error, "service");
    SecretCollection *made = secret_collection_create_sync(service, "Made", NULL, 0, NULL, &error);
    check(error, "create a collection");
    aliases(service, made);
    secret_collection_load_items_sync(made, NULL, &error);
    check(error, "load items");
    locks(service, made);
    secret_collection_set_label_sync(made, "Renamed", NULL, &error);
    check(error, "label of a collection");
    secret_collection_refresh(made);
    printf("label: %s\n", secret_collection_get_label(made));
    secret_collection_delete_sync(made, NULL, &error);
    check(error, "delete the collection");
    GHashTable *attributes = secret_attributes_build(&schema, "number", 1, NULL);
    GList *found = secret_service_search_sync(service, &schema, attributes, SECRET_SEARCH_ALL, NULL, &error);
    check(error, "search");
    printf("left: %u\n", g_list_length(found));
    g_hash_table_unref(attributes);
    g_object_unref(made);
    g_object_unref(service);
}

int main(int argc, char **argv) {
    if (argc == 2 && strcmp(argv[1], "collections") == 0) {
        collections();
        return 0;
    }
    if (argc == 3 && strcmp(argv[1], "sessions") == 0)
        return sessions(atoi(argv[2]));
    simple();
    full();
    printf("done\n");
    return 0;
}
