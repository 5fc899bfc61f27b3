/* SPDX-License-Identifier: Apache-2.0 */
/* Sessions: a C program with a callback, bad input, threads, fork. */
#include "store_test.h"
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>
#include <sys/wait.h>
#include <unistd.h>

enum { threads = 8 };

static tokenkeep_store *store;

/* A server that rotates refresh tokens, as the callback sees it. */
static struct {
    pthread_mutex_t mutex;
    int number, requests, revocations, validations;
    tokenkeep_status status;
    const char *answer;
    uint32_t http;
} server = {PTHREAD_MUTEX_INITIALIZER, 1, 0, 0, 0, TOKENKEEP_OK, NULL, 200};

/* Answers a request about the access token `server.number`. */
static tokenkeep_status ask_about_access(const tokenkeep_http_request *request,
                                         tokenkeep_http_response *response) {
    char expected[64];
    const char *name = NULL, *value = NULL;
    size_t length = 1;
    int extends = tokenkeep_http_request_purpose(request) == TOKENKEEP_PURPOSE_EXTEND;
    CHECK_TEXT(extends ? "POST" : "GET", tokenkeep_http_request_method(request));
    CHECK_NUMBER(3, tokenkeep_http_request_header_count(request));
    CHECK(tokenkeep_http_request_header_at(request, 2, &name, &value) == 1);
    CHECK(tokenkeep_http_request_header_at(request, 3, &name, &value) == 0);
    CHECK_TEXT("Authorization", name);
    snprintf(expected, sizeof expected, "Bearer a%d", server.number);
    CHECK_TEXT(expected, value);
    CHECK_TEXT(extends ? "seconds=600" : "", tokenkeep_http_request_body(request, &length));
    CHECK_NUMBER(extends ? strlen("seconds=600") : 0, length);
    server.validations++;
    tokenkeep_http_response_status(response, server.http);
    if (extends)
        tokenkeep_http_response_append(response, "{\"expires_in\":9000}", strlen("{\"expires_in\":9000}"));
    return server.status;
}

static tokenkeep_status ask_server(void *data, const tokenkeep_http_request *request,
                                   tokenkeep_http_response *response) {
    char expected[128], answer[256];
    size_t length = 0;
    const char *token = tokenkeep_http_request_token(request, &length);
    const char *name = NULL, *value = NULL;
    CHECK(token != NULL && length == strlen(token));
    CHECK(data == &server);
    if (tokenkeep_http_request_purpose(request) >= TOKENKEEP_PURPOSE_VALIDATE)
        return ask_about_access(request, response);
    CHECK_TEXT("POST", tokenkeep_http_request_method(request));
    int revokes = tokenkeep_http_request_purpose(request) == TOKENKEEP_PURPOSE_REVOKE;
    CHECK_TEXT(revokes ? NULL : "https://example.com/token", tokenkeep_http_request_url(request));
    CHECK_NUMBER(2, tokenkeep_http_request_header_count(request));
    CHECK(tokenkeep_http_request_header_at(request, 0, &name, &value) == 1);
    CHECK_TEXT("application/x-www-form-urlencoded", value);
    CHECK(tokenkeep_http_request_header_at(request, 2, &name, &value) == 0);
    pthread_mutex_lock(&server.mutex);
    if (tokenkeep_http_request_purpose(request) == TOKENKEEP_PURPOSE_REVOKE) {
        server.revocations++;
        tokenkeep_http_response_status(response, 200);
        pthread_mutex_unlock(&server.mutex);
        return TOKENKEEP_OK;
    }
    server.requests++;
    snprintf(expected, sizeof expected, "grant_type=refresh_token&refresh_token=r%%20%d&client_id=me",
             server.number);
    if (!server.answer)
        CHECK_TEXT(expected, tokenkeep_http_request_body(request, &length));
    server.number++;
    snprintf(answer, sizeof answer,
             "{\"access_token\":\"a%d\",\"expires_in\":3600,\"refresh_token\":\"r %d\"}", server.number,
             server.number);
    tokenkeep_http_response_status(response, server.http);
    tokenkeep_http_response_header(response, "Content-Type", "application/json");
    const char *body = server.answer ? server.answer : answer;
    tokenkeep_http_response_append(response, body, 5);
    tokenkeep_http_response_append(response, body + 5, strlen(body) - 5);
    tokenkeep_status status = server.status;
    pthread_mutex_unlock(&server.mutex);
    return status;
}

