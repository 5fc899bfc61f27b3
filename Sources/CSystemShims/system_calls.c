#define _GNU_SOURCE
#include "CSystemShims.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/auxv.h>
#include <sys/socket.h>
#include <unistd.h>

int tokenkeep_is_secure_execution(void) {
    return getauxval(AT_SECURE) != 0;
}

int tokenkeep_openat(int directory, const char *path, int flags, mode_t mode) {
    int descriptor;
    do {
        descriptor = openat(directory, path, flags, mode);
    } while (descriptor < 0 && errno == EINTR);
    if (descriptor >= 0 && flags & O_CREAT)
        tokenkeep_undo_umask(descriptor, mode);
    return descriptor;
}

void tokenkeep_undo_umask(int descriptor, mode_t mode) {
    struct stat status;
    if (fstat(descriptor, &status) == 0 && S_ISREG(status.st_mode) && status.st_uid == geteuid() &&
        (status.st_mode & mode & 0600) != (mode & 0600))
        fchmod(descriptor, mode);
}

int tokenkeep_mkdirat(int directory, const char *path) {
    struct stat status;
    if (mkdirat(directory, path, 0700) != 0)
        return -1;
    if (fstatat(directory, path, &status, AT_SYMLINK_NOFOLLOW) != 0)
        return -1;
    return (status.st_mode & 0700) == 0700 ? 0 : fchmodat(directory, path, 0700, 0);
}

int tokenkeep_fstat(int descriptor, struct stat *status) {
    return fstat(descriptor, status);
}

int tokenkeep_fstatat(int directory, const char *path, struct stat *status, int flags) {
    return fstatat(directory, path, status, flags);
}

int tokenkeep_syncfs(int descriptor) {
    return syncfs(descriptor);
}

int tokenkeep_socket_peer(int socket, uid_t *user) {
    int family = 0;
    struct ucred peer;
    socklen_t family_size = sizeof family, peer_size = sizeof peer;
    if (getsockopt(socket, SOL_SOCKET, SO_DOMAIN, &family, &family_size) != 0 || family != AF_UNIX)
        return -1;
    if (getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &peer_size) != 0 || peer.uid == (uid_t)-1)
        return -1;
    *user = peer.uid;
    return 0;
}
