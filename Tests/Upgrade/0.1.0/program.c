/* A function for each group of calls; docs/c-reference.md shows them.
 *
 *     cc tour.c $(pkg-config --cflags --libs tokenkeep) -o tour && ./tour
 */
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <tokenkeep.h>

static const char service[] = "tour.example.com";

/* [errors] */
/* Prints a failure, and frees its error. Returns the status. */
static tokenkeep_status report(tokenkeep_status status, tokenkeep_error **error) {
    if (status == TOKENKEEP_OK)
        return status;
    const char *module = tokenkeep_error_module(*error);
    fprintf(stderr, "%s: %s%s%s\n", tokenkeep_status_name(status), module ? module : "", module ? ": " : "",
            tokenkeep_error_message(*error));
    tokenkeep_error_free(*error);
    *error = NULL;
    return status;
}
/* [/errors] */

/* [items] */
/* Saves an item that is new, and loads it. */
static tokenkeep_status save_and_load(tokenkeep_store *store) {
    tokenkeep_error *error = NULL;
    tokenkeep_item *item = NULL;
    tokenkeep_attribute attributes[] = {{"client", "laptop"}};
    uint64_t version = 0;
    tokenkeep_save_options options = TOKENKEEP_SAVE_OPTIONS_INIT;
    options.flags = TOKENKEEP_IF_ABSENT;
    options.attributes = attributes;
    options.attribute_count = 1;
    options.saved_version = &version;
    tokenkeep_status status = tokenkeep_save(store, service, "ann", "s3cr3t", 6, &options, &error);
    if (status == TOKENKEEP_OK)
        status = tokenkeep_load(store, service, "ann", &item, &error);
    if (status != TOKENKEEP_OK)
        return report(status, &error);
    size_t length = 0;
    const char *secret = tokenkeep_item_secret(item, &length);
    printf("%zu bytes, client %s, the version %s\n", secret ? length : 0,
           tokenkeep_item_attribute(item, "client"),
           version == tokenkeep_item_version(item) ? "is that of the save" : "changed meanwhile");
    tokenkeep_item_free(item); /* wipes the secret */
    return TOKENKEEP_OK;
}
/* [/items] */

/* [lists] */
/* Names the items of a service, and says if the list is incomplete. */
static tokenkeep_status list(tokenkeep_store *store) {
    tokenkeep_error *error = NULL;
    tokenkeep_items *items = NULL;
    tokenkeep_status status = tokenkeep_list(store, service, &items, &error);
    if (status != TOKENKEEP_OK)
        return report(status, &error);
    for (size_t index = 0; index < tokenkeep_items_count(items); index++) {
        const tokenkeep_item *item = tokenkeep_items_at(items, index);
        printf("%s, %s\n", tokenkeep_item_account(item), tokenkeep_item_label(item));
    }
    const tokenkeep_error *problem = tokenkeep_items_problem(items);
    if (problem)
        printf("there may be more: %s\n", tokenkeep_error_message(problem));
    tokenkeep_items_free(items);
    return TOKENKEEP_OK;
}
/* [/lists] */

/* [pending] */
/* Gives every module the changes that it missed. */
static tokenkeep_status drain(tokenkeep_store *store) {
    tokenkeep_error *error = NULL;
    size_t drained = 0, left = 0;
    tokenkeep_status status = tokenkeep_sync(store, &drained, &left, &error);
    if (status == TOKENKEEP_OK)
        printf("%zu drained, %zu still pending\n", drained, left);
    return report(status, &error);
}
/* [/pending] */

/* [password] */
/* Unlocks a vault that has a password. */
static tokenkeep_status unlock(tokenkeep_store *store, const char *password) {
    tokenkeep_error *error = NULL;
    tokenkeep_status status = tokenkeep_unlock(store, password, strlen(password), &error);
    switch (status) {
    case TOKENKEEP_OK:
        puts("unlocked for all programs of the user");
        break;
    case TOKENKEEP_DENIED:
        puts("the password is wrong");
        break;
    case TOKENKEEP_UNSUPPORTED:
        puts("the vault has no password");
        break;
    default:
        return report(status, &error);
    }
    tokenkeep_error_free(error);
    return TOKENKEEP_OK;
}
/* [/password] */

/* [protection] */
/* Asks what protects an item of a level on this machine. */
static tokenkeep_status show_protection(tokenkeep_store *store) {
    tokenkeep_error *error = NULL;
    tokenkeep_protection *protection = NULL;
    tokenkeep_status status =
        tokenkeep_protection_for(store, TOKENKEEP_AFTER_FIRST_UNLOCK, 0, &protection, &error);
    if (status != TOKENKEEP_OK)
        return report(status, &error);
    int enforced =
        tokenkeep_protection_axis(protection, TOKENKEEP_AXIS_OTHER_USER) == TOKENKEEP_PROTECTION_ENFORCED;
    const char *mechanism = tokenkeep_protection_mechanism(protection, TOKENKEEP_AXIS_OTHER_USER);
    printf("against other users: %s\n", enforced && mechanism ? "enforced" : "not enforced");
    tokenkeep_protection_free(protection);
    return TOKENKEEP_OK;
}
/* [/protection] */

