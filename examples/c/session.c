/*
 * Keeps an access token fresh. The server here is a function; a real one sends the request's body with POST
 * to the request's URL and passes status, headers and body of the answer on.
 *
 *     cc session.c $(pkg-config --cflags --libs tokenkeep) -o session
 */
#include <stdio.h>
#include <string.h>
#include <tokenkeep.h>

static int fail(const tokenkeep_error *error) {
    fprintf(stderr, "%s\n", tokenkeep_error_message(error));
    return 1;
}

/* [server] */
/* TOKENKEEP_UNAVAILABLE would mean: nothing was sent, try again. */
static tokenkeep_status ask_server(void *data, const tokenkeep_http_request *request,
                                   tokenkeep_http_response *response) {
    static const char renewed[] = "{\"access_token\":\"second\",\"token_type\":\"Bearer\",\"expires_in\":"
                                  "3600,\"refresh_token\":\"r2\"}";
    (void)data;
    printf("%s %s\n", tokenkeep_http_request_method(request), tokenkeep_http_request_url(request));
    tokenkeep_http_response_status(response, 200);
    tokenkeep_http_response_append(response, renewed, strlen(renewed));
    return TOKENKEEP_OK;
}
/* [/server] */

int main(void) {
    static const char signed_in[] =
        "{\"access_token\":\"first\",\"token_type\":\"Bearer\",\"expires_in\":0,\"refresh_token\":\"r1\"}";
    tokenkeep_session_options options = TOKENKEEP_SESSION_OPTIONS_INIT;
    tokenkeep_store *store = NULL;
    tokenkeep_session *session = NULL;
    tokenkeep_token *token = NULL;
    tokenkeep_error *error = NULL;

    /* [session] */
    options.refresh_url = "https://login.example.com/token";
    options.client_id = "example";
    options.http = ask_server;
    if (tokenkeep_open(NULL, &store, &error) != TOKENKEEP_OK ||
        tokenkeep_session_open(store, "api.example.com", "ann", &options, &session, &error) != TOKENKEEP_OK ||
        tokenkeep_session_begin(session, TOKENKEEP_SESSION_USER, signed_in, strlen(signed_in), &error) !=
            TOKENKEEP_OK) {
        return fail(error);
    }
    /* Before each call of the API. If the API answers 401: tokenkeep_session_rejected, and once more. */
    if (tokenkeep_session_token(session, 60, &token, &error) != TOKENKEEP_OK) {
        return fail(error);
    }
    printf("Authorization: %s %s\n", tokenkeep_token_type(token), tokenkeep_token_value(token, NULL));
    tokenkeep_token_free(token);
    /* [/session] */
    if (tokenkeep_session_end(session, TOKENKEEP_SESSION_LOCAL_ONLY, NULL, &error) != TOKENKEEP_OK) {
        return fail(error);
    }
    tokenkeep_session_close(session);
    tokenkeep_close(store);
    return 0;
}
