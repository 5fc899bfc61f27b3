/* SPDX-License-Identifier: Apache-2.0 */
/* Signing in: by browser, device and a pasted address; wrong arguments; a function show that fails. See
 * login.sh. */
#define _GNU_SOURCE
#include "../Support/passed_limits.h"
#include "store_test.h"
#include <unistd.h>

static tokenkeep_store *store;

/* What show saw and does. */
static struct {
    int calls, kinds[4];
    char url[4096], user_code[64];
    tokenkeep_status status;
    /* What is pasted at the first call, and later: NULL for nothing, "" for the address to which the browser
     * goes. */
    const char *first, *later;
    size_t length; /* what the first answer claims to be; 0: the truth */
    int cancels;
} shown;

static void reset(void) {
    memset(&shown, 0, sizeof shown);
}

/* The address to which the server sends a browser that opens the step's address. */
static size_t follow(const char *url, char *answer, size_t capacity) {
    char command[8192];
    snprintf(command, sizeof command, "curl -s -o /dev/null -w '%%{redirect_url}' '%s'", url);
    FILE *output = popen(command, "r");
    size_t length = output ? fread(answer, 1, capacity, output) : 0;
    if (output)
        pclose(output);
    return length;
}

static tokenkeep_status show(void *data, const tokenkeep_login_step *step, char *answer, size_t capacity,
                             size_t *length) {
    uint32_t kind = tokenkeep_login_step_kind(step);
    const char *text = shown.calls++ ? shown.later : shown.first;
    CHECK(data == &shown);
    CHECK(kind >= TOKENKEEP_LOGIN_BROWSER && kind <= TOKENKEEP_LOGIN_PASTE);
    CHECK(*length == 0 && capacity >= 4096);
    CHECK((kind == TOKENKEEP_LOGIN_DEVICE) == (tokenkeep_login_step_user_code(step) != NULL));
    shown.kinds[kind & 3]++;
    snprintf(shown.url, sizeof shown.url, "%s", tokenkeep_login_step_url(step));
    if (tokenkeep_login_step_user_code(step))
        snprintf(shown.user_code, sizeof shown.user_code, "%s", tokenkeep_login_step_user_code(step));
    if (shown.cancels)
        tokenkeep_cancel(store);
    if (text && *text) {
        memcpy(answer, text, strlen(text));
        *length = strlen(text);
    } else if (text && kind == TOKENKEEP_LOGIN_PASTE) {
        *length = follow(shown.url, answer, capacity);
    }
    if (shown.length)
        *length = shown.length;
    return shown.status;
}

static tokenkeep_login_options options_of(uint32_t flow) {
    tokenkeep_login_options options = TOKENKEEP_LOGIN_OPTIONS_INIT;
    options.provider = "example";
    options.flow = flow;
    options.timeout_ms = CHECK_PATIENCE_MS;
    options.show = show;
    options.data = &shown;
    return options;
}

static tokenkeep_status login(const tokenkeep_login_options *options, tokenkeep_session **session,
                              tokenkeep_error **error) {
    return tokenkeep_login(store, "api", "ann", options, session, error);
}

/* A sign-in that must succeed. Returns the number of the server's access token. */
static int sign_in(const tokenkeep_login_options *options) {
    tokenkeep_session *session = NULL;
    tokenkeep_token *token = NULL;
    tokenkeep_session_info *info = NULL;
    int number = 0;
    CHECK_STATUS(TOKENKEEP_OK, login(options, &session, &error));
    CHECK_STATUS(TOKENKEEP_OK, tokenkeep_session_token(session, 0, &token, &error));
    const char *value = tokenkeep_token_value(token, NULL);
    CHECK(value != NULL && sscanf(value, "access-%d", &number) == 1);
    CHECK_STATUS(TOKENKEEP_OK, tokenkeep_session_state(session, &info, &error));
    CHECK_TEXT("example", tokenkeep_session_info_provider(info));
    tokenkeep_session_info_free(info);
    tokenkeep_token_free(token);
    tokenkeep_session_close(session);
    return number;
}

/* How many requests of a kind reached the server. */
static int requests(const char *text) {
    char line[4096];
    int count = 0;
    FILE *file = fopen(getenv("REQUESTS"), "r");
    while (file && fgets(line, sizeof line, file))
        count += strstr(line, text) != NULL;
    if (file)
        fclose(file);
    return count;
}

static void a_device_signs_in(void) {
    tokenkeep_login_options options = options_of(TOKENKEEP_LOGIN_DEVICE);
    CHECK(sign_in(&options) > 1);
    CHECK_NUMBER(1, shown.calls);
    CHECK_TEXT("https://login.example.com/device", shown.url);
    CHECK_TEXT("WDJB-MJHT", shown.user_code);
}

static void a_browser_signs_in(void) {
    tokenkeep_login_options options = options_of(TOKENKEEP_LOGIN_BROWSER);
    int redeemed = requests("grant_type=authorization_code");
    CHECK(sign_in(&options) > 1);
    CHECK_NUMBER(1, shown.kinds[TOKENKEEP_LOGIN_BROWSER]);
    CHECK_NUMBER(0, shown.kinds[TOKENKEEP_LOGIN_DEVICE]);
    CHECK(strstr(shown.url, "/authorize?response_type=code&client_id=app&") != NULL);
    CHECK_NUMBER(redeemed + 1, requests("grant_type=authorization_code"));
}

