#define _GNU_SOURCE
#include "helper_process.h"
#include "helper_child.h"

#include "CSystemShims.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* The time, in milliseconds, within which the supervisor must reap a killed program. */
#define ENDING_MS 600

/* Looks up the user's groups before the fork, because the child of a process with threads must not use the
 * name service. */
static int read_groups(const struct passwd *user, struct helper_child *child) {
    int capacity = 64;
    for (;;) {
        int count = capacity;
        gid_t *groups = calloc((size_t)capacity, sizeof *groups);
        if (groups == NULL)
            return -1;
        if (getgrouplist(user->pw_name, user->pw_gid, groups, &count) >= 0) {
            child->groups = groups;
            child->group_count = (size_t)count;
            return 0;
        }
        free(groups);
        if (count <= capacity)
            count = capacity * 2;
        if (count > 65536)
            return -1;
        capacity = count;
    }
}

static char *variable(const char *name, const char *value) {
    char *text = NULL;
    return asprintf(&text, "%s=%s", name, value) < 0 ? NULL : text;
}

static void free_environment(char **environment) {
    for (size_t index = 0; index < HELPER_VARIABLES; index++)
        free(environment[index]);
}

static int fill_environment(const struct passwd *user, char **environment) {
    char runtime[64];
    (void)snprintf(runtime, sizeof runtime, "/run/user/%lu", (unsigned long)user->pw_uid);
    struct stat status;
    int has_runtime =
        lstat(runtime, &status) == 0 && S_ISDIR(status.st_mode) && status.st_uid == user->pw_uid;
    environment[0] = variable("HOME", user->pw_dir);
    environment[1] = variable("USER", user->pw_name);
    environment[2] = variable("LOGNAME", user->pw_name);
    environment[3] = variable("PATH", "/usr/bin:/bin");
    environment[4] = has_runtime ? variable("XDG_RUNTIME_DIR", runtime) : NULL;
    for (size_t index = 0; index < 4 + (size_t)has_runtime; index++)
        if (environment[index] == NULL)
            return -1;
    return 0;
}

/* Sends as many bytes as the socket accepts without waiting. Returns the number of bytes sent; -1 if the
 * program has stopped reading. */
static ssize_t send_some(int socket, const struct helper_input *input, size_t sent) {
    ssize_t count;
    do
        count = send(socket, input->bytes + sent, input->length - sent, MSG_NOSIGNAL | MSG_DONTWAIT);
    while (count < 0 && errno == EINTR);
    return count < 0 && (errno == EAGAIN || errno == EWOULDBLOCK) ? 0 : count;
}

struct exchange {
    int socket; /* -1 after the last byte */
    int status;
    size_t input, sent;
};

static void feed(const struct helper_call *call, struct exchange *exchange) {
    while (exchange->input < call->input_count) {
        const struct helper_input *input = &call->inputs[exchange->input];
        if (exchange->sent < input->length) {
            ssize_t count = send_some(exchange->socket, input, exchange->sent);
            if (count == 0)
                return;
            if (count < 0)
                break;
            exchange->sent += (size_t)count;
        }
        if (exchange->sent == input->length) {
            exchange->input++;
            exchange->sent = 0;
        }
    }
    (void)close(exchange->socket);
    exchange->socket = -1;
}

/* Sends the input to the program, and waits for the program's result until the deadline. */
static int converse(const struct helper_call *call, struct exchange *exchange) {
    for (;;) {
        if (exchange->socket >= 0)
            feed(call, exchange);
        int left = tokenkeep_timeout_until(call->deadline);
        if (left == 0)
            return HELPER_TIMED_OUT;
        struct pollfd polled[2] = {{.fd = exchange->status, .events = POLLIN},
                                   {.fd = exchange->socket, .events = POLLOUT}};
        if (poll(polled, 2, left) < 0 && errno != EINTR)
            return HELPER_NOT_STARTED;
        if (polled[0].revents == 0)
            continue;
        unsigned char code;
        ssize_t count = read(exchange->status, &code, 1);
        if (count < 0 && errno == EINTR)
            continue;
        if (count != 1 || code == HELPER_CHILD_KILLED)
            return HELPER_KILLED;
        return code;
    }
}

/* Starts the supervising child with all signals blocked, so that no handler of this process runs in it. */
static pid_t start(const struct helper_child *child) {
    sigset_t all, before;
    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before);
    pid_t process = fork_silently();
    if (process == 0)
        supervise(child);
    int error = errno;
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    errno = error;
    return process;
}

/* Makes the supervisor kill and reap the program. If only the supervisor were killed, the program would
 * become a child of a host that is a subreaper. */
static void end_program(pid_t supervisor, int status) {
    struct pollfd ended = {.fd = status};
    (void)kill(supervisor, SIGTERM);
    (void)poll(&ended, 1, tokenkeep_timeout_until(tokenkeep_deadline_after(ENDING_MS)));
}

static int run_child(const struct helper_call *call, struct helper_child *child) {
    int sockets[2], status[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets) != 0)
        return HELPER_NOT_STARTED;
    if (pipe2(status, O_CLOEXEC) != 0) {
        (void)close(sockets[0]);
        (void)close(sockets[1]);
        return HELPER_NOT_STARTED;
    }
    child->input = sockets[1];
    child->status = status[1];
    pid_t process = start(child);
    (void)close(sockets[1]);
    (void)close(status[1]);
    struct exchange exchange = {.socket = sockets[0], .status = status[0]};
    int result = HELPER_NOT_STARTED;
    if (process > 0) {
        result = converse(call, &exchange);
        if (result == HELPER_TIMED_OUT)
            end_program(process, exchange.status);
        /* Kill the group; also kill the supervisor, which may not have made its group yet. */
        (void)kill(-process, SIGKILL);
        (void)kill(process, SIGKILL);
        while (waitpid(process, NULL, __WCLONE) < 0 && errno == EINTR)
            continue;
    }
    if (exchange.socket >= 0)
        (void)close(exchange.socket);
    (void)close(exchange.status);
    return result;
}

int run_helper(const struct helper_call *call) {
    char *environment[HELPER_VARIABLES + 1] = {NULL};
    const char *const arguments[] = {call->program, "login",      call->command, "--service",
                                     call->service, call->option, NULL};
    int left = tokenkeep_timeout_until(call->deadline);
    if (left == 0)
        return HELPER_TIMED_OUT;
    struct helper_child child = {.program = call->program,
                                 .arguments = arguments,
                                 .environment = environment,
                                 .user = call->user->pw_uid,
                                 .group = call->user->pw_gid,
                                 .becomes_user = geteuid() == 0,
                                 .seconds = (unsigned int)(left / 1000) + 1};
    if (!child.becomes_user && geteuid() != call->user->pw_uid)
        return HELPER_NOT_ALLOWED;
    int result = HELPER_NOT_STARTED;
    if ((!child.becomes_user || read_groups(call->user, &child) == 0) &&
        fill_environment(call->user, environment) == 0)
        result = run_child(call, &child);
    free(child.groups);
    free_environment(environment);
    return result;
}