/* [watching] */
/* Waits for the changes of a service and names them. */
static tokenkeep_status watch(tokenkeep_store *store) {
    tokenkeep_error *error = NULL;
    tokenkeep_watch *watch = NULL;
    tokenkeep_event *event = NULL;
    tokenkeep_status status = tokenkeep_watch_open(store, service, &watch, &error);
    if (status == TOKENKEEP_OK)
        status = tokenkeep_clear(store, service, "ann", &error); /* as another program might */
    if (status == TOKENKEEP_OK) {
        struct pollfd poller = {tokenkeep_watch_fd(watch), POLLIN, 0};
        do
            poll(&poller, 1, 30000); /* some changes in a Secret Service are seen at the next call alone */
        while ((status = tokenkeep_watch_next(watch, &event, NULL)) == TOKENKEEP_NOT_FOUND);
    }
    if (status == TOKENKEEP_OK) {
        int cleared = tokenkeep_event_kind(event) == TOKENKEEP_EVENT_CLEARED;
        printf("%s: %s\n", cleared ? "cleared" : "changed", tokenkeep_event_account(event));
        tokenkeep_event_free(event);
    }
    tokenkeep_watch_close(watch);
    return report(status, &error);
}
/* [/watching] */

/* [accounts] */
/* Names the accounts that are signed in, with the active one. */
static tokenkeep_status show_accounts(tokenkeep_store *store) {
    tokenkeep_error *error = NULL;
    tokenkeep_session_infos *infos = NULL;
    tokenkeep_status status = tokenkeep_session_switch(store, service, "bob", &error);
    if (status == TOKENKEEP_OK)
        status = tokenkeep_session_list(store, service, &infos, &error);
    if (status != TOKENKEEP_OK)
        return report(status, &error);
    for (size_t index = 0; index < tokenkeep_session_infos_count(infos); index++) {
        const tokenkeep_session_info *info = tokenkeep_session_infos_at(infos, index);
        printf("%s%s\n", tokenkeep_session_info_account(info),
               tokenkeep_session_info_is_active(info) ? ", active" : "");
    }
    tokenkeep_session_infos_free(infos);
    return TOKENKEEP_OK;
}
/* [/accounts] */

/* [logout] */
/* Empties what the application keeps for a user. */
static tokenkeep_status forget_files(void *data, const char *of_service, const char *account,
                                     uint32_t reason) {
    (void)data, (void)of_service, (void)reason;
    printf("files of %s are gone\n", account);
    return TOKENKEEP_OK;
}

/* Signs a user out: here at once, and at the server when it answers. */
static tokenkeep_status sign_out(tokenkeep_store *store, const char *account) {
    tokenkeep_error *error = NULL;
    tokenkeep_session *session = NULL;
    tokenkeep_session_report *report_of_end = NULL;
    tokenkeep_status status = tokenkeep_session_open(store, service, account, NULL, &session, &error);
    if (status == TOKENKEEP_OK)
        status = tokenkeep_session_on_end(session, "files", 1, forget_files, NULL, &error);
    if (status == TOKENKEEP_OK)
        status = tokenkeep_session_end(session, TOKENKEEP_SESSION_LOCAL_ONLY, &report_of_end, &error);
    for (size_t index = 0; index < tokenkeep_session_report_count(report_of_end); index++)
        printf("%s: %s\n", tokenkeep_session_report_name(report_of_end, index),
               tokenkeep_session_report_result(report_of_end, index) == TOKENKEEP_RESULT_DONE ? "done"
                                                                                              : "not yet");
    tokenkeep_session_report_free(report_of_end);
    tokenkeep_session_close(session);
    return report(status, &error);
}
/* [/logout] */

/* [claims] */
/* Reads who a token is for. The signature is not checked: show it, and decide nothing by it. */
static tokenkeep_status show_subject(const char *jwt) {
    tokenkeep_error *error = NULL;
    char subject[256];
    size_t length = 0;
    tokenkeep_status status =
        tokenkeep_jwt_claim_unverified(jwt, strlen(jwt), "sub", subject, sizeof subject, &length, &error);
    if (status == TOKENKEEP_OK)
        printf("the token says %s\n", subject);
    return report(status, &error);
}
/* [/claims] */

/* [device] */
/* Gets the id that a server knows this user on this machine by. */
static tokenkeep_status show_device(tokenkeep_store *store) {
    tokenkeep_error *error = NULL;
    char id[37];
    tokenkeep_status status = tokenkeep_device_id(store, id, &error);
    if (status == TOKENKEEP_OK)
        printf("the device's id has %zu characters\n", strlen(id));
    return report(status, &error);
}
/* [/device] */

/* [store] */
int main(void) {
    tokenkeep_error *error = NULL;
    tokenkeep_store *store = NULL;
    tokenkeep_open_options options = TOKENKEEP_OPEN_OPTIONS_INIT;
    options.timeout_ms = 10000;
    if (report(tokenkeep_open(&options, &store, &error), &error) != TOKENKEEP_OK)
        return 1;
    /* [/store] */
    int failed = save_and_load(store) || list(store) || drain(store) || unlock(store, "a guess") ||
                 show_protection(store) || watch(store) || show_device(store);
    static const char tokens[] = "{\"access_token\":\"first\",\"refresh_token\":\"r1\",\"expires_in\":3600}";
    tokenkeep_session *session = NULL;
    failed =
        failed || report(tokenkeep_session_open(store, service, "bob", NULL, &session, &error), &error) ||
        report(tokenkeep_session_begin(session, TOKENKEEP_SESSION_USER, tokens, sizeof tokens - 1, &error),
               &error);
    tokenkeep_session_close(session);
    failed = failed || show_accounts(store) || sign_out(store, "bob") ||
             show_subject("eyJhbGciOiJub25lIn0.eyJzdWIiOiJib2IifQ.");
    tokenkeep_close(store);
    return failed;
}
