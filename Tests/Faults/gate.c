/*
 * Holds back a message at the last moment before it is sent: LD_PRELOAD for a program that talks over D-Bus.
 *
 * Where GATE names a directory and the file "closed" is in it, a message with the word GATE_WORD waits in
 * send(2) until that file is gone; "waiting-PID" says that it does, "sent-PID" that it is on its way.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

static int is_there(const char *name) {
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", getenv("GATE"), name);
    return access(path, F_OK) == 0;
}

static void tell(const char *what) {
    char path[4096];
    snprintf(path, sizeof path, "%s/%s-%d", getenv("GATE"), what, (int)getpid());
    close(open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
}

/* Whether the message had to wait. */
static int wait_at_gate(const struct iovec *parts, size_t count) {
    const struct timespec moment = {0, 1000000};
    const char *word = getenv("GATE_WORD");
    int is_meant = 0;
    if (word == NULL || getenv("GATE") == NULL || !is_there("closed"))
        return 0;
    for (size_t i = 0; i < count; i++)
        is_meant |= memmem(parts[i].iov_base, parts[i].iov_len, word, strlen(word)) != NULL;
    if (!is_meant)
        return 0;
    tell("waiting");
    while (is_there("closed"))
        nanosleep(&moment, NULL);
    return 1;
}

ssize_t sendmsg(int socket, const struct msghdr *message, int flags) {
    ssize_t (*real)(int, const struct msghdr *, int) = NULL;
    *(void **)&real = dlsym(RTLD_NEXT, "sendmsg");
    int waited = wait_at_gate(message->msg_iov, message->msg_iovlen);
    ssize_t sent = real(socket, message, flags);
    if (waited)
        tell("sent");
    return sent;
}

ssize_t send(int socket, const void *bytes, size_t length, int flags) {
    ssize_t (*real)(int, const void *, size_t, int) = NULL;
    *(void **)&real = dlsym(RTLD_NEXT, "send");
    struct iovec part = {(void *)bytes, length};
    int waited = wait_at_gate(&part, 1);
    ssize_t sent = real(socket, bytes, length, flags);
    if (waited)
        tell("sent");
    return sent;
}