static tokenkeep_session *open_session(const char *account) {
    tokenkeep_session_options options = TOKENKEEP_SESSION_OPTIONS_INIT;
    tokenkeep_session *session = NULL;
    tokenkeep_error *error = NULL;
    options.refresh_url = "https://example.com/token";
    options.client_id = "me";
    options.http = ask_server;
    options.http_data = &server;
    if (!CHECK_NUMBER(TOKENKEEP_OK, tokenkeep_session_open(store, "api.example.com", account, &options,
                                                           &session, &error))) {
        printf("     no session: %s\n", tokenkeep_error_message(error));
        tokenkeep_error_free(error);
    }
    return session;
}

static void begin(tokenkeep_session *session, int lifetime) {
    char response[256];
    server.number = 1;
    server.requests = 0;
    server.revocations = 0;
    snprintf(response, sizeof response,
             "{\"access_token\":\"a1\",\"expires_in\":%d,\"refresh_token\":\"r 1\",\"scope\":\"read\"}",
             lifetime);
    CHECK_STATUS(TOKENKEEP_OK, tokenkeep_session_begin(session, TOKENKEEP_SESSION_USER, response,
                                                       strlen(response), &error));
}

static int token_is(tokenkeep_session *session, const char *expected) {
    tokenkeep_token *token = NULL;
    size_t length = 0;
    int is_it = CHECK_NUMBER(TOKENKEEP_OK, tokenkeep_session_token(session, 0, &token, NULL)) &&
                CHECK_TEXT(expected, tokenkeep_token_value(token, &length)) &&
                CHECK_NUMBER(strlen(expected), length) && CHECK_TEXT("Bearer", tokenkeep_token_type(token));
    tokenkeep_token_free(token);
    return is_it;
}

static void a_token_is_returned_and_renewed(void) {
    tokenkeep_session *session = open_session("ann");
    tokenkeep_token *token = NULL, *renewed = NULL;
    begin(session, 3600);
    CHECK(token_is(session, "a1"));
    CHECK_NUMBER(0, server.requests);
    CHECK_STATUS(TOKENKEEP_OK, tokenkeep_session_refresh(session, &token, &error));
    CHECK_TEXT("a2", tokenkeep_token_value(token, NULL));
    CHECK_TEXT("read", tokenkeep_token_scope(token));
    CHECK_NUMBER(2, tokenkeep_token_generation(token));
    CHECK(tokenkeep_token_expires_in(token) > 0 && !tokenkeep_token_is_short(token));
    CHECK_STATUS(TOKENKEEP_OK, tokenkeep_session_rejected(session, token, &renewed, &error));
    CHECK_TEXT("a3", tokenkeep_token_value(renewed, NULL));
    tokenkeep_token_free(renewed);
    /* A refused token that is not the present one: no request. */
    CHECK_STATUS(TOKENKEEP_OK, tokenkeep_session_rejected(session, token, &renewed, &error));
    CHECK_TEXT("a3", tokenkeep_token_value(renewed, NULL));
    CHECK_NUMBER(2, server.requests);
    tokenkeep_token_free(renewed);
    tokenkeep_token_free(token);
    tokenkeep_session_close(session);
}

static void *ask(void *data) {
    tokenkeep_session *session = open_session("ann");
    tokenkeep_token *token = NULL;
    (void)data;
    if (CHECK_NUMBER(TOKENKEEP_OK, tokenkeep_session_token(session, 0, &token, NULL)))
        CHECK_TEXT("a2", tokenkeep_token_value(token, NULL));
    tokenkeep_token_free(token);
    tokenkeep_session_close(session);
    return NULL;
}

static void threads_make_one_request(void) {
    pthread_t thread[threads];
    tokenkeep_session *session = open_session("ann");
    begin(session, 0);
    for (int index = 0; index < threads; index++)
        pthread_create(&thread[index], NULL, ask, NULL);
    for (int index = 0; index < threads; index++)
        pthread_join(thread[index], NULL);
    CHECK_NUMBER(1, server.requests);
    tokenkeep_session_close(session);
}