static void a_pasted_address_signs_in(void) {
    tokenkeep_login_options options = options_of(TOKENKEEP_LOGIN_PASTE);
    shown.first = "";
    CHECK(sign_in(&options) > 1);
    CHECK_NUMBER(1, shown.calls);
    reset();
    shown.first = "code-1";
    shown.later = "";
    CHECK(sign_in(&options) > 1);
    CHECK_NUMBER(2, shown.kinds[TOKENKEEP_LOGIN_PASTE]);
}

static void the_session_renews_itself(void) {
    tokenkeep_login_options options = options_of(TOKENKEEP_LOGIN_DEVICE);
    tokenkeep_session *session = NULL;
    tokenkeep_token *token = NULL;
    CHECK_STATUS(TOKENKEEP_OK, login(&options, &session, &error));
    int refreshes = requests("grant_type=refresh_token");
    CHECK_STATUS(TOKENKEEP_OK, tokenkeep_session_refresh(session, &token, &error));
    CHECK_NUMBER(refreshes + 1, requests("grant_type=refresh_token"));
    tokenkeep_token_free(token);
    CHECK_STATUS(TOKENKEEP_OK, tokenkeep_session_end(session, 0, NULL, &error));
    /* The session's token, and that of the sign-in before, which waited for the end of the account's session.
     */
    CHECK_NUMBER(2, requests("/revoke"));
    tokenkeep_session_close(session);
}

/* Each ends the sign-in, and leaves the old session as it was. */
static void a_show_that_misbehaves_ends_the_sign_in(void) {
    tokenkeep_login_options options = options_of(TOKENKEEP_LOGIN_DEVICE);
    tokenkeep_session *session = NULL;
    tokenkeep_status failures[] = {TOKENKEEP_IO, TOKENKEEP_CANCELLED, 4711};
    int number = sign_in(&options), redeemed = requests("POST /token");
    for (size_t index = 0; index < sizeof failures / sizeof *failures; index++) {
        reset();
        shown.status = failures[index];
        CHECK_STATUS(TOKENKEEP_CANCELLED, login(&options, &session, &error));
    }
    options.flow = TOKENKEEP_LOGIN_PASTE;
    size_t lengths[] = {16385, 1u << 20, SIZE_MAX};
    for (size_t index = 0; index < sizeof lengths / sizeof *lengths; index++) {
        reset();
        shown.length = lengths[index];
        CHECK_STATUS(TOKENKEEP_INVALID, login(&options, &session, &error));
    }
    reset();
    shown.cancels = 1;
    CHECK_STATUS(TOKENKEEP_CANCELLED, login(&options, &session, &error));
    CHECK_NUMBER(1, shown.calls);
    options.flow = TOKENKEEP_LOGIN_DEVICE;
    CHECK_STATUS(TOKENKEEP_CANCELLED, login(&options, &session, &error));
    reset();
    options.flow = TOKENKEEP_LOGIN_PASTE;
    options.timeout_ms = PASSED_LIMIT_MS;
    if (!CHECK(begin_passing_limits()))
        return;
    CHECK_STATUS(TOKENKEEP_TIMED_OUT, login(&options, &session, &error));
    end_passing_limits();
    CHECK(session == NULL);
    CHECK_NUMBER(redeemed, requests("POST /token"));
    tokenkeep_token *token = NULL;
    char expected[32];
    CHECK_STATUS(TOKENKEEP_OK, tokenkeep_session_open(store, "api", "ann", NULL, &session, &error));
    CHECK_STATUS(TOKENKEEP_OK, tokenkeep_session_token(session, 0, &token, &error));
    snprintf(expected, sizeof expected, "access-%d", number);
    CHECK_TEXT(expected, tokenkeep_token_value(token, NULL));
    tokenkeep_token_free(token);
    tokenkeep_session_close(session);
}

/* The provider's file says that bob signs in. */
static void another_user_is_refused_unless_any_account_is_given(void) {
    tokenkeep_login_options options = options_of(TOKENKEEP_LOGIN_BROWSER);
    tokenkeep_session *session = NULL;
    options.provider = "bob";
    CHECK_REFUSED(TOKENKEEP_DENIED, "bob@example.com has signed in, expected ann@example.com",
                  tokenkeep_login(store, "mail", "ann@example.com", &options, &session, &error));
    CHECK(session == NULL);
    options.flags = TOKENKEEP_LOGIN_ANY_ACCOUNT;
    CHECK_STATUS(TOKENKEEP_OK, tokenkeep_login(store, "mail", "ann@example.com", &options, &session, &error));
    tokenkeep_session_close(session);
    session = NULL;
    /* A program that was compiled before the flag. */
    options.struct_size = offsetof(tokenkeep_login_options, flags);
    CHECK_STATUS(TOKENKEEP_DENIED,
                 tokenkeep_login(store, "post", "ann@example.com", &options, &session, &error));
    options.struct_size = sizeof options;
    options.flags = 2;
    CHECK_REFUSED(TOKENKEEP_UNSUPPORTED, "login options",
                  tokenkeep_login(store, "post", "ann@example.com", &options, &session, &error));
}

