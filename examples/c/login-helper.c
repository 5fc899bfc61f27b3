/*
 * For the autostart of a desktop: waits for the keyring to open, renews the sessions whose tokens end soon,
 * and names in a desktop notification the accounts that need a sign-in. Ends when every session was looked
 * at.
 *
 *     cc login-helper.c $(pkg-config --cflags --libs tokenkeep) -o login-helper
 *     ./login-helper [SECONDS]     waits so long for the keyring and the network, 600 if not given
 *
 * ~/.config/tokenkeep/refresh asks the servers, as docs/sessions.md says. It prints the answer's body, or
 * status line, headers and body as curl -i does. Without it nothing is renewed.
 */
#define _POSIX_C_SOURCE 200809L
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/wait.h>
#include <time.h>
#include <tokenkeep.h>
#include <unistd.h>

enum { answer_size = 262144 + 65536, answer_seconds = 30, not_sent = 75 };

extern char **environ;
static char refresh_program[4096];

static long long now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (long long)time.tv_sec;
}

/* Starts the refresh program. Returns its process, or -1; `ends`: its standard input and output. */
static pid_t start(const tokenkeep_http_request *request, int ends[2]) {
    static const char *const purposes[] = {"", "refresh", "revoke", "validate", "extend"};
    int to[2], from[2];
    uint32_t purpose = tokenkeep_http_request_purpose(request);
    char *arguments[] = {refresh_program, NULL};
    posix_spawn_file_actions_t actions;
    pid_t process = -1;
    if (purpose >= sizeof purposes / sizeof *purposes || pipe(to) != 0)
        return -1;
    if (pipe(from) != 0) {
        close(to[0]);
        close(to[1]);
        return -1;
    }
    fcntl(to[1], F_SETFD, FD_CLOEXEC);
    fcntl(from[0], F_SETFD, FD_CLOEXEC);
    setenv("TOKENKEEP_PURPOSE", purposes[purpose], 1);
    setenv("TOKENKEEP_SERVICE", tokenkeep_http_request_service(request), 1);
    setenv("TOKENKEEP_ACCOUNT", tokenkeep_http_request_account(request), 1);
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, to[0], STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&actions, from[1], STDOUT_FILENO);
    posix_spawn_file_actions_addclose(&actions, to[0]);
    posix_spawn_file_actions_addclose(&actions, from[1]);
    if (posix_spawn(&process, refresh_program, &actions, NULL, arguments, environ) != 0)
        process = -1;
    posix_spawn_file_actions_destroy(&actions);
    close(to[0]);
    close(from[1]);
    ends[0] = to[1];
    ends[1] = from[0];
    return process;
}

/* Reads until the end of the output or the deadline. Returns the length, or -1. */
static long read_answer(int descriptor, char *answer, long long deadline) {
    long length = 0;
    for (;;) {
        struct pollfd wait = {descriptor, POLLIN, 0};
        long long left = deadline - now();
        if (left <= 0 || (poll(&wait, 1, (int)left * 1000) < 0 && errno != EINTR) || length == answer_size)
            return -1;
        if (!(wait.revents & (POLLIN | POLLHUP)))
            continue;
        ssize_t count = read(descriptor, answer + length, (size_t)(answer_size - length));
        if (count == 0)
            return length;
        if (count > 0)
            length += count;
        else if (errno != EINTR)
            return -1;
    }
}

/* Splits what curl -i prints: the last status line, its headers, the body. `answer` ends with a NUL. */
static void pass_on(char *answer, long length, tokenkeep_http_response *response) {
    char *end = answer + length;
    unsigned int status = strstr(answer, "\"access_token\"") ? 200 : 400;
    while (sscanf(answer, "HTTP/%*s %3u", &status) == 1) {
        char *line = strchr(answer, '\n');
        while (line && line[1] != '\r' && line[1] != '\n') {
            char *name = line + 1, *colon = strchr(name, ':');
            if ((line = strchr(name, '\n')) == NULL || !colon || colon > line)
                continue;
            *colon = '\0';
            if (strcasecmp(name, "Date") == 0 || strcasecmp(name, "Retry-After") == 0) {
                char value[128] = "";
                sscanf(colon + 1, " %127[^\r\n]", value);
                tokenkeep_http_response_header(response, name, value);
            }
        }
        answer = line ? strchr(line + 1, '\n') : NULL;
        answer = answer ? answer + 1 : end;
    }
    tokenkeep_http_response_status(response, status);
    tokenkeep_http_response_append(response, answer, (size_t)(end - answer));
}

static tokenkeep_status ask_server(void *data, const tokenkeep_http_request *request,
                                   tokenkeep_http_response *response) {
    static char answer[answer_size + 1];
    int ends[2], code = 0;
    size_t length = 0;
    const char *token = tokenkeep_http_request_token(request, &length);
    long received = -1;
    (void)data;
    pid_t process = start(request, ends);
    if (process < 0)
        return TOKENKEEP_UNAVAILABLE;
    if (write(ends[0], token, length) != (ssize_t)length)
        fprintf(stderr, "%s did not read its input\n", refresh_program);
    close(ends[0]);
    received = read_answer(ends[1], answer, now() + answer_seconds);
    close(ends[1]);
    if (received < 0)
        kill(process, SIGKILL);
    while (waitpid(process, &code, 0) < 0 && errno == EINTR)
        ;
    if (WIFEXITED(code) && WEXITSTATUS(code) == not_sent)
        return TOKENKEEP_UNAVAILABLE;
    if (received < 0 || !WIFEXITED(code) || WEXITSTATUS(code) != 0)
        return TOKENKEEP_IO;
    answer[received] = '\0';
    pass_on(answer, received, response);
    memset(answer, 0, sizeof answer);
    return TOKENKEEP_OK;
}

