/* Counts the derivations of keys, and holds them up. Loaded into the program under test by LD_PRELOAD.
 *
 * Appends a byte to the file TOKENKEEP_TEST_DERIVATIONS for each mapping of 64 MiB, which is the memory of
 * one derivation. Waits while the file with `.hold` added to its name is there. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { DERIVATION = 64 * 1024 * 1024 };

static void count(void) {
    const char *path = getenv("TOKENKEEP_TEST_DERIVATIONS");
    char hold[PATH_MAX];
    const struct timespec pause = {0, 10 * 1000 * 1000};
    if (path == NULL)
        return;
    int file = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    if (file < 0 || write(file, ".", 1) != 1)
        abort();
    close(file);
    (void)snprintf(hold, sizeof hold, "%s.hold", path);
    while (access(hold, F_OK) == 0)
        syscall(SYS_nanosleep, &pause, NULL);
}

void *mmap(void *address, size_t length, int protection, int flags, int file, off_t offset) {
    if (length == DERIVATION)
        count();
    return (void *)syscall(SYS_mmap, address, length, protection, flags, file, offset);
}
