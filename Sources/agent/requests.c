/* The socket: one request and one reply for each connection. */
#define _GNU_SOURCE
#include "../CSystemShims/include/CSystemShims.h"
#include "agent.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <systemd/sd-daemon.h>
#include <unistd.h>

#define SIGNATURE        "TKA1"
#define SIGNATURE_LENGTH 4
#define HEAD_LENGTH      (SIGNATURE_LENGTH + 1)
#define HOLD_LENGTH      (HEAD_LENGTH + sizeof(struct class_key))
#define DROP_LENGTH      (HEAD_LENGTH + VAULT_ID_LENGTH)

_Static_assert(sizeof(struct class_key) == VAULT_ID_LENGTH + 1 + KEY_ID_LENGTH + KEY_LENGTH,
               "the key is read from the request as it is");

enum operation { STATUS = 1, HOLD = 2, LOCK = 3, DROP = 4 };
enum bits { HOLDS = 1, PUBLISHED = 2, LOCKED = 4, PROVED = 8 };
/* tokenkeep/types.h. */
enum status { STATUS_OK = 0, STATUS_IO = 14 };

struct connection {
    struct agent *agent;
    uint64_t number;
    int descriptor;
    sd_event_source *source;
};

static void end(struct connection *connection) {
    for (size_t index = 0; index < AGENT_CONNECTIONS; index++) {
        if (connection->agent->connections[index] == connection)
            connection->agent->connections[index] = NULL;
    }
    (void)sd_event_source_set_enabled(connection->source, SD_EVENT_OFF);
    sd_event_source_unref(connection->source);
    (void)close(connection->descriptor);
    free(connection);
}

static void reply(const struct connection *connection, uint32_t status, const struct held_key *key) {
    const struct agent *agent = connection->agent;
    size_t published = held_keys_count(agent->keys, 1), waiting = held_keys_count(agent->keys, 0);
    bool is_published = key != NULL ? key->is_published : published > 0;
    uint8_t bits =
        (uint8_t)((published + waiting > 0 ? HOLDS : 0) | (is_published ? PUBLISHED : 0) |
                  (lock_state_word(agent) != NULL ? LOCKED : 0) | (lock_state_is_proved(agent) ? PROVED : 0));
    uint8_t message[64] = SIGNATURE;
    for (int index = 0; index < 4; index++)
        message[SIGNATURE_LENGTH + index] = (uint8_t)(status >> (24 - 8 * index));
    message[SIGNATURE_LENGTH + 4] = bits;
    const char *word = lock_state_source(agent);
    size_t length = SIGNATURE_LENGTH + 5 + strlen(word);
    memcpy(message + SIGNATURE_LENGTH + 5, word, strlen(word));
    (void)send(connection->descriptor, message, length, MSG_NOSIGNAL | MSG_DONTWAIT);
}

/* Whether the client still waits. One that gave up has told its user that nothing is unlocked. */
static bool is_awaited(const struct connection *connection) {
    struct pollfd poll_descriptor = {.fd = connection->descriptor, .events = POLLRDHUP};
    return poll(&poll_descriptor, 1, 0) == 0;
}

static void hold(struct connection *connection, const uint8_t *request) {
    struct agent *agent = connection->agent;
    struct class_key *key = (struct class_key *)(request + HEAD_LENGTH);
    struct held_key *entry = NULL;
    if (!held_keys_takes(key->purpose) || !is_awaited(connection))
        return;
    session_bus_start(agent);
    int error = lock_state_hold(agent, key, &entry);
    service_manager_set_target(agent, true);
    reply(connection, error == 0 ? STATUS_OK : STATUS_IO, entry);
}

/* What is not exactly a request gets no reply. */
static void answer(struct connection *connection, const uint8_t *request, size_t length) {
    struct agent *agent = connection->agent;
    if (length < HEAD_LENGTH || memcmp(request, SIGNATURE, SIGNATURE_LENGTH) != 0)
        return;
    switch (request[SIGNATURE_LENGTH]) {
    case STATUS:
        if (length == HEAD_LENGTH)
            reply(connection, STATUS_OK, NULL);
        break;
    case HOLD:
        if (length == HOLD_LENGTH)
            hold(connection, request);
        break;
    case LOCK:
        if (length != HEAD_LENGTH)
            break;
        lock_state_locked_once(agent, "request");
        reply(connection, STATUS_OK, NULL);
        break;
    case DROP:
        if (length != DROP_LENGTH)
            break;
        held_keys_drop_vault(agent->keys, request + HEAD_LENGTH);
        service_manager_set_target(agent, false);
        reply(connection, STATUS_OK, NULL);
        break;
    default:
        break;
    }
}

