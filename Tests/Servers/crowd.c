/* SPDX-License-Identifier: Apache-2.0 */
/* Four threads that ask for the token at once, for each line of input. Arguments: the command that asks the
 * server, a file for its answer.
 */
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <tokenkeep.h>

enum { THREADS = 4 };

static tokenkeep_session *session;
static char answers[THREADS][512];
static const char *const *arguments;

static tokenkeep_status ask(void *data, const tokenkeep_http_request *request,
                            tokenkeep_http_response *response) {
    char text[4096];
    size_t length = 0;
    (void)data;
    snprintf(text, sizeof text, "'%s' >'%s'", arguments[1], arguments[2]);
    FILE *command = popen(text, "w");
    if (command == NULL)
        return TOKENKEEP_UNAVAILABLE;
    fputs(tokenkeep_http_request_token(request, &length), command);
    if (pclose(command) != 0)
        return TOKENKEEP_IO;
    FILE *file = fopen(arguments[2], "r");
    if (file == NULL)
        return TOKENKEEP_IO;
    length = fread(text, 1, sizeof text, file);
    fclose(file);
    tokenkeep_http_response_status(response, 200);
    tokenkeep_http_response_append(response, text, length);
    return TOKENKEEP_OK;
}

static void *get_token(void *answer) {
    tokenkeep_token *token = NULL;
    tokenkeep_error *error = NULL;
    tokenkeep_status status = tokenkeep_session_token(session, 0, &token, &error);
    snprintf(answer, sizeof answers[0], "%s",
             status == TOKENKEEP_OK ? tokenkeep_token_value(token, NULL) : tokenkeep_error_message(error));
    tokenkeep_token_free(token);
    tokenkeep_error_free(error);
    return NULL;
}

int main(int argc, char **argv) {
    tokenkeep_open_options store_options = TOKENKEEP_OPEN_OPTIONS_INIT;
    tokenkeep_session_options options = TOKENKEEP_SESSION_OPTIONS_INIT;
    tokenkeep_store *store = NULL;
    char line[16];
    arguments = (const char *const *)argv;
    store_options.stack_text = "any required vault";
    options.http = ask;
    if (argc != 3 || tokenkeep_open(&store_options, &store, NULL) != TOKENKEEP_OK ||
        tokenkeep_session_open(store, "api.crowd.test", "ann", &options, &session, NULL) != TOKENKEEP_OK)
        return 2;
    puts("ready");
    fflush(stdout);
    while (fgets(line, sizeof line, stdin)) {
        pthread_t threads[THREADS];
        for (int index = 0; index < THREADS; index++)
            if (pthread_create(&threads[index], NULL, get_token, answers[index]) != 0)
                return 2;
        for (int index = 0; index < THREADS; index++)
            pthread_join(threads[index], NULL);
        printf("%s %s %s %s\n", answers[0], answers[1], answers[2], answers[3]);
        fflush(stdout);
    }
    tokenkeep_session_close(session);
    tokenkeep_close(store);
    return 0;
}
