/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Unlocks the vault and loads an item. A debugger takes cores of the process on the way (unlock-remains.sh).
 *
 * unlock_remains LENGTH: the password of LENGTH bytes comes from standard input.
 */
#define _GNU_SOURCE
#include "store_test.h"
#include <sys/mman.h>
#include <sys/time.h>
#include <unistd.h>

/* The debugger stops here. */
__attribute__((noinline)) void is_unlocked(void) {
    __asm__ volatile("");
}

__attribute__((noinline)) void is_loaded(void) {
    __asm__ volatile("");
}

/* The processor time after which the debugger stops the unlock: Argon2id needs 90 ms and more. */
enum { INTO_THE_DERIVATION_MICROSECONDS = 30000 };

int main(int count, char **arguments) {
    struct itimerval timer = {.it_value = {0, INTO_THE_DERIVATION_MICROSECONDS}}, none = {{0, 0}, {0, 0}};
    size_t length = count > 1 ? strtoul(arguments[1], NULL, 10) : 0;
    tokenkeep_store *store = open_store();
    /* The caller's copy of the password is in no core, else every core would hold the password. */
    char *password = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (password == MAP_FAILED || madvise(password, 4096, MADV_DONTDUMP) != 0 ||
        read(STDIN_FILENO, password, length) != (ssize_t)length ||
        setitimer(ITIMER_PROF, &timer, NULL) != 0) {
        return 2;
    }
    tokenkeep_status status = tokenkeep_unlock(store, password, length, NULL);
    setitimer(ITIMER_PROF, &none, NULL);
    munmap(password, 4096);
    is_unlocked();
    if (status == TOKENKEEP_OK) {
        tokenkeep_item_free(load(store, "remains", "a"));
    }
    is_loaded();
    tokenkeep_close(store);
    return status != TOKENKEEP_OK;
}
