/*
 * Lists what a service has: labels, attributes and dates, without reading a secret.
 *
 *     cc list.c $(pkg-config --cflags --libs tokenkeep) -o list
 */
#include <stdio.h>
#include <string.h>
#include <tokenkeep.h>

static int fail(const tokenkeep_error *error) {
    fprintf(stderr, "%s\n", tokenkeep_error_message(error));
    return 1;
}

static tokenkeep_status save(tokenkeep_store *store, const char *account, const char *client,
                             tokenkeep_error **error) {
    const tokenkeep_attribute attributes[] = {{"client", client}};
    tokenkeep_save_options options = TOKENKEEP_SAVE_OPTIONS_INIT;
    options.attributes = attributes;
    options.attribute_count = 1;
    return tokenkeep_save(store, "example.com", account, "token", strlen("token"), &options, error);
}

int main(void) {
    tokenkeep_store *store = NULL;
    tokenkeep_items *items = NULL;
    tokenkeep_error *error = NULL;
    size_t cleared = 0;

    if (tokenkeep_open(NULL, &store, &error) != TOKENKEEP_OK ||
        save(store, "bob", "laptop", &error) != TOKENKEEP_OK ||
        save(store, "alice", "phone", &error) != TOKENKEEP_OK ||
        tokenkeep_list(store, "example.com", &items, &error) != TOKENKEEP_OK) {
        return fail(error);
    }
    for (size_t index = 0; index < tokenkeep_items_count(items); index++) {
        const tokenkeep_item *item = tokenkeep_items_at(items, index);
        printf("%s, client %s, in %s\n", tokenkeep_item_label(item), tokenkeep_item_attribute(item, "client"),
               tokenkeep_item_module(item));
    }
    /* A list is OK if any module answered. What is missing from it, if anything: */
    if (tokenkeep_items_problem(items) != NULL) {
        printf("incomplete: %s\n", tokenkeep_error_message(tokenkeep_items_problem(items)));
    }
    tokenkeep_items_free(items);

    if (tokenkeep_clear_service(store, "example.com", &cleared, &error) != TOKENKEEP_OK) {
        return fail(error);
    }
    printf("cleared %zu\n", cleared);
    tokenkeep_close(store);
    return 0;
}
