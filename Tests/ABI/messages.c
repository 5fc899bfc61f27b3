/* SPDX-License-Identifier: Apache-2.0 */
/* The messages, each with its hint, that only a program in C provokes, word for word: wrong arguments,
 * callbacks that fail, and fork(). The vault has the password "horse". */
#define _GNU_SOURCE
#include "store_test.h"
#include "vault_lock.h"
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

static tokenkeep_store *store;

/* The status and the text of the error: the message, and its hint. */
#define CHECK_ERROR(expected, text, call)                                                                    \
    do {                                                                                                     \
        tokenkeep_error *error = NULL;                                                                       \
        CHECK_NUMBER(expected, call);                                                                        \
        CHECK_TEXT(text, tokenkeep_error_message(error));                                                    \
        tokenkeep_error_free(error);                                                                         \
    } while (0)

static tokenkeep_status open_with(const tokenkeep_open_options *options, tokenkeep_error **error) {
    tokenkeep_store *opened = NULL;
    tokenkeep_status status = tokenkeep_open(options, &opened, error);
    tokenkeep_close(opened);
    return status;
}

static tokenkeep_status save_with(const tokenkeep_save_options *options, tokenkeep_error **error) {
    return tokenkeep_save(store, "messages", "ann", "x", 1, options, error);
}

static void arguments(void) {
    tokenkeep_item *item = NULL;
    char longer[TOKENKEEP_MAX_SERVICE + 2];
    memset(longer, 'x', sizeof longer - 1);
    longer[sizeof longer - 1] = 0;
    CHECK_ERROR(TOKENKEEP_INVALID, "the store is NULL", tokenkeep_load(NULL, "s", "a", &item, &error));
    CHECK_ERROR(TOKENKEEP_INVALID, "the service is NULL", tokenkeep_load(store, NULL, "a", &item, &error));
    CHECK_ERROR(TOKENKEEP_INVALID, "the service is longer than 255 bytes",
                tokenkeep_load(store, longer, "a", &item, &error));
    CHECK_ERROR(TOKENKEEP_INVALID, "the account is not valid UTF-8",
                tokenkeep_load(store, "s", "\xff", &item, &error));
    CHECK_ERROR(TOKENKEEP_INVALID, "the secret is NULL but its length is 7",
                tokenkeep_save(store, "s", "a", NULL, 7, NULL, &error));
    CHECK_ERROR(TOKENKEEP_INVALID, "the secret is longer than 1048576 bytes",
                tokenkeep_save(store, "s", "a", "x", SIZE_MAX, NULL, &error));
    CHECK_ERROR(TOKENKEEP_INVALID, "0 is no version of a loaded item",
                tokenkeep_clear_if(store, "s", "a", 0, &error));
}

static void structures(void) {
    struct {
        tokenkeep_save_options known;
        uint64_t unknown;
    } newer = {TOKENKEEP_SAVE_OPTIONS_INIT, 1};
    tokenkeep_save_options options = TOKENKEEP_SAVE_OPTIONS_INIT;
    tokenkeep_open_options open_options = TOKENKEEP_OPEN_OPTIONS_INIT;
    char text[128];
    snprintf(text, sizeof text, "struct_size of the %s is 7; set it to the size of the structure, %zu",
             "save options", sizeof options);
    options.struct_size = 7;
    CHECK_ERROR(TOKENKEEP_INVALID, text, save_with(&options, &error));
    newer.known.struct_size = sizeof newer;
    CHECK_ERROR(TOKENKEEP_UNSUPPORTED,
                "the save options set a field that this version does not know; update TokenKeep",
                save_with(&newer.known, &error));
    options = (tokenkeep_save_options)TOKENKEEP_SAVE_OPTIONS_INIT;
    options.flags = 1u << 20;
    CHECK_ERROR(TOKENKEEP_UNSUPPORTED, "flags of the save options: this version does not know 1048576",
                save_with(&options, &error));
    options.flags = 0;
    options.accessibility = 7;
    CHECK_ERROR(TOKENKEEP_INVALID, "accessibility 7 is no level; the levels are 1 to 6",
                save_with(&options, &error));
    options.accessibility = 0;
    options.flags = TOKENKEEP_IF_ABSENT;
    options.expected_version = 1;
    CHECK_ERROR(TOKENKEEP_INVALID, "TOKENKEEP_IF_ABSENT and expected_version exclude each other",
                save_with(&options, &error));
    options = (tokenkeep_save_options)TOKENKEEP_SAVE_OPTIONS_INIT;
    options.attribute_count = 33;
    CHECK_ERROR(TOKENKEEP_INVALID, "attribute_count is more than 32", save_with(&options, &error));
    options.attribute_count = 1;
    CHECK_ERROR(TOKENKEEP_INVALID, "the array of attributes is NULL", save_with(&options, &error));
    open_options.stack = "default";
    open_options.stack_text = "any required vault";
    CHECK_ERROR(TOKENKEEP_INVALID, "both stack and stack_text are given", open_with(&open_options, &error));
}

