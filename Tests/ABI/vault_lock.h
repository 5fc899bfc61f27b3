/* SPDX-License-Identifier: Apache-2.0 */
/* The vault's lock, held by the test, so that a call waits inside of the library. */
#ifndef TOKENKEEP_TESTS_VAULT_LOCK_H
#define TOKENKEEP_TESTS_VAULT_LOCK_H

#include "../Support/check.h"
#include <fcntl.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* Locks the whole vault, for another descriptor than those of the library. Close it to release the lock. */
static inline int hold_lock(void) {
    char path[4096];
    struct flock range = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    snprintf(path, sizeof path, "%s/lock", getenv("TOKENKEEP_VAULT"));
    int descriptor = open(path, O_RDWR | O_CLOEXEC);
    CHECK(descriptor >= 0);
    CHECK_NUMBER(0, fcntl(descriptor, F_OFD_SETLK, &range));
    return descriptor;
}

/* The file of a lock that this descriptor holds, as the kernel lists it: MAJOR:MINOR:INODE. */
static inline int locked_file(int descriptor, char file[64]) {
    char line[256], path[64];
    int found = 0;
    snprintf(path, sizeof path, "/proc/self/fdinfo/%d", descriptor);
    FILE *facts = fopen(path, "r");
    while (facts != NULL && !found && fgets(line, sizeof line, facts) != NULL)
        found = sscanf(line, "lock: %*s %*s %*s %*s %*s %63s", file) == 1;
    if (facts != NULL)
        fclose(facts);
    return found;
}

/* The number of those that wait for the lock, which the kernel lists; -1 if that cannot be read. */
static inline int waiting(int descriptor) {
    char line[256], file[64];
    int count = 0;
    FILE *locks = fopen("/proc/locks", "r");
    if (!CHECK(locks != NULL && locked_file(descriptor, file)))
        return -1;
    while (fgets(line, sizeof line, locks) != NULL)
        count += strstr(line, "->") != NULL && strstr(line, file) != NULL;
    fclose(locks);
    return count;
}

/* Waits until `count` calls wait for the lock. False if they never do. */
static inline int await_waiting(int descriptor, int count) {
    time_t end = time(NULL) + CHECK_PATIENCE_S;
    while (waiting(descriptor) < count && time(NULL) < end)
        sched_yield();
    return waiting(descriptor) == count;
}

#endif
