#define _GNU_SOURCE
#include "connection.h"

#include "owner.h"
#include "work.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/keyctl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

/* A client that sends no request within this time gets no reply. */
#define RECEIVE_MS 2000
/* A uid whose requests are refused is logged again after this time. */
#define LOG_AGAIN_S 86400

static uid_t read_overflow_uid(void) {
    unsigned uid = 65534;
    FILE *file = fopen("/proc/sys/kernel/overflowuid", "re");
    if (file == NULL)
        return uid;
    if (fscanf(file, "%u", &uid) != 1)
        uid = 65534;
    (void)fclose(file);
    return uid;
}

static uid_t overflow_uid(void) {
    static uid_t known = (uid_t)-1;
    if (known == (uid_t)-1)
        known = read_overflow_uid();
    return known;
}

bool connection_peer(int connection, uid_t *uid) {
    struct ucred peer;
    socklen_t length = sizeof peer;
    if (getsockopt(connection, SOL_SOCKET, SO_PEERCRED, &peer, &length) != 0 || length != sizeof peer)
        return false;
    *uid = peer.uid;
    return peer.uid != (uid_t)-1 && peer.uid != overflow_uid();
}

void connection_log(uid_t uid, enum reason reason) {
    const char *what = reason == REASON_LIMIT ? "more than 4 requests at a time" : "what another user sealed";
    fprintf(stderr, "<4>tokenkeep-tpm2: refused to uid %u: %s (logged once)\n", (unsigned)uid, what);
}

enum reason connection_serve(int connection, uid_t uid, const char *tcti) {
    static uint8_t message[MESSAGE_MAX];
    struct pollfd waiting = {.fd = connection, .events = POLLIN};
    if (poll(&waiting, 1, RECEIVE_MS) != 1)
        return REASON_REQUEST;
    /* With MSG_TRUNC, recv returns the message's whole length even if the buffer is shorter. The kernel
     * closes descriptors that the client passes with the message. */
    ssize_t length = recv(connection, message, sizeof message, MSG_DONTWAIT | MSG_TRUNC);
    if (length <= 0)
        return REASON_REQUEST;
    enum reason reason = REASON_REQUEST;
    if ((size_t)length > sizeof message)
        (void)work_refuse(connection, reason);
    else
        (void)work_on(message, (size_t)length, uid, tcti, connection, &reason);
    return reason;
}

/* Counts this request against the limit of the uid's owner (owner.h) until the process ends: locks one of the
 * owner's REQUESTS_OF_UID bytes of the file. False if all these bytes are locked. */
static bool take_place(const char *locks, uid_t uid) {
    int file = open(locks, O_RDWR | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    /* The device is absent: the request itself will fail and report that. */
    if (file < 0)
        return true;
    off_t first = (off_t)owner_of(uid) * REQUESTS_OF_UID;
    for (int place = 0; place < REQUESTS_OF_UID; place++) {
        struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = first + place, .l_len = 1};
        if (fcntl(file, F_OFD_SETLK, &lock) == 0)
            return true;
        /* The file system has no locks: requests cannot be counted, and are not limited. */
        if (errno != EAGAIN && errno != EACCES)
            return true;
    }
    (void)close(file);
    return false;
}

/* Whether no request of the uid was refused lately. Each request has a process of its own, so a key in root's
 * keyring remembers the refusal. */
static bool is_first_refusal(uid_t uid) {
    char name[64];
    (void)snprintf(name, sizeof name, "tokenkeep-tpm2:refused:%u", (unsigned)uid);
    if (syscall(SYS_keyctl, KEYCTL_SEARCH, KEY_SPEC_USER_KEYRING, "user", name, 0) >= 0)
        return false;
    /* Made in the thread's keyring, so that this process may set the key's permissions. Made in the user's
     * keyring, the key would not be found by other processes, which do not possess the key. */
    long key = syscall(SYS_add_key, "user", name, "1", 1, KEY_SPEC_THREAD_KEYRING);
    return key >= 0 && syscall(SYS_keyctl, KEYCTL_SET_TIMEOUT, key, LOG_AGAIN_S) == 0 &&
           syscall(SYS_keyctl, KEYCTL_SETPERM, key, 0x3f3f0000) == 0 &&
           syscall(SYS_keyctl, KEYCTL_LINK, key, KEY_SPEC_USER_KEYRING) == 0;
}

int connection_run(int connection, const char *tcti, const char *locks) {
    int type = 0;
    socklen_t length = sizeof type;
    uid_t uid;
    if (getsockopt(connection, SOL_SOCKET, SO_TYPE, &type, &length) != 0 || type != SOCK_SEQPACKET) {
        fprintf(stderr, "tokenkeep-tpm2: --connection needs a SOCK_SEQPACKET socket as standard input\n");
        return 2;
    }
    enum reason reason = REASON_UID;
    if (!connection_peer(connection, &uid))
        (void)work_refuse(connection, reason);
    else if (locks != NULL && !take_place(locks, uid))
        (void)work_refuse(connection, reason = REASON_LIMIT);
    else
        reason = connection_serve(connection, uid, tcti);
    if ((reason == REASON_UID || reason == REASON_LIMIT) && is_first_refusal(uid))
        connection_log(uid, reason);
    return 0;
}