/* Renews a session if its token ends soon. Returns 1 if there is nothing to wait for; `is_over`: sign in. */
static int look_at(tokenkeep_store *store, const tokenkeep_session_info *info, int *is_over) {
    tokenkeep_session_options options = TOKENKEEP_SESSION_OPTIONS_INIT;
    tokenkeep_session *session = NULL;
    tokenkeep_token *token = NULL;
    tokenkeep_status status;
    if (tokenkeep_session_info_state(info) == TOKENKEEP_STATE_SIGNED_OUT)
        return 1;
    if (access(refresh_program, X_OK) == 0)
        options.http = ask_server;
    status = tokenkeep_session_open(store, tokenkeep_session_info_service(info),
                                    tokenkeep_session_info_account(info), &options, &session, NULL);
    if (status == TOKENKEEP_OK)
        status = tokenkeep_session_token(session, 0, &token, NULL);
    tokenkeep_token_free(token);
    tokenkeep_session_close(session);
    *is_over = status == TOKENKEEP_NEEDS_LOGIN || status == TOKENKEEP_EXPIRED;
    return status != TOKENKEEP_LOCKED && status != TOKENKEEP_UNAVAILABLE && status != TOKENKEEP_TIMED_OUT &&
           status != TOKENKEEP_BUSY;
}

static void notify(const char *accounts) {
    char *arguments[] = {"notify-send", "--", "Sign in again", (char *)accounts, NULL};
    pid_t process;
    if (posix_spawnp(&process, arguments[0], NULL, NULL, arguments, environ) != 0)
        fprintf(stderr, "Sign in again:\n%s", accounts);
    else
        waitpid(process, NULL, 0);
}

/* Looks at every session. Returns 1 if there is nothing to wait for; `accounts`: those that need a sign-in.
 */
static int look_at_all(tokenkeep_store *store, char *accounts, size_t size) {
    tokenkeep_session_infos *infos = NULL;
    tokenkeep_error *error = NULL;
    int is_done = 1;
    accounts[0] = '\0';
    if (tokenkeep_session_list(store, NULL, &infos, &error) != TOKENKEEP_OK) {
        fprintf(stderr, "%s\n", tokenkeep_error_message(error));
        tokenkeep_error_free(error);
        return 0;
    }
    for (size_t index = 0; index < tokenkeep_session_infos_count(infos); index++) {
        const tokenkeep_session_info *info = tokenkeep_session_infos_at(infos, index);
        size_t length = strlen(accounts);
        int is_over = 0;
        is_done &= look_at(store, info, &is_over);
        if (is_over)
            snprintf(accounts + length, size - length, "%s (%s)\n", tokenkeep_session_info_service(info),
                     tokenkeep_session_info_account(info));
    }
    is_done &= tokenkeep_session_infos_problem(infos) == NULL;
    tokenkeep_session_infos_free(infos);
    return is_done;
}

int main(int count, char **arguments) {
    long long deadline = now() + (count > 1 ? atoi(arguments[1]) : 600);
    const char *directory = getenv("XDG_CONFIG_HOME"), *home = getenv("HOME");
    char accounts[4096];
    tokenkeep_store *store = NULL;
    tokenkeep_watch *watch = NULL;
    tokenkeep_error *error = NULL;
    if (directory && *directory)
        snprintf(refresh_program, sizeof refresh_program, "%s/tokenkeep/refresh", directory);
    else
        snprintf(refresh_program, sizeof refresh_program, "%s/.config/tokenkeep/refresh", home ? home : "");
    signal(SIGPIPE, SIG_IGN);
    if (tokenkeep_open(NULL, &store, &error) != TOKENKEEP_OK) {
        fprintf(stderr, "%s\n", tokenkeep_error_message(error));
        return 1;
    }
    /* Wakes the loop at once for what TokenKeep changes; every 2 seconds it looks at the rest. */
    if (tokenkeep_watch_open(store, NULL, &watch, NULL) != TOKENKEEP_OK)
        watch = NULL;
    while (!look_at_all(store, accounts, sizeof accounts) && now() < deadline) {
        struct pollfd wait = {tokenkeep_watch_fd(watch), POLLIN, 0};
        tokenkeep_event *event = NULL;
        poll(&wait, 1, 2000);
        while (watch && tokenkeep_watch_next(watch, &event, NULL) == TOKENKEEP_OK)
            tokenkeep_event_free(event);
    }
    if (accounts[0])
        notify(accounts);
    tokenkeep_watch_close(watch);
    tokenkeep_close(store);
    return 0;
}