static tokenkeep_status dismiss(void *data, const tokenkeep_prompt *prompt, char *answer, size_t capacity,
                                size_t *length) {
    (void)data, (void)prompt, (void)answer, (void)capacity, (void)length;
    return TOKENKEEP_CANCELLED;
}

static tokenkeep_status answer_too_much(void *data, const tokenkeep_prompt *prompt, char *answer,
                                        size_t capacity, size_t *length) {
    (void)data, (void)prompt, (void)answer;
    *length = capacity + 1;
    return TOKENKEEP_OK;
}

static tokenkeep_status load_asking(tokenkeep_prompt_fn prompt, tokenkeep_error **error) {
    tokenkeep_open_options options = TOKENKEEP_OPEN_OPTIONS_INIT;
    tokenkeep_store *opened = NULL;
    tokenkeep_item *item = NULL;
    options.flags = TOKENKEEP_INTERACTIVE;
    options.prompt = prompt;
    if (!CHECK_NUMBER(TOKENKEEP_OK, tokenkeep_open(&options, &opened, NULL)))
        return TOKENKEEP_INTERNAL;
    tokenkeep_status status = tokenkeep_load(opened, "messages", "ann", &item, error);
    tokenkeep_item_free(item);
    tokenkeep_close(opened);
    return status;
}

static void prompts(void) {
    CHECK_NUMBER(TOKENKEEP_OK, save_with(NULL, NULL));
    CHECK_NUMBER(TOKENKEEP_OK, tokenkeep_lock(store, NULL));
    CHECK_ERROR(TOKENKEEP_CANCELLED, "the prompt for messages (ann) was dismissed",
                load_asking(dismiss, &error));
    CHECK_ERROR(TOKENKEEP_INVALID, "the answer to a prompt is longer than 4096 bytes",
                load_asking(answer_too_much, &error));
    CHECK_NUMBER(TOKENKEEP_OK, tokenkeep_unlock(store, "horse", 5, NULL));
}

static struct {
    tokenkeep_status status;
    uint32_t http;
    const char *body;
} server;

static tokenkeep_status ask_server(void *data, const tokenkeep_http_request *request,
                                   tokenkeep_http_response *response) {
    (void)data, (void)request;
    tokenkeep_http_response_status(response, server.http);
    tokenkeep_http_response_append(response, server.body, strlen(server.body));
    return server.status;
}

static tokenkeep_status open_account(const char *account, uint32_t rotation, uint32_t refresh_level,
                                     tokenkeep_session **session, tokenkeep_error **error) {
    tokenkeep_session_options options = TOKENKEEP_SESSION_OPTIONS_INIT;
    options.http = ask_server;
    options.rotation = rotation;
    options.refresh_accessibility = refresh_level;
    return tokenkeep_session_open(store, "api", account, &options, session, error);
}

static tokenkeep_session *session_of(const char *account) {
    tokenkeep_session *session = NULL;
    CHECK_NUMBER(TOKENKEEP_OK, open_account(account, 0, 0, &session, NULL));
    return session;
}

static tokenkeep_status begin(tokenkeep_session *session, uint32_t kind, const char *response,
                              tokenkeep_error **error) {
    return tokenkeep_session_begin(session, kind, response, strlen(response), error);
}