static void states_and_accounts_are_listed(void) {
    tokenkeep_session *ann = open_session("ann"), *bob = open_session("bob"), *active = NULL;
    tokenkeep_session_info *info = NULL;
    tokenkeep_session_infos *infos = NULL;
    begin(ann, 3600);
    begin(bob, 3600);
    CHECK_STATUS(TOKENKEEP_OK, tokenkeep_session_list(store, "api.example.com", &infos, &error));
    CHECK_NUMBER(2, tokenkeep_session_infos_count(infos));
    CHECK_TEXT("ann", tokenkeep_session_info_account(tokenkeep_session_infos_at(infos, 0)));
    CHECK(tokenkeep_session_infos_at(infos, 2) == NULL && tokenkeep_session_infos_problem(infos) == NULL);
    tokenkeep_session_infos_free(infos);
    CHECK_STATUS(TOKENKEEP_OK, tokenkeep_session_switch(store, "api.example.com", "bob", &error));
    CHECK_REFUSED(TOKENKEEP_NOT_FOUND, "ann, bob",
                  tokenkeep_session_switch(store, "api.example.com", "eve", &error));
    active = open_session(NULL);
    CHECK_STATUS(TOKENKEEP_OK, tokenkeep_session_state(active, &info, &error));
    CHECK_TEXT("bob", tokenkeep_session_info_account(info));
    CHECK_TEXT("api.example.com", tokenkeep_session_info_service(info));
    CHECK_NUMBER(TOKENKEEP_STATE_USER, tokenkeep_session_info_state(info));
    CHECK_NUMBER(TOKENKEEP_REASON_NONE, tokenkeep_session_info_reason(info));
    CHECK(tokenkeep_session_info_is_active(info) && tokenkeep_session_info_can_renew(info));
    CHECK(tokenkeep_session_info_expires_at(info) > 0 && tokenkeep_session_info_provider(info) == NULL);
    tokenkeep_session_info_free(info);
    tokenkeep_session_close(active);
    tokenkeep_session_close(bob);
    tokenkeep_session_close(ann);
}

static tokenkeep_status remember(void *data, const char *service, const char *account, uint32_t reason) {
    snprintf(data, 64, "%s %s %u", service, account, reason);
    return TOKENKEEP_OK;
}

static tokenkeep_status fail(void *data, const char *service, const char *account, uint32_t reason) {
    (void)data, (void)service, (void)account, (void)reason;
    return TOKENKEEP_IO;
}

static void a_logout_runs_hooks_and_revokes(void) {
    char seen[64] = "";
    tokenkeep_session *session = open_session("ann");
    tokenkeep_session_report *report = NULL;
    tokenkeep_token *token = NULL;
    begin(session, 3600);
    CHECK_STATUS(TOKENKEEP_OK, tokenkeep_session_on_end(session, "seen", 2, remember, seen, &error));
    CHECK_STATUS(TOKENKEEP_OK, tokenkeep_session_on_end(session, "fails", 1, fail, NULL, &error));
    CHECK_STATUS(TOKENKEEP_OK, tokenkeep_session_end(session, 0, &report, &error));
    CHECK_TEXT("api.example.com ann 1", seen);
    CHECK_NUMBER(3, tokenkeep_session_report_count(report));
    CHECK_TEXT("fails", tokenkeep_session_report_name(report, 0));
    CHECK_NUMBER(TOKENKEEP_RESULT_FAILED, tokenkeep_session_report_result(report, 0));
    CHECK_NUMBER(TOKENKEEP_RESULT_DONE, tokenkeep_session_report_result(report, 1));
    CHECK_TEXT("revocation", tokenkeep_session_report_name(report, 2));
    CHECK_NUMBER(TOKENKEEP_RESULT_DONE, tokenkeep_session_report_result(report, 2));
    CHECK_NUMBER(1, server.revocations);
    tokenkeep_session_report_free(report);
    CHECK_STATUS(TOKENKEEP_NOT_FOUND, tokenkeep_session_token(session, 0, &token, &error));
    CHECK_STATUS(TOKENKEEP_OK, tokenkeep_session_end(session, 0, NULL, &error));
    CHECK(token == NULL);
    tokenkeep_session_close(session);
}

