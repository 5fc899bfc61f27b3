/* Sends one request to a program that listens on a socket, and receives its reply, as messages or over a
 * stream. */
#define _GNU_SOURCE
#include "CSystemShims.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

/* Limits the wait of the next call on the socket to the deadline. Returns 0 if the deadline has passed. */
static int limit_wait(int descriptor, int option, int64_t deadline) {
    int milliseconds = tokenkeep_timeout_until(deadline);
    struct timeval left = {.tv_sec = milliseconds / 1000, .tv_usec = milliseconds % 1000 * 1000};
    return milliseconds > 0 && setsockopt(descriptor, SOL_SOCKET, option, &left, sizeof left) == 0;
}

static int is_peer(int descriptor, uid_t user) {
    struct ucred peer;
    socklen_t length = sizeof peer;
    return getsockopt(descriptor, SOL_SOCKET, SO_PEERCRED, &peer, &length) == 0 && length == sizeof peer &&
           peer.uid == user;
}

/* Waits while the listener's queue is full. */
static int connect_until(int descriptor, const char *path, uid_t user, int64_t deadline) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if (strlen(path) >= sizeof address.sun_path)
        return ENAMETOOLONG;
    strcpy(address.sun_path, path);
    do {
        if (!limit_wait(descriptor, SO_SNDTIMEO, deadline))
            return ETIMEDOUT;
        if (connect(descriptor, (struct sockaddr *)&address, sizeof address) == 0)
            return is_peer(descriptor, user) ? 0 : EPERM;
    } while (errno == EINTR);
    if (errno == EAGAIN)
        return ETIMEDOUT;
    /* No program listens at the socket, or the socket's directory does not exist. */
    return errno == ECONNREFUSED || errno == ENOTDIR ? ENOENT : errno;
}

static int send_message(int descriptor, const void *request, size_t length, int64_t deadline) {
    ssize_t count;
    do {
        if (!limit_wait(descriptor, SO_SNDTIMEO, deadline))
            return ETIMEDOUT;
        count = send(descriptor, request, length, MSG_NOSIGNAL);
    } while (count < 0 && errno == EINTR);
    /* These errors do not matter: a peer that refuses the request may have replied and closed the connection
     * before it read the request. */
    if (count == (ssize_t)length || (count < 0 && (errno == EPIPE || errno == ECONNRESET)))
        return 0;
    return count < 0 && errno == EAGAIN ? ETIMEDOUT : EPROTO;
}

static int receive_message(int descriptor, int64_t deadline, uint8_t *reply, size_t capacity,
                           size_t *reply_length) {
    ssize_t count;
    int resets = 0;
    do {
        if (!limit_wait(descriptor, SO_RCVTIMEO, deadline))
            return ETIMEDOUT;
        count = recv(descriptor, reply, capacity, MSG_TRUNC);
        /* The kernel reports once, by ECONNRESET, that the peer did not read the request. The next call may
         * return the peer's reply. */
    } while (count < 0 && (errno == EINTR || (errno == ECONNRESET && resets++ == 0)));
    if (count <= 0 || (size_t)count > capacity)
        return count < 0 && errno == EAGAIN ? ETIMEDOUT : EPROTO;
    *reply_length = (size_t)count;
    return 0;
}

/* Sends a request over a stream, in several parts if necessary. The peer recognises the request's end by its
 * last byte. */
static int send_text(int descriptor, const void *text, size_t length, int64_t deadline) {
    const uint8_t *request = text;
    while (length > 0) {
        if (!limit_wait(descriptor, SO_SNDTIMEO, deadline))
            return ETIMEDOUT;
        ssize_t count = send(descriptor, request, length, MSG_NOSIGNAL);
        if (count < 0 && errno == EINTR)
            continue;
        if (count < 0)
            return errno == EAGAIN ? ETIMEDOUT : EPROTO;
        request += count;
        length -= (size_t)count;
    }
    return 0;
}

/* Receives bytes up to the first NUL, and no more than capacity of them. */
static int receive_text(int descriptor, int64_t deadline, uint8_t *reply, size_t capacity,
                        size_t *reply_length) {
    size_t filled = 0;
    while (filled < capacity) {
        if (!limit_wait(descriptor, SO_RCVTIMEO, deadline))
            return ETIMEDOUT;
        ssize_t count = recv(descriptor, reply + filled, capacity - filled, 0);
        if (count < 0 && errno == EINTR)
            continue;
        if (count <= 0)
            return count < 0 && errno == EAGAIN ? ETIMEDOUT : EPROTO;
        const uint8_t *end = memchr(reply + filled, 0, (size_t)count);
        filled += (size_t)count;
        if (end != NULL) {
            *reply_length = (size_t)(end - reply);
            return 0;
        }
    }
    return EMSGSIZE;
}

int tokenkeep_socket_ask(const char *path, uid_t user, tokenkeep_framing framing, const void *request,
                         size_t length, uint32_t timeout_ms, uint8_t *reply, size_t capacity,
                         size_t *reply_length) {
    int64_t deadline = tokenkeep_deadline_after(timeout_ms);
    int is_text = framing == TOKENKEEP_TEXT_TO_NUL;
    int descriptor = socket(AF_UNIX, (is_text ? SOCK_STREAM : SOCK_SEQPACKET) | SOCK_CLOEXEC, 0);
    if (descriptor < 0)
        return errno;
    int error = connect_until(descriptor, path, user, deadline);
    if (error == 0)
        error = (is_text ? send_text : send_message)(descriptor, request, length, deadline);
    if (error == 0)
        error =
            (is_text ? receive_text : receive_message)(descriptor, deadline, reply, capacity, reply_length);
    (void)close(descriptor);
    return error;
}