/* Asks for a token while the server answers so. */
static tokenkeep_status refresh(tokenkeep_session *session, tokenkeep_status status, uint32_t http,
                                const char *body, tokenkeep_error **error) {
    tokenkeep_token *token = NULL;
    server.status = status;
    server.http = http;
    server.body = body;
    tokenkeep_status result = tokenkeep_session_refresh(session, &token, error);
    tokenkeep_token_free(token);
    return result;
}

static tokenkeep_status token_for(tokenkeep_session *session, const char *resource, const char *scope,
                                  tokenkeep_error **error) {
    tokenkeep_token *token = NULL;
    tokenkeep_status status = tokenkeep_session_token_for(session, resource, scope, 0, &token, error);
    tokenkeep_token_free(token);
    return status;
}

static const char renewable[] = "{\"access_token\":\"a\",\"expires_in\":3600,\"refresh_token\":\"r\"}";

static void arguments_of_sessions(void) {
    tokenkeep_session *session = session_of("ann"), *other = NULL;
    static char profile[65600], response[262200];
    CHECK_ERROR(TOKENKEEP_INVALID, "rotation 3 is no profile; the profiles are 0 to 2",
                open_account("ann", 3, 0, &other, &error));
    CHECK_ERROR(TOKENKEEP_INVALID, "kind 3 is no kind of session; 1 is a user, 2 a guest",
                begin(session, 3, renewable, &error));
    CHECK_ERROR(TOKENKEEP_INVALID, "expires_in is less than -1",
                tokenkeep_session_hydrate(session, "a", "r", -2, &error));
    CHECK_ERROR(TOKENKEEP_INVALID, "both tokens must be given, without control characters",
                tokenkeep_session_hydrate(session, "a", "r\n", 60, &error));
    CHECK_NUMBER(TOKENKEEP_OK, open_account("eve", 0, TOKENKEEP_MEMORY_ONLY, &other, NULL));
    CHECK_ERROR(TOKENKEEP_INVALID, "the refresh token of a session cannot be memory-only",
                begin(other, 1, renewable, &error));
    tokenkeep_session_close(other);
    CHECK_NUMBER(TOKENKEEP_OK, begin(session, 1, renewable, NULL));
    CHECK_ERROR(TOKENKEEP_INVALID, "neither a resource nor a scope is given",
                token_for(session, NULL, NULL, &error));
    CHECK_ERROR(TOKENKEEP_INVALID, "the resource is no absolute URI; as in https://api.example.com",
                token_for(session, "files", NULL, &error));
    CHECK_ERROR(TOKENKEEP_INVALID, "the scope is no list of scopes; as in \"read write\"",
                token_for(session, NULL, "a\"b", &error));
    CHECK_ERROR(TOKENKEEP_INVALID, "the profile is not a JSON object",
                tokenkeep_session_set_profile(session, "no", 2, &error));
    CHECK_ERROR(TOKENKEEP_INVALID, "the profile is longer than 64 KiB",
                tokenkeep_session_set_profile(session, profile, sizeof profile, &error));
    CHECK_ERROR(TOKENKEEP_INVALID, "the token response is longer than 256 KiB",
                tokenkeep_session_begin(session, 1, response, sizeof response, &error));
    tokenkeep_session_close(session);
}

static void answers_of_sessions(void) {
    tokenkeep_session *session = session_of("ann"), *guest = session_of("guest");
    tokenkeep_session_info *info = NULL;
    tokenkeep_item *profile = NULL;
    CHECK_ERROR(TOKENKEEP_NOT_FOUND, "the session of api (ann) has no profile",
                tokenkeep_session_profile(session, &profile, &error));
    CHECK_NUMBER(TOKENKEEP_OK, tokenkeep_session_next(session, &info, NULL));
    tokenkeep_session_info_free(info);
    CHECK_ERROR(TOKENKEEP_NOT_FOUND, "nothing has changed", tokenkeep_session_next(session, &info, &error));
    CHECK_ERROR(TOKENKEEP_UNAVAILABLE, "the application sent nothing; check the network",
                refresh(session, TOKENKEEP_UNAVAILABLE, 0, "", &error));
    CHECK_ERROR(TOKENKEEP_UNAVAILABLE,
                "the session was not renewed: the application got no answer (status 14)",
                refresh(session, TOKENKEEP_IO, 0, "", &error));
    CHECK_NUMBER(TOKENKEEP_OK, begin(guest, TOKENKEEP_SESSION_GUEST, "{\"access_token\":\"g\"}", NULL));
    CHECK_ERROR(TOKENKEEP_UNSUPPORTED,
                "the session of api (guest) cannot be renewed: it is a guest's; the present token is valid: "
                "tokenkeep session token",
                refresh(guest, TOKENKEEP_OK, 200, renewable, &error));
    tokenkeep_session_close(guest);
    tokenkeep_session_close(session);
}