static size_t refresh_items(void) {
    tokenkeep_items *items = NULL;
    CHECK_STATUS(TOKENKEEP_OK, tokenkeep_list(store, "org.tokenkeep.session.refresh", &items, &error));
    size_t count = tokenkeep_items_count(items);
    if (count > 0)
        CHECK_NUMBER(TOKENKEEP_WHEN_UNLOCKED, tokenkeep_item_accessibility(tokenkeep_items_at(items, 0)));
    tokenkeep_items_free(items);
    return count;
}

static void a_refresh_token_may_be_an_item_of_its_own(void) {
    tokenkeep_session_options options = TOKENKEEP_SESSION_OPTIONS_INIT;
    tokenkeep_session *session = NULL;
    tokenkeep_token *token = NULL;
    tokenkeep_item *record = NULL;
    options.refresh_url = "https://example.com/token";
    options.client_id = "me";
    options.http = ask_server;
    options.http_data = &server;
    options.refresh_accessibility = TOKENKEEP_WHEN_UNLOCKED;
    CHECK_STATUS(TOKENKEEP_OK, tokenkeep_session_open(store, "apart", "ann", &options, &session, &error));
    begin(session, 0);
    CHECK_NUMBER(1, refresh_items());
    CHECK_STATUS(TOKENKEEP_OK, tokenkeep_load(store, "apart", "ann", &record, &error));
    CHECK(strstr((const char *)tokenkeep_item_secret(record, NULL), "r 1") == NULL);
    tokenkeep_item_free(record);
    CHECK(token_is(session, "a2"));
    CHECK_STATUS(TOKENKEEP_OK, tokenkeep_session_refresh(session, &token, &error));
    CHECK_TEXT("a3", tokenkeep_token_value(token, NULL));
    tokenkeep_token_free(token);
    CHECK_STATUS(TOKENKEEP_OK, tokenkeep_session_end(session, 0, NULL, &error));
    CHECK_NUMBER(1, server.revocations);
    CHECK_NUMBER(0, refresh_items());
    tokenkeep_session_close(session);
    options.refresh_accessibility = TOKENKEEP_MEMORY_ONLY;
    CHECK_STATUS(TOKENKEEP_OK, tokenkeep_session_open(store, "apart", "ann", &options, &session, &error));
    static const char response[] = "{\"access_token\":\"a\",\"refresh_token\":\"r\"}";
    CHECK_REFUSED(TOKENKEEP_INVALID, "memory-only",
                  tokenkeep_session_begin(session, 1, response, sizeof response - 1, &error));
    tokenkeep_session_close(session);
}

static void tokens_that_wait_are_sent_by_an_open_session(void) {
    tokenkeep_session_options silent = TOKENKEEP_SESSION_OPTIONS_INIT;
    tokenkeep_session *session = NULL;
    size_t sent = 9, left = 9;
    begin(session = open_session("ann"), 3600);
    tokenkeep_session_close(session);
    CHECK_STATUS(TOKENKEEP_OK,
                 tokenkeep_session_open(store, "api.example.com", "ann", &silent, &session, &error));
    CHECK_STATUS(TOKENKEEP_OK, tokenkeep_session_end(session, 0, NULL, &error));
    CHECK_STATUS(TOKENKEEP_UNSUPPORTED, tokenkeep_session_flush(store, &sent, &left, &error));
    CHECK(sent == 9 && left == 9);
    tokenkeep_session_close(session);
    session = open_session("bob");
    CHECK_STATUS(TOKENKEEP_OK, tokenkeep_session_flush(store, &sent, &left, &error));
    CHECK_NUMBER(1, sent);
    CHECK_NUMBER(0, left);
    CHECK_NUMBER(1, server.revocations);
    CHECK_STATUS(TOKENKEEP_OK, tokenkeep_session_flush(store, NULL, NULL, &error));
    tokenkeep_session_close(session);
}

