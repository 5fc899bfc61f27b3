#define _GNU_SOURCE
#include "requests.h"

#include "timers.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define SIGNATURE        "TKA1"
#define SIGNATURE_LENGTH 4
#define HEAD_LENGTH      (SIGNATURE_LENGTH + 1)
#define HOLD_LENGTH      (HEAD_LENGTH + sizeof(struct class_key))
#define DROP_LENGTH      (HEAD_LENGTH + VAULT_ID_LENGTH)

_Static_assert(sizeof(struct class_key) == VAULT_ID_LENGTH + 1 + KEY_ID_LENGTH + KEY_LENGTH,
               "the key is read from the request as it is");

enum operation { STATUS = 1, HOLD = 2, LOCK = 3, DROP = 4 };

struct connection {
    struct requests *requests;
    uint64_t number;
    int descriptor;
    sd_event_source *source;
};

static void end(struct connection *connection) {
    for (size_t index = 0; index < AGENT_CONNECTIONS; index++) {
        if (connection->requests->connections[index] == connection)
            connection->requests->connections[index] = NULL;
    }
    (void)sd_event_source_set_enabled(connection->source, SD_EVENT_OFF);
    sd_event_source_unref(connection->source);
    (void)close(connection->descriptor);
    free(connection);
}

bool requests_is_asked(const struct requests *requests) {
    return requests->asking != NULL;
}

void requests_reply(struct requests *requests, uint32_t status, uint8_t bits, enum lock_word word) {
    uint8_t message[64] = SIGNATURE;
    for (int index = 0; index < 4; index++)
        message[SIGNATURE_LENGTH + index] = (uint8_t)(status >> (24 - 8 * index));
    message[SIGNATURE_LENGTH + 4] = bits;
    const char *text = lock_word_text(word);
    size_t length = SIGNATURE_LENGTH + 5 + strlen(text);
    memcpy(message + SIGNATURE_LENGTH + 5, text, strlen(text));
    (void)send(requests->asking->descriptor, message, length, MSG_NOSIGNAL | MSG_DONTWAIT);
    explicit_bzero(requests->buffer, requests->buffer_size);
    end(requests->asking);
    requests->asking = NULL;
}

/* Whether the client still waits for the reply. The request of a client that gave up must not be carried out,
 * because the client has reported to its user that nothing is unlocked. */
static bool is_awaited(const struct connection *connection) {
    struct pollfd poll_descriptor = {.fd = connection->descriptor, .events = POLLRDHUP};
    return poll(&poll_descriptor, 1, 0) == 0;
}

/* Writes a request into the facts. False if the message is not exactly one request: such a message gets no
 * reply. */
static bool tell(const struct connection *connection, const uint8_t *request, size_t length) {
    struct facts *facts = connection->requests->facts;
    const struct class_key *key = (const struct class_key *)(request + HEAD_LENGTH);
    if (length < HEAD_LENGTH || memcmp(request, SIGNATURE, SIGNATURE_LENGTH) != 0)
        return false;
    switch (request[SIGNATURE_LENGTH]) {
    case STATUS:
        return length == HEAD_LENGTH;
    case HOLD:
        if (length != HOLD_LENGTH || !class_keys_takes(key->purpose) || !is_awaited(connection))
            return false;
        facts_tell(facts, EVENT_HOLD, WORD_NO_LOCK);
        facts->event.key = key;
        return true;
    case LOCK:
        if (length != HEAD_LENGTH)
            return false;
        facts_tell(facts, EVENT_LOCKED_ONCE, WORD_REQUEST);
        return true;
    case DROP:
        if (length != DROP_LENGTH)
            return false;
        facts_tell(facts, EVENT_DROP, WORD_NO_LOCK);
        facts->event.vault_id = request + HEAD_LENGTH;
        return true;
    default:
        return false;
    }
}

static int on_request(sd_event_source *source, int descriptor, uint32_t events, void *data) {
    (void)source, (void)events;
    struct connection *connection = data;
    struct requests *requests = connection->requests;
    /* With MSG_TRUNC, recv returns the message's whole length even if the buffer is shorter. The kernel
     * closes descriptors that the client passes with the message. */
    ssize_t length = recv(descriptor, requests->buffer, requests->buffer_size, MSG_DONTWAIT | MSG_TRUNC);
    if (length < 0 && (errno == EAGAIN || errno == EINTR))
        return 0;
    if (length > 0 && (size_t)length <= requests->buffer_size &&
        tell(connection, requests->buffer, (size_t)length)) {
        requests->asking = connection;
        return 0;
    }
    explicit_bzero(requests->buffer, requests->buffer_size);
    end(connection);
    return 0;
}

/* An unused place for a connection. If there is none, closes the oldest connection, which has sent no request
 * yet. */
static struct connection **place_for_connection(struct requests *requests) {
    struct connection **oldest = &requests->connections[0];
    for (size_t index = 0; index < AGENT_CONNECTIONS; index++) {
        struct connection **place = &requests->connections[index];
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
    struct requests *requests = data;
    int descriptor = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (descriptor < 0)
        return 0;
    struct connection *connection = is_own_peer(descriptor) ? calloc(1, sizeof *connection) : NULL;
    if (connection == NULL) {
        (void)close(descriptor);
        return 0;
    }
    struct connection **place = place_for_connection(requests);
    connection->requests = requests;
    connection->descriptor = descriptor;
    connection->number = ++requests->connection_count;
    *place = connection;
    if (sd_event_add_io(requests->event, &connection->source, descriptor, EPOLLIN, on_request, connection) <
            0 ||
        sd_event_source_set_priority(connection->source, PRIORITY_REQUEST) < 0)
        end(connection);
    return 0;
}

void requests_serve(struct requests *requests) {
    if (sd_event_add_io(requests->event, &requests->source, requests->listener, EPOLLIN, on_connection,
                        requests) >= 0)
        (void)sd_event_source_set_priority(requests->source, PRIORITY_REQUEST);
}

void requests_end(struct requests *requests) {
    for (size_t index = 0; index < AGENT_CONNECTIONS; index++) {
        if (requests->connections[index] != NULL)
            end(requests->connections[index]);
    }
    requests->source = sd_event_source_unref(requests->source);
}
