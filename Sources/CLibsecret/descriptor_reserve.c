#define _GNU_SOURCE
#include "descriptor_reserve.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

static int take_one(const descriptor_reserve *reserve) {
    if (reserve->count > 0)
        return fcntl(reserve->held[0], F_DUPFD_CLOEXEC, 0);
    return open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

int descriptor_reserve_take(descriptor_reserve *reserve, int count) {
    const int largest = sizeof reserve->held / sizeof *reserve->held;
    while (reserve->count < count && reserve->count < largest) {
        int descriptor = take_one(reserve);
        if (descriptor < 0)
            return EMFILE;
        reserve->held[reserve->count++] = descriptor;
    }
    return 0;
}

void descriptor_reserve_lend(descriptor_reserve *reserve, int count) {
    while (count-- > 0 && reserve->count > 0)
        close(reserve->held[--reserve->count]);
}

void descriptor_reserve_release(descriptor_reserve *reserve) {
    descriptor_reserve_lend(reserve, reserve->count);
}
