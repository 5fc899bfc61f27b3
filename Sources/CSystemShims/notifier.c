#define _GNU_SOURCE
#include "CSystemShims.h"

#include <errno.h>
#include <poll.h>
#include <stddef.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <unistd.h>

int tokenkeep_notifier_open(void) {
    return inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
}

static uint32_t events_of(int what) {
    uint32_t mask = IN_DONT_FOLLOW | IN_DELETE_SELF | IN_MOVE_SELF;
    switch (what & TOKENKEEP_WATCH_KIND) {
    case TOKENKEEP_WATCH_FILE:
        mask |= IN_ATTRIB;
        break;
    case TOKENKEEP_WATCH_CONTENT:
        mask |= IN_ONLYDIR | IN_CREATE | IN_MOVED_TO | IN_MODIFY;
        break;
    default:
        mask |= IN_ONLYDIR;
    }
    if (what & TOKENKEEP_WATCH_ENTRIES)
        mask |= IN_CREATE | IN_MOVED_TO;
    if (what & TOKENKEEP_WATCH_REMOVALS)
        mask |= IN_DELETE | IN_MOVED_TO;
    return what & TOKENKEEP_WATCH_EXACT ? mask : mask | IN_MASK_ADD;
}

int tokenkeep_notifier_add(int notifier, const char *path, int what) {
    return inotify_add_watch(notifier, path, events_of(what));
}

void tokenkeep_notifier_remove(int notifier, int watch) {
    inotify_rm_watch(notifier, watch);
}

static int kind_of(uint32_t mask) {
    if (mask & IN_Q_OVERFLOW)
        return TOKENKEEP_NOTICE_OVERFLOW;
    return mask & (IN_ATTRIB | IN_MODIFY | IN_CREATE | IN_MOVED_TO) ? TOKENKEEP_NOTICE_WRITTEN
                                                                    : TOKENKEEP_NOTICE_MOVED;
}

size_t tokenkeep_notifier_read(int notifier, tokenkeep_notice *notices, size_t capacity) {
    /* The smallest event has no name: the buffer holds at most TOKENKEEP_NOTICES events. */
    char buffer[TOKENKEEP_NOTICES * sizeof(struct inotify_event)]
        __attribute__((aligned(__alignof__(struct inotify_event))));
    size_t count = 0;
    ssize_t length;
    if (capacity < TOKENKEEP_NOTICES)
        return 0;
    do {
        length = read(notifier, buffer, sizeof buffer);
    } while (length < 0 && errno == EINTR);
    for (size_t offset = 0; length > 0 && offset < (size_t)length;) {
        const struct inotify_event *event = (const struct inotify_event *)(buffer + offset);
        notices[count++] = (tokenkeep_notice){event->wd, kind_of(event->mask)};
        offset += sizeof *event + event->len;
    }
    return count;
}

int tokenkeep_wait_readable(int one, int other, uint32_t milliseconds) {
    int alarm = tokenkeep_alarm_open(milliseconds);
    if (alarm < 0)
        return errno;
    struct pollfd waits[3] = {{alarm, POLLIN, 0}, {one, POLLIN, 0}, {other, POLLIN, 0}};
    int error = poll(waits, 3, -1) >= 0 ? 0 : errno;
    close(alarm);
    return error;
}

int tokenkeep_flag_open(void) {
    return eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
}

void tokenkeep_flag_raise(int flag) {
    eventfd_write(flag, 1);
}

void tokenkeep_flag_lower(int flag) {
    eventfd_t value;
    eventfd_read(flag, &value);
}

int tokenkeep_either_open(int one, int other) {
    struct epoll_event event = {.events = EPOLLIN};
    int both = epoll_create1(EPOLL_CLOEXEC);
    if (both < 0)
        return -1;
    if (epoll_ctl(both, EPOLL_CTL_ADD, one, &event) == 0 &&
        epoll_ctl(both, EPOLL_CTL_ADD, other, &event) == 0)
        return both;
    int error = errno;
    close(both);
    errno = error;
    return -1;
}

int tokenkeep_either_add(int either, int another) {
    struct epoll_event event = {.events = EPOLLIN};
    return epoll_ctl(either, EPOLL_CTL_ADD, another, &event);
}

int tokenkeep_reader_watch(int written) {
    struct epoll_event event = {.events = 0}; /* EPOLLERR and EPOLLHUP come unasked */
    int watch = epoll_create1(EPOLL_CLOEXEC);
    if (watch < 0)
        return -1;
    if (epoll_ctl(watch, EPOLL_CTL_ADD, written, &event) == 0)
        return watch;
    int error = errno;
    close(watch);
    errno = error;
    return -1;
}
