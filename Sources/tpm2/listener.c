#define _GNU_SOURCE
#include "listener.h"

#include "connection.h"
#include "memory.h"
#include "owner.h"
#include "work.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

/* The number of refused uids that are logged; the refusals of further uids are not. */
#define LOGGED_UIDS 64
/* The length of the queue of connections that wait to be accepted. While a flood fills the queue, all other
 * clients wait, too. */
#define QUEUE 128
/* The exit code of a child that refused the uid. The parent then logs the refusal. */
#define EXIT_REFUSED 3

struct listener {
    const char *tcti;
    int socket;
    struct {
        pid_t process;
        uid_t uid, owner;
    } children[CONNECTIONS];
    uid_t logged[LOGGED_UIDS];
    size_t logged_count;
};

static volatile sig_atomic_t is_ending;

static void on_signal(int signal) {
    if (signal != SIGCHLD)
        is_ending = 1;
}

static void log_once(struct listener *listener, uid_t uid, enum reason reason) {
    for (size_t index = 0; index < listener->logged_count; index++) {
        if (listener->logged[index] == uid)
            return;
    }
    if (listener->logged_count == LOGGED_UIDS)
        return;
    listener->logged[listener->logged_count++] = uid;
    connection_log(uid, reason);
}

static void reap(struct listener *listener) {
    int status;
    pid_t process;
    while ((process = waitpid(-1, &status, WNOHANG)) > 0) {
        for (size_t index = 0; index < CONNECTIONS; index++) {
            if (listener->children[index].process != process)
                continue;
            listener->children[index].process = 0;
            if (WIFEXITED(status) && WEXITSTATUS(status) == EXIT_REFUSED)
                log_once(listener, listener->children[index].uid, REASON_UID);
        }
    }
}

/* A free place in `children`; -1 if no place is free. Writes the number of the owner's children to count. */
static int free_place(const struct listener *listener, uid_t owner, int *count) {
    int place = -1;
    *count = 0;
    for (int index = 0; index < CONNECTIONS; index++) {
        if (listener->children[index].process == 0)
            place = index;
        else if (listener->children[index].owner == owner)
            (*count)++;
    }
    return place;
}

static void serve_in_child(const struct listener *listener, int connection, uid_t uid,
                           const sigset_t *signals) {
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
    (void)signal(SIGTERM, SIG_DFL);
    (void)signal(SIGINT, SIG_DFL);
    (void)signal(SIGCHLD, SIG_DFL);
    (void)sigprocmask(SIG_SETMASK, signals, NULL);
    (void)close(listener->socket);
    /* A child does not inherit the lock on memory. */
    memory_protect();
    _exit(connection_serve(connection, uid, listener->tcti) == REASON_UID ? EXIT_REFUSED : 0);
}

/* Whether the client has closed the connection. Then no child is started: a flood of such connections would
 * cost a process each. */
static bool is_left(int connection) {
    char byte;
    return recv(connection, &byte, 1, MSG_PEEK | MSG_DONTWAIT) == 0;
}

static void start_child(struct listener *listener, int place, int connection, uid_t uid,
                        const sigset_t *signals) {
    pid_t process = fork();
    if (process == 0)
        serve_in_child(listener, connection, uid, signals);
    if (process < 0)
        return;
    listener->children[place].process = process;
    listener->children[place].uid = uid;
    listener->children[place].owner = owner_of(uid);
}

/* Starts a child for the connection, or refuses the uid. Without a free place for a child, the client gets no
 * reply. */
static void serve(struct listener *listener, int connection, const sigset_t *signals) {
    uid_t uid = (uid_t)-1;
    int count = 0;
    enum reason reason = connection_peer(connection, &uid) ? REASON_NONE : REASON_UID;
    int place = free_place(listener, owner_of(uid), &count);
    if (reason == REASON_NONE && count >= REQUESTS_OF_UID)
        reason = REASON_LIMIT;
    if (reason != REASON_NONE) {
        (void)work_refuse(connection, reason);
        log_once(listener, uid, reason);
    } else if (place >= 0) {
        start_child(listener, place, connection, uid, signals);
    }
}

static void accept_one(struct listener *listener, const sigset_t *signals) {
    int connection = accept4(listener->socket, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (connection < 0)
        return;
    if (!is_left(connection))
        serve(listener, connection, signals);
    (void)close(connection);
}

/* Whether the file is the socket of a helper that has ended: no process listens there. */
static bool is_abandoned(const struct sockaddr_un *address) {
    struct stat status;
    /* A file that is no socket refuses connections, too, and must not be removed. */
    if (lstat(address->sun_path, &status) != 0 || !S_ISSOCK(status.st_mode) || status.st_uid != geteuid())
        return false;
    int trial = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (trial < 0)
        return false;
    bool is_refused =
        connect(trial, (const struct sockaddr *)address, sizeof *address) < 0 && errno == ECONNREFUSED;
    (void)close(trial);
    return is_refused;
}

/* Makes the socket, to which every user may connect. Returns a descriptor, or a negative errno. */
static int make_socket(const char *path) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if (strlen(path) >= sizeof address.sun_path)
        return -ENAMETOOLONG;
    strcpy(address.sun_path, path);
    int listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (listener < 0)
        return -errno;
    mode_t mask = umask(0111);
    int error = bind(listener, (struct sockaddr *)&address, sizeof address) == 0 ? 0 : errno;
    if (error == EADDRINUSE && is_abandoned(&address) && unlink(path) == 0)
        error = bind(listener, (struct sockaddr *)&address, sizeof address) == 0 ? 0 : errno;
    (void)umask(mask);
    if (error == 0 && listen(listener, QUEUE) == 0)
        return listener;
    error = error != 0 ? error : errno;
    (void)close(listener);
    return -error;
}

int listener_run(const char *path, const char *tcti) {
    static struct listener listener;
    listener.tcti = tcti;
    listener.socket = make_socket(path);
    if (listener.socket < 0) {
        fprintf(stderr, "tokenkeep-tpm2: the socket %s cannot be made: %s\n", path,
                strerror(-listener.socket));
        return 4;
    }
    sigset_t blocked, before;
    (void)sigemptyset(&blocked);
    for (size_t index = 0; index < 3; index++) {
        static const int signals[] = {SIGTERM, SIGINT, SIGCHLD};
        struct sigaction action = {.sa_handler = on_signal};
        (void)sigaction(signals[index], &action, NULL);
        (void)sigaddset(&blocked, signals[index]);
    }
    /* Signals are delivered only during ppoll: no signal is lost between the test of the flags and the wait.
     */
    (void)sigprocmask(SIG_BLOCK, &blocked, &before);
    while (!is_ending) {
        struct pollfd waiting = {.fd = listener.socket, .events = POLLIN};
        int count = ppoll(&waiting, 1, NULL, &before);
        reap(&listener);
        if (count == 1)
            accept_one(&listener, &before);
    }
    (void)unlink(path);
    return 0;
}
