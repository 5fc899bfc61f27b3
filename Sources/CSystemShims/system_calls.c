#define _GNU_SOURCE
#include "CSystemShims.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/auxv.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

int tokenkeep_is_secure_execution(void) {
    return getauxval(AT_SECURE) != 0;
}

/* Gives a new file of this user the permission bits of `mode` that umask(2) removed. A failure is ignored,
 * because the next use of the file reports it. */
static void complete_mode(int descriptor, mode_t mode) {
    struct stat status;
    if (tokenkeep_fstat(descriptor, &status) == 0 && status.st_uid == geteuid() &&
        (status.st_mode & mode) != mode)
        TEMP_FAILURE_RETRY(fchmod(descriptor, (status.st_mode & 07777) | mode));
}

int tokenkeep_openat(int directory, const char *path, int flags, mode_t mode) {
    int descriptor = TEMP_FAILURE_RETRY(openat(directory, path, flags, mode));
    if (descriptor >= 0 && (flags & O_CREAT) != 0)
        complete_mode(descriptor, mode);
    return descriptor;
}

int tokenkeep_mkdirat(int directory, const char *path) {
    struct stat status;
    if (TEMP_FAILURE_RETRY(mkdirat(directory, path, 0700)) != 0)
        return -1;
    if (tokenkeep_fstatat(directory, path, &status, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISDIR(status.st_mode))
        return -1;
    return (status.st_mode & 0700) == 0700 ? 0 : TEMP_FAILURE_RETRY(fchmodat(directory, path, 0700, 0));
}

/* Writes while `signal` is blocked. The kernel sends this signal to the thread together with the error
 * `failure`, and the signal would end the host. */
static ssize_t write_without(int signal, int failure, int descriptor, const void *bytes, size_t count,
                             off_t offset) {
    sigset_t limit, before, pending;
    sigemptyset(&limit);
    sigaddset(&limit, signal);
    pthread_sigmask(SIG_BLOCK, &limit, &before);
    ssize_t written;
    do {
        written = offset < 0 ? write(descriptor, bytes, count) : pwrite(descriptor, bytes, count, offset);
    } while (written < 0 && errno == EINTR);
    int error = errno;
    if (written < 0 && error == failure && sigismember(&before, signal) == 0 && sigpending(&pending) == 0 &&
        sigismember(&pending, signal) == 1)
        sigtimedwait(&limit, NULL, &(struct timespec){0});
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    errno = error;
    return written;
}

ssize_t tokenkeep_write(int descriptor, const void *bytes, size_t count, off_t offset) {
    return write_without(SIGXFSZ, EFBIG, descriptor, bytes, count, offset);
}

ssize_t tokenkeep_write_pipe(int descriptor, const void *bytes, size_t count) {
    return write_without(SIGPIPE, EPIPE, descriptor, bytes, count, -1);
}

int tokenkeep_fstat(int descriptor, struct stat *status) {
    return TEMP_FAILURE_RETRY(fstat(descriptor, status));
}

int tokenkeep_fstatat(int directory, const char *path, struct stat *status, int flags) {
    return TEMP_FAILURE_RETRY(fstatat(directory, path, status, flags));
}

int tokenkeep_syncfs(int descriptor) {
    return TEMP_FAILURE_RETRY(syncfs(descriptor));
}

int tokenkeep_accept(int socket) {
    int connection;
    do
        connection = accept4(socket, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    while (connection < 0 && errno == EINTR);
    return connection;
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
int tokenkeep_reserve_space(int directory, off_t length) {
    int file = TEMP_FAILURE_RETRY(openat(directory, ".", O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600));
    if (file < 0)
        return -1;
    if (TEMP_FAILURE_RETRY(fallocate(file, 0, 0, length)) == 0)
        return file;
    int error = errno;
    close(file);
    errno = error;
    return -1;
}
