#define _GNU_SOURCE
#include "CSystemdBus.h"

#include <malloc.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>

int64_t tokenkeep_bus_owner(sd_bus *bus) {
    struct ucred peer = {0};
    socklen_t length = sizeof peer;
    int descriptor = sd_bus_get_fd(bus);
    if (descriptor < 0 || getsockopt(descriptor, SOL_SOCKET, SO_PEERCRED, &peer, &length) != 0)
        return -1;
    return (int64_t)peer.uid;
}

int tokenkeep_signals_open(void) {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGHUP);
    if (sigprocmask(SIG_BLOCK, &set, NULL) != 0)
        return -1;
    signal(SIGPIPE, SIG_IGN);
    return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

int tokenkeep_event_open(void) {
    return eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
}

void tokenkeep_share_heap(void) {
    mallopt(M_ARENA_MAX, 1);
}

void tokenkeep_forbid_cores(void) {
    struct rlimit none = {0, 0};
    setrlimit(RLIMIT_CORE, &none);
}