static void a_server_that_fails_signs_nobody_out(void) {
    tokenkeep_session *session = open_session("ann");
    tokenkeep_session_info *info = NULL;
    tokenkeep_token *token = NULL;
    begin(session, 0);
    server.http = 500;
    server.answer = "<html></html>";
    CHECK_STATUS(TOKENKEEP_UNAVAILABLE, tokenkeep_session_token(session, 0, &token, &error));
    server.http = 400;
    server.answer = "{\"error\":\"invalid_grant\"}";
    CHECK_STATUS(TOKENKEEP_NEEDS_LOGIN, tokenkeep_session_token(session, 0, &token, &error));
    CHECK_STATUS(TOKENKEEP_NEEDS_LOGIN, tokenkeep_session_token(session, 0, &token, &error));
    CHECK_NUMBER(2, server.requests);
    CHECK_STATUS(TOKENKEEP_OK, tokenkeep_session_state(session, &info, &error));
    CHECK_NUMBER(TOKENKEEP_STATE_NEEDS_LOGIN, tokenkeep_session_info_state(info));
    CHECK_NUMBER(TOKENKEEP_REASON_ROTATION_LOST, tokenkeep_session_info_reason(info));
    tokenkeep_session_info_free(info);
    server.http = 200;
    server.answer = NULL;
    tokenkeep_session_close(session);
}

static void wrong_arguments_are_refused(void) {
    tokenkeep_session *session = open_session("ann"), *other = NULL;
    tokenkeep_session_options options = TOKENKEEP_SESSION_OPTIONS_INIT;
    tokenkeep_token *token = NULL;
    char value[8];
    size_t length = 0;
    CHECK_REFUSED(TOKENKEEP_INVALID, "service",
                  tokenkeep_session_open(store, NULL, "ann", NULL, &other, &error));
    CHECK_REFUSED(TOKENKEEP_INVALID, "store", tokenkeep_session_open(NULL, "s", "ann", NULL, &other, &error));
    CHECK_REFUSED(TOKENKEEP_INVALID, "session",
                  tokenkeep_session_open(store, "s", "ann", NULL, NULL, &error));
    options.rotation = 3;
    CHECK_STATUS(TOKENKEEP_INVALID, tokenkeep_session_open(store, "s", "ann", &options, &other, &error));
    options.rotation = 0;
    options.flags = 2;
    CHECK_STATUS(TOKENKEEP_UNSUPPORTED, tokenkeep_session_open(store, "s", "ann", &options, &other, &error));
    options.flags = 0;
    options.refresh_accessibility = 7;
    CHECK_STATUS(TOKENKEEP_INVALID, tokenkeep_session_open(store, "s", "ann", &options, &other, &error));
    CHECK(other == NULL);
    CHECK_REFUSED(TOKENKEEP_INVALID, "store", tokenkeep_session_flush(NULL, &length, &length, &error));
    CHECK_REFUSED(TOKENKEEP_INVALID, "kind", tokenkeep_session_begin(session, 3, "{}", 2, &error));
    CHECK_REFUSED(TOKENKEEP_INVALID, "access_token", tokenkeep_session_begin(session, 1, "{}", 2, &error));
    CHECK_STATUS(TOKENKEEP_INVALID, tokenkeep_session_begin(session, 1, NULL, 5, &error));
    CHECK_STATUS(TOKENKEEP_INVALID, tokenkeep_session_hydrate(session, "a", NULL, 60, &error));
    CHECK_STATUS(TOKENKEEP_INVALID, tokenkeep_session_hydrate(session, "a", "", 60, &error));
    CHECK_STATUS(TOKENKEEP_INVALID, tokenkeep_session_hydrate(session, "a", "r", -2, &error));
    CHECK_STATUS(TOKENKEEP_INVALID, tokenkeep_session_token(session, 0, NULL, &error));
    CHECK_STATUS(TOKENKEEP_INVALID, tokenkeep_session_token(NULL, 0, &token, &error));
    CHECK_STATUS(TOKENKEEP_INVALID, tokenkeep_session_rejected(session, NULL, &token, &error));
    CHECK_STATUS(TOKENKEEP_UNSUPPORTED, tokenkeep_session_end(session, 2, NULL, &error));
    CHECK_STATUS(TOKENKEEP_INVALID, tokenkeep_session_on_end(session, "hook", 0, NULL, NULL, &error));
    CHECK_STATUS(TOKENKEEP_UNSUPPORTED,
                 tokenkeep_jwt_claim_unverified("opaque", 6, "sub", value, sizeof value, &length, &error));
    const char *jwt = "eyJhbGciOiJub25lIn0.eyJzdWIiOiJhbm4iLCJleHAiOjE4MDAwMDAwMDB9.";
    CHECK_STATUS(TOKENKEEP_OK, tokenkeep_jwt_claim_unverified(jwt, strlen(jwt), "sub", value, sizeof value,
                                                              &length, &error));
    CHECK_TEXT("ann", value);
    CHECK_NUMBER(3, length);
    CHECK_REFUSED(
        TOKENKEEP_INVALID, "11 bytes",
        tokenkeep_jwt_claim_unverified(jwt, strlen(jwt), "exp", value, sizeof value, &length, &error));
    CHECK_STATUS(TOKENKEEP_NOT_FOUND, tokenkeep_jwt_claim_unverified(jwt, strlen(jwt), "aud", value,
                                                                     sizeof value, &length, &error));
    tokenkeep_session_close(session);
}

