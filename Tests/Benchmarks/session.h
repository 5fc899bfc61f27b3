/* The tokens of the sessions' benchmarks, and the stack. */
#ifndef SESSION_H
#define SESSION_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tokenkeep.h>

/* The length of a usual JSON Web Token. */
enum { TOKEN_LENGTH = 800, RESPONSE_LENGTH = 1024 };

#define SERVICE "bench.example"
#define ACCOUNT "account-0"

/* The access token with a number: zeros and the number. */
static inline void make_token(char token[TOKEN_LENGTH + 1], int number) {
    snprintf(token, TOKEN_LENGTH + 1, "%0*d", TOKEN_LENGTH, number);
}

/* A server's answer with the access token of that number. */
static inline void make_response(char response[RESPONSE_LENGTH], int number, int lifetime) {
    char token[TOKEN_LENGTH + 1];
    make_token(token, number);
    snprintf(response, RESPONSE_LENGTH,
             "{\"access_token\":\"%s\",\"token_type\":\"Bearer\",\"expires_in\":%d,\"refresh_token\":"
             "\"refresh-%08d\"}",
             token, lifetime, number);
}

/* Prints the error and ends the program if the status is not TOKENKEEP_OK. */
static inline void require(tokenkeep_status status, const tokenkeep_error *error) {
    if (status == TOKENKEEP_OK)
        return;
    fprintf(stderr, "status %d: %s\n", (int)status, error ? tokenkeep_error_message(error) : "");
    exit(1);
}

static inline tokenkeep_store *open_vault(void) {
    tokenkeep_open_options options = TOKENKEEP_OPEN_OPTIONS_INIT;
    tokenkeep_store *store = NULL;
    tokenkeep_error *error = NULL;
    const char *stack = getenv("BENCH_STACK");
    options.stack_text = stack != NULL ? stack : "any required vault";
    require(tokenkeep_open(&options, &store, &error), error);
    return store;
}

static inline tokenkeep_session *open_session(tokenkeep_store *store, const char *account,
                                              tokenkeep_http_fn server) {
    tokenkeep_session_options options = TOKENKEEP_SESSION_OPTIONS_INIT;
    tokenkeep_session *session = NULL;
    tokenkeep_error *error = NULL;
    options.http = server;
    require(tokenkeep_session_open(store, SERVICE, account, &options, &session, &error), error);
    return session;
}

static inline void begin(tokenkeep_session *session, int number, int lifetime) {
    char response[RESPONSE_LENGTH];
    tokenkeep_error *error = NULL;
    make_response(response, number, lifetime);
    require(tokenkeep_session_begin(session, TOKENKEEP_SESSION_USER, response, strlen(response), &error),
            error);
}

#endif
