#define _GNU_SOURCE
#include "listener.h"

#include "../CSystemShims/include/CSystemShims.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <systemd/sd-daemon.h>
#include <unistd.h>

/* Makes the socket's directory if the parent directory belongs to the user or to root. The parent may belong
 * to another user, as with sudo -E; a directory of this user in it would exclude that user's agent. Returns 0
 * or an errno. */
static int make_runtime_folder(char *path) {
    char *slash = strrchr(path, '/');
    struct stat status;
    *slash = '\0';
    int error = stat(slash == path ? "/" : path, &status) == 0 ? 0 : errno;
    *slash = '/';
    if (error == 0 && status.st_uid != geteuid() && status.st_uid != 0)
        error = EPERM;
    if (error == 0)
        error = mkdir(path, 0700) == 0 ? 0 : errno;
    return error == EEXIST ? 0 : error;
}

/* Opens the socket's directory, which must be the user's. */
static int open_runtime_folder(char path[PATH_MAX]) {
    if (!tokenkeep_agent_folder(path, PATH_MAX)) {
        errno = ENAMETOOLONG;
        return -1;
    }
    int made = make_runtime_folder(path);
    int folder = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    struct stat status;
    if (folder >= 0 && fstat(folder, &status) == 0 && status.st_uid == geteuid() &&
        (status.st_mode & 077) == 0)
        return folder;
    if (folder >= 0)
        (void)close(folder);
    errno = folder >= 0 ? EPERM : made != 0 ? made : errno;
    return -1;
}

/* Makes the socket. The caller holds the directory's lock, so no other agent uses the directory. */
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

int listener_open(void) {
    char path[PATH_MAX];
    int folder = open_runtime_folder(path);
    if (folder < 0)
        return -errno;
    int lock = openat(folder, "agent.lock", O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
    (void)close(folder);
    /* The lock is held until the process ends. */
    if (lock < 0 || flock(lock, LOCK_EX | LOCK_NB) < 0)
        return -errno;
    int given = sd_listen_fds(1), listener = -EINVAL;
    if (given == 1 && sd_is_socket_unix(SD_LISTEN_FDS_START, SOCK_SEQPACKET, 1, NULL, 0) > 0)
        listener = SD_LISTEN_FDS_START;
    else if (given == 0)
        listener = make_listener(path);
    if (listener >= 0 && fcntl(listener, F_SETFL, O_NONBLOCK) < 0)
        return -errno;
    return listener;
}
