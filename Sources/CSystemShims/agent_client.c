/* One request to the user's tokenkeep-agent and its reply. */
#define _GNU_SOURCE
#include "CSystemShims.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

int tokenkeep_agent_folder(char *path, size_t size) {
    const char *directory = secure_getenv("XDG_RUNTIME_DIR");
    int length = directory != NULL && directory[0] == '/'
                     ? snprintf(path, size, "%s/tokenkeep", directory)
                     : snprintf(path, size, "/run/user/%u/tokenkeep", (unsigned)geteuid());
    return length >= 0 && (size_t)length < size;
}

static int make_address(struct sockaddr_un *address) {
    static const char name[] = "/agent";
    if (!tokenkeep_agent_folder(address->sun_path, sizeof address->sun_path - (sizeof name - 1)))
        return 0;
    strcat(address->sun_path, name);
    return 1;
}

static uint64_t milliseconds_now(void) {
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

/* Lets the next call on the socket wait until the deadline. 0 if it has passed. */
static int limit_wait(int descriptor, int option, uint64_t deadline) {
    uint64_t now = milliseconds_now();
    if (now >= deadline)
        return 0;
    struct timeval left = {.tv_sec = (time_t)((deadline - now) / 1000),
                           .tv_usec = (suseconds_t)((deadline - now) % 1000 * 1000)};
    return setsockopt(descriptor, SOL_SOCKET, option, &left, sizeof left) == 0;
}

static int is_own_peer(int descriptor) {
    struct ucred peer;
    socklen_t length = sizeof peer;
    return getsockopt(descriptor, SOL_SOCKET, SO_PEERCRED, &peer, &length) == 0 && length == sizeof peer &&
           peer.uid == geteuid();
}

static int connect_until(int descriptor, uint64_t deadline) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if (!make_address(&address))
        return ENOENT;
    do {
        if (!limit_wait(descriptor, SO_SNDTIMEO, deadline))
            return ETIMEDOUT;
        if (connect(descriptor, (struct sockaddr *)&address, sizeof address) == 0)
            return is_own_peer(descriptor) ? 0 : ENOENT;
    } while (errno == EINTR);
    if (errno == EAGAIN)
        return ETIMEDOUT;
    /* Nobody listens, or there is no such directory. */
    return errno == ECONNREFUSED || errno == ENOTDIR ? ENOENT : errno;
}

static int exchange(int descriptor, const void *request, size_t length, uint64_t deadline, uint8_t *reply,
                    size_t capacity, size_t *reply_length) {
    ssize_t count;
    do {
        if (!limit_wait(descriptor, SO_SNDTIMEO, deadline))
            return ETIMEDOUT;
        count = send(descriptor, request, length, MSG_NOSIGNAL);
    } while (count < 0 && errno == EINTR);
    if (count != (ssize_t)length)
        return count < 0 && errno == EAGAIN ? ETIMEDOUT : EPROTO;
    do {
        if (!limit_wait(descriptor, SO_RCVTIMEO, deadline))
            return ETIMEDOUT;
        count = recv(descriptor, reply, capacity, MSG_TRUNC);
    } while (count < 0 && errno == EINTR);
    if (count <= 0 || (size_t)count > capacity)
        return count < 0 && errno == EAGAIN ? ETIMEDOUT : EPROTO;
    *reply_length = (size_t)count;
    return 0;
}

int tokenkeep_agent_ask(const void *request, size_t length, uint32_t timeout_ms, uint8_t *reply,
                        size_t capacity, size_t *reply_length) {
    uint64_t deadline = milliseconds_now() + timeout_ms;
    int descriptor = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    if (descriptor < 0)
        return errno;
    int error = connect_until(descriptor, deadline);
    if (error == 0)
        error = exchange(descriptor, request, length, deadline, reply, capacity, reply_length);
    (void)close(descriptor);
    return error;
}
