/* SPDX-License-Identifier: Apache-2.0 */
/* Sessions against a server in a directory: number is its present refresh token, requests what it was asked.
 */
#include "sessions.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char service[] = "api.fault.test";

static const char *server_file(const char *name, char path[512]) {
    const char *directory = getenv("FAULT_SERVER");
    snprintf(path, 512, "%s/%s", directory ? directory : ".", name);
    return path;
}

static int read_number(void) {
    char path[512];
    int number = 0;
    FILE *file = fopen(server_file("number", path), "r");
    if (!file || fscanf(file, "%d", &number) != 1)
        number = 1;
    if (file)
        fclose(file);
    return number;
}

static void write_text(const char *name, const char *mode, const char *text) {
    char path[512];
    FILE *file = fopen(server_file(name, path), mode);
    if (!file)
        abort();
    fputs(text, file);
    fclose(file);
}

static int is_rotation(const char *word) {
    const char *rotation = getenv("FAULT_ROTATION");
    return rotation != NULL && strcmp(rotation, word) == 0;
}

/* Whether the server takes a refresh token whose present one is `number`: the present one, with
 * FAULT_ROTATION "overlap" the one before it, too, with "none" the first. */
static int is_accepted(int sent, int number) {
    if (is_rotation("none"))
        return sent == 1;
    return sent == number || (is_rotation("overlap") && sent == number - 1);
}

/* The command FAULT_MEANWHILE runs before the answer. */
static tokenkeep_status ask_server(void *data, const tokenkeep_http_request *request,
                                   tokenkeep_http_response *response) {
    char text[256];
    size_t length = 0;
    const char *token = tokenkeep_http_request_token(request, &length);
    int number = read_number(), sent = 0;
    (void)data;
    snprintf(text, sizeof text, "%s\n", token);
    write_text("requests", "a", text);
    tokenkeep_http_response_status(response, 200);
    if (tokenkeep_http_request_purpose(request) != TOKENKEEP_PURPOSE_REFRESH)
        return TOKENKEEP_OK;
    if (sscanf(token, "refresh-%d", &sent) != 1 || !is_accepted(sent, number)) {
        static const char refusal[] = "{\"error\":\"invalid_grant\"}";
        tokenkeep_http_response_status(response, 400);
        tokenkeep_http_response_append(response, refusal, sizeof refusal - 1);
        return TOKENKEEP_OK;
    }
    snprintf(text, sizeof text, "%d\n", ++number);
    write_text("number", "w", text);
    const char *meanwhile = getenv("FAULT_MEANWHILE");
    if (meanwhile && system(meanwhile) != 0)
        abort();
    snprintf(text, sizeof text,
             is_rotation("none")
                 ? "{\"access_token\":\"access-%d\",\"expires_in\":3600}"
                 : "{\"access_token\":\"access-%d\",\"expires_in\":3600,\"refresh_token\":\"refresh-%d\"}",
             number, number);
    tokenkeep_http_response_append(response, text, strlen(text));
    return TOKENKEEP_OK;
}

static tokenkeep_status open_session(tokenkeep_store *store, const char *account, tokenkeep_session **session,
                                     tokenkeep_error **error) {
    tokenkeep_session_options options = TOKENKEEP_SESSION_OPTIONS_INIT;
    options.http = ask_server;
    options.rotation = is_rotation("overlap") ? TOKENKEEP_ROTATION_OVERLAP
                       : is_rotation("none")  ? TOKENKEEP_ROTATION_NONE
                                              : TOKENKEEP_ROTATION_STRICT;
    options.overlap_s = 600;
    if (getenv("FAULT_APART"))
        options.refresh_accessibility = TOKENKEEP_WHEN_UNLOCKED;
    return tokenkeep_session_open(store, service, account, &options, session, error);
}

tokenkeep_status begin_session(tokenkeep_store *store, const char *account, tokenkeep_error **error) {
    static const char response[] =
        "{\"access_token\":\"access-1\",\"expires_in\":0,\"refresh_token\":\"refresh-1\"}";
    tokenkeep_session *session = NULL;
    tokenkeep_status status = open_session(store, account, &session, error);
    if (status == TOKENKEEP_OK)
        status =
            tokenkeep_session_begin(session, TOKENKEEP_SESSION_USER, response, sizeof response - 1, error);
    tokenkeep_session_close(session);
    return status;
}

tokenkeep_status print_token(tokenkeep_store *store, const char *account, tokenkeep_error **error) {
    tokenkeep_session *session = NULL;
    tokenkeep_token *token = NULL;
    tokenkeep_status status = open_session(store, account, &session, error);
    if (status == TOKENKEEP_OK)
        status = tokenkeep_session_token(session, 0, &token, error);
    if (status == TOKENKEEP_OK)
        printf("%s\n", tokenkeep_token_value(token, NULL));
    tokenkeep_token_free(token);
    tokenkeep_session_close(session);
    return status;
}

tokenkeep_status end_session(tokenkeep_store *store, const char *account, tokenkeep_error **error) {
    tokenkeep_session *session = NULL;
    tokenkeep_status status = open_session(store, account, &session, error);
    if (status == TOKENKEEP_OK)
        status = tokenkeep_session_end(session, 0, NULL, error);
    tokenkeep_session_close(session);
    return status;
}