static int on_request(sd_event_source *source, int descriptor, uint32_t events, void *data) {
    (void)source, (void)events;
    struct connection *connection = data;
    uint8_t *request = connection->agent->keys->request;
    size_t room = sizeof connection->agent->keys->request;
    /* MSG_TRUNC: the length of the message, though the buffer is shorter. Descriptors that come along are
     * closed by the kernel. */
    ssize_t length = recv(descriptor, request, room, MSG_DONTWAIT | MSG_TRUNC);
    if (length > 0 && (size_t)length <= room)
        answer(connection, request, (size_t)length);
    explicit_bzero(request, room);
    if (length >= 0 || (errno != EAGAIN && errno != EINTR))
        end(connection);
    return 0;
}

/* An unused place. If there is none, the connection that has waited longest is closed: it sent nothing. */
static struct connection **place_for_connection(struct agent *agent) {
    struct connection **oldest = &agent->connections[0];
    for (size_t index = 0; index < AGENT_CONNECTIONS; index++) {
        struct connection **place = &agent->connections[index];
        if (*place == NULL)
            return place;
        if ((*place)->number < (*oldest)->number)
            oldest = place;
    }
    end(*oldest);
    return oldest;
}

static bool is_own_peer(int descriptor) {
    struct ucred peer;
    socklen_t length = sizeof peer;
    return getsockopt(descriptor, SOL_SOCKET, SO_PEERCRED, &peer, &length) == 0 && length == sizeof peer &&
           peer.uid == geteuid();
}

static int on_connection(sd_event_source *source, int listener, uint32_t events, void *data) {
    (void)source, (void)events;
    struct agent *agent = data;
    int descriptor = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (descriptor < 0)
        return 0;
    struct connection *connection = is_own_peer(descriptor) ? calloc(1, sizeof *connection) : NULL;
    if (connection == NULL) {
        (void)close(descriptor);
        return 0;
    }
    struct connection **place = place_for_connection(agent);
    connection->agent = agent;
    connection->descriptor = descriptor;
    connection->number = ++agent->connection_count;
    *place = connection;
    if (sd_event_add_io(agent->event, &connection->source, descriptor, EPOLLIN, on_request, connection) < 0 ||
        sd_event_source_set_priority(connection->source, PRIORITY_REQUEST) < 0)
        end(connection);
    return 0;
}

int requests_serve(struct agent *agent) {
    if (agent->is_serving)
        return 0;
    agent->is_serving = true;
    int error =
        sd_event_add_io(agent->event, &agent->requests, agent->listener, EPOLLIN, on_connection, agent);
    if (error >= 0)
        error = sd_event_source_set_priority(agent->requests, PRIORITY_REQUEST);
    (void)sd_notify(0, "READY=1");
    return error;
}

/* Opens the socket's directory, which must be the user's. */
static int open_runtime_folder(char path[PATH_MAX]) {
    if (!tokenkeep_agent_folder(path, PATH_MAX)) {
        errno = ENAMETOOLONG;
        return -1;
    }
    (void)mkdir(path, 0700);
    int folder = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    struct stat status;
    if (folder >= 0 && fstat(folder, &status) == 0 && status.st_uid == geteuid() &&
        (status.st_mode & 077) == 0)
        return folder;
    if (folder >= 0)
        (void)close(folder);
    errno = folder >= 0 ? EPERM : errno;
    return -1;
}

/* Makes the socket in a directory that the agent alone uses: it has the lock. */
static int make_listener(const char *folder) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if (snprintf(address.sun_path, sizeof address.sun_path, "%s/agent", folder) >=
        (int)sizeof address.sun_path)
        return -ENAMETOOLONG;
    int listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (listener < 0)
        return -errno;
    (void)unlink(address.sun_path);
    mode_t mask = umask(0177);
    int error = bind(listener, (struct sockaddr *)&address, sizeof address) < 0 || listen(listener, 64) < 0
                    ? -errno
                    : listener;
    (void)umask(mask);
    if (error < 0)
        (void)close(listener);
    return error;
}

int requests_listen(struct agent *agent) {
    char path[PATH_MAX];
    int folder = open_runtime_folder(path);
    if (folder < 0)
        return -errno;
    int lock = openat(folder, "agent.lock", O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
    (void)close(folder);
    /* Held until the process ends. */
    if (lock < 0 || flock(lock, LOCK_EX | LOCK_NB) < 0)
        return -errno;
    int given = sd_listen_fds(1);
    if (given == 1 && sd_is_socket_unix(SD_LISTEN_FDS_START, SOCK_SEQPACKET, 1, NULL, 0) > 0)
        agent->listener = SD_LISTEN_FDS_START;
    else if (given == 0)
        agent->listener = make_listener(path);
    else
        return -EINVAL;
    return agent->listener < 0 ? agent->listener : fcntl(agent->listener, F_SETFL, O_NONBLOCK);
}

void requests_end(struct agent *agent) {
    for (size_t index = 0; index < AGENT_CONNECTIONS; index++) {
        if (agent->connections[index] != NULL)
            end(agent->connections[index]);
    }
    agent->requests = sd_event_source_unref(agent->requests);
}