static void null_objects_answer_nothing(void) {
    CHECK(tokenkeep_token_value(NULL, NULL) == NULL && tokenkeep_token_expires_in(NULL) == 0);
    CHECK(tokenkeep_session_info_service(NULL) == NULL && tokenkeep_session_info_state(NULL) == 0);
    CHECK(tokenkeep_session_infos_count(NULL) == 0 && tokenkeep_session_infos_at(NULL, 0) == NULL);
    CHECK(tokenkeep_session_report_count(NULL) == 0 && tokenkeep_session_report_name(NULL, 0) == NULL);
    CHECK(tokenkeep_http_request_body(NULL, NULL) == NULL && tokenkeep_http_request_header_count(NULL) == 0);
    tokenkeep_http_response_status(NULL, 200);
    tokenkeep_http_response_header(NULL, NULL, NULL);
    tokenkeep_http_response_append(NULL, NULL, 7);
    tokenkeep_session_close(NULL);
    tokenkeep_token_free(NULL);
    tokenkeep_session_info_free(NULL);
    tokenkeep_session_infos_free(NULL);
    tokenkeep_session_report_free(NULL);
}

static void a_profile_is_kept(void) {
    tokenkeep_session *session = open_session("ann");
    tokenkeep_item *profile = NULL;
    begin(session, 3600);
    CHECK_STATUS(TOKENKEEP_NOT_FOUND, tokenkeep_session_profile(session, &profile, &error));
    CHECK_STATUS(TOKENKEEP_INVALID, tokenkeep_session_set_profile(session, "no", 2, &error));
    CHECK_STATUS(TOKENKEEP_OK, tokenkeep_session_set_profile(session, "{\"n\":1}", 7, &error));
    CHECK_STATUS(TOKENKEEP_OK, tokenkeep_session_profile(session, &profile, &error));
    CHECK_TEXT("{\"n\":1}", (const char *)tokenkeep_item_secret(profile, NULL));
    tokenkeep_item_free(profile);
    tokenkeep_session_close(session);
}

static void a_child_may_not_use_the_handle(void) {
    tokenkeep_session *session = open_session("ann");
    begin(session, 3600);
    CHECK(token_is(session, "a1"));
    pid_t child = fork();
    if (child == 0) {
        tokenkeep_token *token = NULL;
        _exit(tokenkeep_session_token(session, 0, &token, NULL) == TOKENKEEP_FORKED ? 0 : 1);
    }
    int status = -1;
    waitpid(child, &status, 0);
    CHECK_NUMBER(0, status);
    tokenkeep_session_close(session);
}

