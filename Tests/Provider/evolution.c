/* Keeps a password as Evolution's programs do: stores, replaces, reads and deletes it. */
#include <libedataserver/libedataserver.h>
#include <stdio.h>

static void tell(const char *what, gboolean done, GError *error) {
    printf("%s %d %s\n", what, done, error ? error->message : "");
    g_clear_error(&error);
}

static void look_up(ESource *source) {
    GError *error = NULL;
    char *password = NULL;
    gboolean done = e_source_lookup_password_sync(source, NULL, &password, &error);
    printf("%s ", password ? password : "(none)");
    tell("lookup", done, error);
    e_util_safe_free_string(password);
}

static void store(ESource *source, const char *password, gboolean is_permanent) {
    GError *error = NULL;
    gboolean done = e_source_store_password_sync(source, password, is_permanent, NULL, &error);
    tell("store", done, error);
}

static void use(ESource *source, gboolean is_permanent) {
    store(source, "first", is_permanent);
    store(source, "second \xc3\xa4\n", is_permanent);
    look_up(source);
    GError *error = NULL;
    gboolean done = e_source_delete_password_sync(source, NULL, &error);
    tell("delete", done, error);
    look_up(source);
}

int main(void) {
    GError *error = NULL;
    ESource *source = e_source_new_with_uid("an-account", NULL, &error);
    if (!source) {
        tell("source", FALSE, error);
        return 1;
    }
    use(source, TRUE);
    /* Until the end of the session: in the collection of that name. */
    use(source, FALSE);
    g_object_unref(source);
    return 0;
}