/* A provider whose file names a command, which the library does not run. */
static void a_provider_with_a_command(void) {
    tokenkeep_session_options options = TOKENKEEP_SESSION_OPTIONS_INIT;
    tokenkeep_session *session = NULL;
    char path[4096], text[4200];
    snprintf(path, sizeof path, "%s/tokenkeep/providers.d", getenv("XDG_CONFIG_HOME"));
    CHECK_NUMBER(0, mkdir(path, 0755));
    strncat(path, "/command.conf", sizeof path - strlen(path) - 1);
    FILE *file = fopen(path, "w");
    CHECK(file != NULL && fputs("exec = cat\n", file) >= 0 && fclose(file) == 0);
    options.provider = "command";
    CHECK_NUMBER(TOKENKEEP_OK, tokenkeep_session_open(store, "api", "cyd", &options, &session, NULL));
    CHECK_NUMBER(TOKENKEEP_OK, begin(session, 1, renewable, NULL));
    snprintf(text, sizeof text, "%s asks by a command, which only the program tokenkeep runs", path);
    CHECK_ERROR(TOKENKEEP_UNSUPPORTED, text, refresh(session, TOKENKEEP_OK, 200, "", &error));
    tokenkeep_session_close(session);
    unlink(path);
}

static tokenkeep_status end_the_login(void *data, const tokenkeep_login_step *step, char *answer,
                                      size_t capacity, size_t *length) {
    (void)data, (void)step, (void)answer, (void)capacity, (void)length;
    return TOKENKEEP_IO;
}

static tokenkeep_status paste_too_much(void *data, const tokenkeep_login_step *step, char *answer,
                                       size_t capacity, size_t *length) {
    (void)data, (void)step, (void)answer;
    *length = capacity + 1;
    return TOKENKEEP_OK;
}

static tokenkeep_status login(uint32_t flow, tokenkeep_login_fn show, tokenkeep_error **error) {
    tokenkeep_login_options options = TOKENKEEP_LOGIN_OPTIONS_INIT;
    tokenkeep_session *session = NULL;
    options.provider = "paste";
    options.flow = flow;
    options.show = show;
    return tokenkeep_login(store, "api", "eve", &options, &session, error);
}

static void logins(void) {
    char path[4096];
    snprintf(path, sizeof path, "%s/tokenkeep/providers.d/paste.conf", getenv("XDG_CONFIG_HOME"));
    FILE *file = fopen(path, "w");
    CHECK(file != NULL &&
          fputs("client_id = me\nauthorization_endpoint = https://login.example.com/a\n"
                "token_endpoint = http://127.0.0.1:1/t\n",
                file) >= 0 &&
          fclose(file) == 0);
    CHECK_ERROR(TOKENKEEP_INVALID, "flow 4 is no way of signing in; the flows are 0 to 3",
                login(4, end_the_login, &error));
    CHECK_ERROR(TOKENKEEP_CANCELLED, "the application ended the sign-in (status 14)",
                login(TOKENKEEP_LOGIN_PASTE, end_the_login, &error));
    CHECK_ERROR(TOKENKEEP_INVALID, "the pasted address is longer than 16384 bytes",
                login(TOKENKEEP_LOGIN_PASTE, paste_too_much, &error));
    unlink(path);
}

static tokenkeep_status claim(const char *jwt, size_t length, const char *name, size_t capacity,
                              tokenkeep_error **error) {
    char value[64];
    return tokenkeep_jwt_claim_unverified(jwt, length, name, value, capacity, &length, error);
}