static void changes_wake_a_program(void) {
    tokenkeep_session *session = open_session("watched"), *other = open_session("watched");
    tokenkeep_session_info *info = NULL;
    int fd = tokenkeep_session_fd(session);
    CHECK(fd >= 0 && tokenkeep_session_fd(session) == fd && tokenkeep_session_fd(NULL) == -1);
    struct pollfd wait = {fd, POLLIN, 0};
    CHECK_STATUS(TOKENKEEP_OK, tokenkeep_session_next(session, &info, &error));
    CHECK_NUMBER(TOKENKEEP_STATE_SIGNED_OUT, tokenkeep_session_info_state(info));
    tokenkeep_session_info_free(info);
    CHECK_STATUS(TOKENKEEP_NOT_FOUND, tokenkeep_session_next(session, &info, &error));
    begin(other, 3600);
    CHECK_NUMBER(1, poll(&wait, 1, CHECK_PATIENCE_S * 1000));
    CHECK_STATUS(TOKENKEEP_OK, tokenkeep_session_next(session, &info, &error));
    CHECK_NUMBER(TOKENKEEP_STATE_USER, tokenkeep_session_info_state(info));
    tokenkeep_session_info_free(info);
    CHECK_STATUS(TOKENKEEP_NOT_FOUND, tokenkeep_session_next(session, &info, &error));
    CHECK_NUMBER(0, poll(&wait, 1, 0));
    CHECK_STATUS(TOKENKEEP_INVALID, tokenkeep_session_next(session, NULL, &error));
    CHECK_STATUS(TOKENKEEP_INVALID, tokenkeep_session_next(NULL, &info, &error));
    tokenkeep_session_close(session);
    tokenkeep_session_close(other);
}

static void a_step_renews_what_ends_soon(void) {
    tokenkeep_session *session = open_session("stepping");
    uint32_t next_ms = 0;
    CHECK_STATUS(TOKENKEEP_NOT_FOUND, tokenkeep_session_step(session, &next_ms, &error));
    begin(session, 100);
    int before = server.requests;
    CHECK_STATUS(TOKENKEEP_OK, tokenkeep_session_step(session, &next_ms, &error));
    CHECK_NUMBER(before, server.requests);
    CHECK(next_ms > 60000 && next_ms < 69000);
    begin(session, 0);
    CHECK_STATUS(TOKENKEEP_OK, tokenkeep_session_step(session, &next_ms, &error));
    CHECK_NUMBER(before + 1, server.requests);
    CHECK(next_ms >= 162000 && next_ms <= 198000);
    server.status = TOKENKEEP_UNAVAILABLE;
    CHECK_STATUS(TOKENKEEP_OK, tokenkeep_session_step(session, &next_ms, &error));
    server.status = TOKENKEEP_OK;
    CHECK_STATUS(TOKENKEEP_INVALID, tokenkeep_session_step(session, NULL, &error));
    CHECK_STATUS(TOKENKEEP_INVALID, tokenkeep_session_step(NULL, &next_ms, &error));
    tokenkeep_session_close(session);
}

static void the_server_is_asked_about_a_token(void) {
    tokenkeep_session *session = open_session("asking");
    tokenkeep_session_info *info = NULL;
    tokenkeep_token *token = NULL;
    begin(session, 3600);
    server.validations = 0;
    CHECK_STATUS(TOKENKEEP_OK, tokenkeep_session_validate(session, &error));
    CHECK_NUMBER(1, server.validations);
    CHECK_STATUS(TOKENKEEP_OK, tokenkeep_session_state(session, &info, &error));
    CHECK(llabs(tokenkeep_session_info_validated_at(info) - (int64_t)time(NULL)) < CHECK_PATIENCE_S);
    CHECK_NUMBER(0, tokenkeep_session_info_validated_at(NULL));
    tokenkeep_session_info_free(info);
    CHECK_STATUS(TOKENKEEP_INVALID, tokenkeep_session_extend(session, 299, &error));
    CHECK_STATUS(TOKENKEEP_INVALID, tokenkeep_session_extend(session, 31536001, &error));
    CHECK_NUMBER(1, server.validations);
    CHECK_STATUS(TOKENKEEP_OK, tokenkeep_session_extend(session, 600, &error));
    CHECK_STATUS(TOKENKEEP_OK, tokenkeep_session_token(session, 0, &token, &error));
    CHECK(tokenkeep_token_expires_in(token) > 8900);
    tokenkeep_token_free(token);
    server.http = 403;
    CHECK_STATUS(TOKENKEEP_DENIED, tokenkeep_session_validate(session, &error));
    server.http = 200;
    server.status = TOKENKEEP_IO;
    CHECK_STATUS(TOKENKEEP_UNAVAILABLE, tokenkeep_session_validate(session, &error));
    server.status = TOKENKEEP_OK;
    CHECK_STATUS(TOKENKEEP_INVALID, tokenkeep_session_validate(NULL, &error));
    CHECK_STATUS(TOKENKEEP_INVALID, tokenkeep_session_extend(NULL, 600, &error));
    tokenkeep_session_close(session);
}

