/* One request to the user's tokenkeep-agent and its reply. */
#define _GNU_SOURCE
#include "CSystemShims.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/un.h>
#include <unistd.h>

int tokenkeep_agent_folder(char *path, size_t size) {
    const char *directory = secure_getenv("XDG_RUNTIME_DIR");
    int length = directory != NULL && directory[0] == '/'
                     ? snprintf(path, size, "%s/tokenkeep", directory)
                     : snprintf(path, size, "/run/user/%u/tokenkeep", (unsigned)geteuid());
    return length >= 0 && (size_t)length < size;
}

int tokenkeep_agent_ask(const void *request, size_t length, uint32_t timeout_ms, uint8_t *reply,
                        size_t capacity, size_t *reply_length) {
    static const char name[] = "/agent";
    char path[sizeof((struct sockaddr_un *)0)->sun_path];
    if (!tokenkeep_agent_folder(path, sizeof path - (sizeof name - 1)))
        return ENOENT;
    strcat(path, name);
    int error = tokenkeep_socket_ask(path, geteuid(), TOKENKEEP_MESSAGE, request, length, timeout_ms, reply,
                                     capacity, reply_length);
    /* A program of another user listens at the socket, so this user has no agent there. */
    return error == EPERM ? ENOENT : error;
}
