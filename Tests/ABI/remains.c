/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Does one thing with a secret, lets go of it, says "ready" and waits for the end of its standard input, so
 * that a core can be taken of it.
 *
 * remains save | load | list | hold | copy | session | hold-session
 * save and session read the secret from standard input, up to a newline. session begins a session with it as
 * access token and refresh token and gets the token; hold-session gets the token and keeps the session open.
 * hold loads it and does not free it; copy keeps a copy in ordinary memory. The two prove that looking finds
 * what is there.
 */
#define _GNU_SOURCE
#include "store_test.h"
#include <sys/prctl.h>
#include <unistd.h>

static char kept[256];

static size_t read_secret(char secret[256]) {
    size_t length = 0;
    while (length < 256 && read(STDIN_FILENO, secret + length, 1) == 1 && secret[length] != '\n') {
        length++;
    }
    return length;
}

static int save_from_input(tokenkeep_store *store) {
    char secret[256];
    size_t length = read_secret(secret);
    tokenkeep_status status = tokenkeep_save(store, "remains", "a", secret, length, NULL, NULL);
    explicit_bzero(secret, sizeof secret);
    return status == TOKENKEEP_OK && length > 0;
}

static int load_secret(tokenkeep_store *store, int copy, int hold) {
    size_t length = 0;
    tokenkeep_item *item = load(store, "remains", "a");
    const void *secret = tokenkeep_item_secret(item, &length);
    if (copy && secret != NULL && length <= sizeof kept) {
        memcpy(kept, secret, length);
    }
    if (!hold) {
        tokenkeep_item_free(item);
    }
    return length > 0;
}

static int list_and_free(tokenkeep_store *store) {
    tokenkeep_items *items = NULL;
    int listed =
        tokenkeep_list(store, NULL, &items, NULL) == TOKENKEEP_OK && tokenkeep_items_count(items) > 0;
    tokenkeep_items_free(items);
    return listed;
}

static tokenkeep_status ask_nobody(void *data, const tokenkeep_http_request *request,
                                   tokenkeep_http_response *response) {
    (void)data;
    (void)request;
    (void)response;
    return TOKENKEEP_UNAVAILABLE;
}

static int use_session(tokenkeep_store *store, int begins) {
    tokenkeep_session_options options = TOKENKEEP_SESSION_OPTIONS_INIT;
    tokenkeep_session *session = NULL;
    tokenkeep_token *token = NULL;
    options.http = ask_nobody;
    tokenkeep_status status = tokenkeep_session_open(store, "session.remains", "a", &options, &session, NULL);
    if (status == TOKENKEEP_OK && begins) {
        char secret[256], response[1024];
        int length = (int)read_secret(secret);
        int written = snprintf(response, sizeof response,
                               "{\"access_token\":\"%.*s\",\"refresh_token\":\"%.*s\",\"expires_in\":3600}",
                               length, secret, length, secret);
        status = tokenkeep_session_begin(session, TOKENKEEP_SESSION_USER, response, (size_t)written, NULL);
        explicit_bzero(secret, sizeof secret);
        explicit_bzero(response, sizeof response);
    }
    if (status == TOKENKEEP_OK)
        status = tokenkeep_session_token(session, 0, &token, NULL);
    tokenkeep_token_free(token);
    if (begins)
        tokenkeep_session_close(session);
    return status == TOKENKEEP_OK;
}

int main(int count, char **arguments) {
    const char *action = count > 1 ? arguments[1] : "";
    tokenkeep_store *store = open_store();
    char byte;
    int done = 0;
    prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY); /* else only a parent may attach, where Yama says so */
    if (strcmp(action, "save") == 0) {
        done = save_from_input(store);
    } else if (strcmp(action, "session") == 0 || strcmp(action, "hold-session") == 0) {
        done = use_session(store, strcmp(action, "session") == 0);
    } else if (strcmp(action, "list") == 0) {
        done = list_and_free(store);
    } else {
        done = load_secret(store, strcmp(action, "copy") == 0, strcmp(action, "hold") == 0);
    }
    tokenkeep_close(store);
    puts(done ? "ready" : "failed");
    fflush(stdout);
    while (read(STDIN_FILENO, &byte, 1) == 1) {
    }
    return !done;
}