static void a_resource_has_a_token_of_its_own(void) {
    tokenkeep_session *session = open_session("several");
    tokenkeep_token *token = NULL, *renewed = NULL;
    const char *files = "https://files.example.com";
    begin(session, 3600);
    server.answer = "{\"access_token\":\"f1\",\"expires_in\":3600,\"refresh_token\":\"r 2\"}";
    CHECK_STATUS(TOKENKEEP_OK, tokenkeep_session_token_for(session, files, "read", 60, &token, &error));
    CHECK_TEXT("f1", tokenkeep_token_value(token, NULL));
    server.answer = "{\"access_token\":\"f2\",\"expires_in\":3600,\"refresh_token\":\"r 3\"}";
    CHECK_STATUS(TOKENKEEP_OK, tokenkeep_session_rejected(session, token, &renewed, &error));
    CHECK_TEXT("f2", tokenkeep_token_value(renewed, NULL));
    CHECK(token_is(session, "a1"));
    CHECK_NUMBER(2, server.requests);
    tokenkeep_token_free(token);
    tokenkeep_token_free(renewed);
    server.answer = NULL;
    CHECK_STATUS(TOKENKEEP_INVALID, tokenkeep_session_token_for(session, NULL, NULL, 0, &token, &error));
    CHECK_STATUS(TOKENKEEP_INVALID, tokenkeep_session_token_for(session, "files", NULL, 0, &token, &error));
    CHECK_STATUS(TOKENKEEP_INVALID, tokenkeep_session_token_for(session, files, "a\"b", 0, &token, &error));
    CHECK_STATUS(TOKENKEEP_INVALID, tokenkeep_session_token_for(session, files, NULL, 0, NULL, &error));
    CHECK_STATUS(TOKENKEEP_INVALID, tokenkeep_session_token_for(NULL, files, NULL, 0, &token, &error));
    tokenkeep_session_close(session);
}

static void the_device_has_one_id(void) {
    char first[37] = "", second[37] = "";
    CHECK_STATUS(TOKENKEEP_INVALID, tokenkeep_device_id(NULL, first, &error));
    CHECK_STATUS(TOKENKEEP_INVALID, tokenkeep_device_id(store, NULL, &error));
    CHECK_STATUS(TOKENKEEP_OK, tokenkeep_device_id(store, first, &error));
    CHECK_STATUS(TOKENKEEP_OK, tokenkeep_device_id(store, second, &error));
    CHECK_NUMBER(36, strlen(first));
    CHECK_NUMBER('4', first[14]);
    CHECK_TEXT(first, second);
}

int main(void) {
    store = open_store();
    RUN(a_token_is_returned_and_renewed);
    RUN(threads_make_one_request);
    RUN(states_and_accounts_are_listed);
    RUN(a_logout_runs_hooks_and_revokes);
    RUN(a_refresh_token_may_be_an_item_of_its_own);
    RUN(tokens_that_wait_are_sent_by_an_open_session);
    RUN(a_server_that_fails_signs_nobody_out);
    RUN(wrong_arguments_are_refused);
    RUN(null_objects_answer_nothing);
    RUN(a_profile_is_kept);
    RUN(a_child_may_not_use_the_handle);
    RUN(the_device_has_one_id);
    RUN(changes_wake_a_program);
    RUN(a_step_renews_what_ends_soon);
    RUN(the_server_is_asked_about_a_token);
    RUN(a_resource_has_a_token_of_its_own);
    tokenkeep_close(store);
    return check_result();
}