static void wrong_arguments_are_invalid(void) {
    tokenkeep_login_options options = options_of(TOKENKEEP_LOGIN_DEVICE), wrong;
    tokenkeep_session *session = NULL;
    CHECK_STATUS(TOKENKEEP_INVALID, tokenkeep_login(NULL, "api", "ann", &options, &session, &error));
    CHECK_STATUS(TOKENKEEP_INVALID, tokenkeep_login(store, NULL, "ann", &options, &session, &error));
    CHECK_STATUS(TOKENKEEP_INVALID, tokenkeep_login(store, "", "ann", &options, &session, &error));
    CHECK_STATUS(TOKENKEEP_INVALID, tokenkeep_login(store, "api", "ann", NULL, &session, &error));
    CHECK_STATUS(TOKENKEEP_INVALID, tokenkeep_login(store, "api", "ann", &options, NULL, &error));
    CHECK_NUMBER(TOKENKEEP_INVALID, tokenkeep_login(NULL, NULL, NULL, NULL, NULL, NULL));
    CHECK_REFUSED(TOKENKEEP_INVALID, "openid",
                  tokenkeep_login(store, "api", NULL, &options, &session, &error));
    CHECK_REFUSED(TOKENKEEP_INVALID, "UTF-8",
                  tokenkeep_login(store, "api", "\xff", &options, &session, &error));
    wrong = options;
    wrong.show = NULL;
    CHECK_REFUSED(TOKENKEEP_INVALID, "show", login(&wrong, &session, &error));
    wrong = options;
    wrong.provider = NULL;
    CHECK_REFUSED(TOKENKEEP_INVALID, "provider", login(&wrong, &session, &error));
    wrong.provider = "nobody";
    CHECK_REFUSED(TOKENKEEP_NOT_FOUND, "nobody", login(&wrong, &session, &error));
    wrong.provider = "../example";
    CHECK_STATUS(TOKENKEEP_NOT_FOUND, login(&wrong, &session, &error));
    wrong.provider = "nameless";
    CHECK_REFUSED(TOKENKEEP_INVALID, "client_id", login(&wrong, &session, &error));
    wrong.provider = "empty";
    CHECK_REFUSED(TOKENKEEP_UNSUPPORTED, "token_endpoint", login(&wrong, &session, &error));
    wrong = options;
    wrong.flow = 4;
    CHECK_REFUSED(TOKENKEEP_INVALID, "flow 4", login(&wrong, &session, &error));
    char *scope = malloc(5000);
    memset(scope, 'a', 4999);
    scope[4999] = 0;
    wrong = options;
    wrong.scope = scope;
    CHECK_REFUSED(TOKENKEEP_INVALID, "scope", login(&wrong, &session, &error));
    free(scope);
    CHECK(session == NULL);
    CHECK_NUMBER(0, shown.calls);
}

static void the_size_of_the_options_is_checked(void) {
    struct {
        tokenkeep_login_options options;
        size_t later;
    } longer = {options_of(TOKENKEEP_LOGIN_PASTE), 0};
    tokenkeep_session *session = NULL;
    size_t sizes[] = {0, 4, 9, 5000, SIZE_MAX};
    for (size_t index = 0; index < sizeof sizes / sizeof *sizes; index++) {
        longer.options.struct_size = sizes[index];
        CHECK_STATUS(TOKENKEEP_INVALID, login(&longer.options, &session, &error));
    }
    longer.options.struct_size = offsetof(tokenkeep_login_options, show);
    CHECK_REFUSED(TOKENKEEP_INVALID, "show", login(&longer.options, &session, &error));
    longer.options.struct_size = sizeof longer;
    shown.first = "";
    CHECK(sign_in(&longer.options) > 1);
    longer.later = 1;
    CHECK_STATUS(TOKENKEEP_UNSUPPORTED, login(&longer.options, &session, &error));
}

static void getters_of_no_step_are_empty(void) {
    CHECK_NUMBER(0, tokenkeep_login_step_kind(NULL));
    CHECK(tokenkeep_login_step_url(NULL) == NULL);
    CHECK(tokenkeep_login_step_user_code(NULL) == NULL);
}

int main(void) {
    store = open_store();
    RUN(wrong_arguments_are_invalid);
    reset();
    RUN(getters_of_no_step_are_empty);
    RUN(a_device_signs_in);
    reset();
    RUN(a_browser_signs_in);
    reset();
    RUN(a_pasted_address_signs_in);
    reset();
    RUN(another_user_is_refused_unless_any_account_is_given);
    reset();
    RUN(a_show_that_misbehaves_ends_the_sign_in);
    reset();
    RUN(the_size_of_the_options_is_checked);
    reset();
    RUN(the_session_renews_itself);
    tokenkeep_close(store);
    return check_result();
}