static void claims(void) {
    const char *jwt = "eyJhbGciOiJub25lIn0.eyJzdWIiOiJhbm4iLCJleHAiOjE4MDAwMDAwMDB9.";
    CHECK_ERROR(TOKENKEEP_INVALID, "the token is longer than 262144 bytes",
                claim(jwt, SIZE_MAX, "sub", 8, &error));
    CHECK_ERROR(TOKENKEEP_UNSUPPORTED, "the token is no JSON Web Token",
                claim("opaque", 6, "sub", 8, &error));
    CHECK_ERROR(TOKENKEEP_NOT_FOUND, "no claim aud", claim(jwt, strlen(jwt), "aud", 8, &error));
    CHECK_ERROR(TOKENKEEP_INVALID, "the claim needs 11 bytes", claim(jwt, strlen(jwt), "exp", 8, &error));
}

static void nothing_has_changed(void) {
    tokenkeep_watch *watch = NULL;
    tokenkeep_event *event = NULL;
    CHECK_NUMBER(TOKENKEEP_OK, tokenkeep_watch_open(store, NULL, &watch, NULL));
    while (tokenkeep_watch_next(watch, &event, NULL) == TOKENKEEP_OK)
        tokenkeep_event_free(event);
    CHECK_ERROR(TOKENKEEP_NOT_FOUND, "nothing has changed", tokenkeep_watch_next(watch, &event, &error));
    tokenkeep_watch_close(watch);
}

/* The exit status of a child that runs `body`; it prints its checks that fail. */
static int in_a_child(void (*body)(void)) {
    int status = -1;
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        int before = check_failures_here;
        alarm(CHECK_PATIENCE_S);
        body();
        fflush(stdout);
        _exit(check_failures_here == before ? 0 : 1);
    }
    waitpid(child, &status, 0);
    return status;
}

static tokenkeep_watch *parents_watch;
static tokenkeep_session *parents_session;

static void use_the_parents_objects(void) {
    tokenkeep_item *item = NULL;
    tokenkeep_token *token = NULL;
    tokenkeep_event *event = NULL;
    CHECK_ERROR(TOKENKEEP_FORKED, "the store was opened before fork(); open another one in the child",
                tokenkeep_load(store, "s", "a", &item, &error));
    CHECK_ERROR(TOKENKEEP_FORKED, "the store was opened before fork(); open another one in the child",
                tokenkeep_session_token(parents_session, 0, &token, &error));
    CHECK_ERROR(TOKENKEEP_FORKED, "the watch was opened before fork(); open a store and a watch in the child",
                tokenkeep_watch_next(parents_watch, &event, &error));
}

static void objects_of_the_parent(void) {
    CHECK_NUMBER(TOKENKEEP_OK, tokenkeep_watch_open(store, NULL, &parents_watch, NULL));
    parents_session = session_of("ann");
    CHECK_NUMBER(0, in_a_child(use_the_parents_objects));
    tokenkeep_session_close(parents_session);
    tokenkeep_watch_close(parents_watch);
}

static void *save_behind_a_lock(void *data) {
    *(tokenkeep_status *)data = save_with(NULL, NULL);
    return NULL;
}

static void open_in_a_child(void) {
    CHECK_ERROR(TOKENKEEP_FORKED,
                "another thread was inside the library when this process was forked; fork while no call "
                "runs, or call exec first",
                open_with(NULL, &error));
}

/* A save waits for the vault's lock inside of the library, longer than fork() waits. */
static void a_thread_inside_the_library(void) {
    tokenkeep_status saved = TOKENKEEP_INTERNAL;
    pthread_t thread;
    int lock = hold_lock();
    pthread_create(&thread, NULL, save_behind_a_lock, &saved);
    CHECK(await_waiting(lock, 1));
    CHECK_NUMBER(0, in_a_child(open_in_a_child));
    close(lock);
    pthread_join(thread, NULL);
    CHECK_NUMBER(TOKENKEEP_OK, saved);
}

int main(void) {
    store = open_store();
    CHECK_NUMBER(TOKENKEEP_OK, tokenkeep_unlock(store, "horse", 5, NULL));
    RUN(arguments);
    RUN(structures);
    RUN(prompts);
    RUN(arguments_of_sessions);
    RUN(answers_of_sessions);
    RUN(a_provider_with_a_command);
    RUN(logins);
    RUN(claims);
    RUN(nothing_has_changed);
    RUN(objects_of_the_parent);
    RUN(a_thread_inside_the_library);
    tokenkeep_close(store);
    return check_result();
}
