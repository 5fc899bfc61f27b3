/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Derives a key and stops itself (SIGSTOP) during the first pass over the blocks, and after the end, so that
 * a core can be taken of it.
 *
 * derive PASSES MEMORY_KIB: reads 32 bytes of a password and 16 of a salt from standard input. Prints
 * "deriving" before the first stop, "derived" before the second.
 */
#define _GNU_SOURCE
#include "CSystemShims.h"

#include <signal.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

enum { PASSWORD = 32, SALT = 16, FIRST_PASS_MS = 30 };

static void say_and_stop(const char *word) {
    puts(word);
    fflush(stdout);
    kill(getpid(), SIGSTOP);
}

static long user_ms(void) {
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_utime.tv_sec * 1000 + usage.ru_utime.tv_usec / 1000;
}

/* Called by the thread that waits. The thread that derives is alone in using time. */
static int stop_once(const void *data) {
    static int has_stopped;
    if (!has_stopped && user_ms() - *(const long *)data >= FIRST_PASS_MS) {
        has_stopped = 1;
        say_and_stop("deriving");
    }
    return 0;
}

static void read_all(void *bytes, size_t length) {
    size_t done = 0;
    ssize_t count;
    while (done < length && (count = read(STDIN_FILENO, (char *)bytes + done, length - done)) > 0)
        done += (size_t)count;
}

int main(int count, char **arguments) {
    if (count != 3 || sodium_init() < 0)
        return 2;
    prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY); /* else only a parent may attach, if Yama says so */
    unsigned char *password = sodium_malloc(PASSWORD), *derived = sodium_malloc(TOKENKEEP_DERIVED_LENGTH);
    unsigned char salt[SALT];
    read_all(password, PASSWORD);
    read_all(salt, SALT);
    tokenkeep_derivation derivation = {
        .password = password,
        .password_length = PASSWORD,
        .salt = salt,
        .salt_length = SALT,
        .passes = (uint32_t)atoi(arguments[1]),
        .memory_kib = (uint32_t)atoi(arguments[2]),
    };
    long start = user_ms();
    int error = tokenkeep_derive(&derivation, 600000, stop_once, &start, derived);
    sodium_free(password);
    sodium_free(derived);
    say_and_stop(error == 0 ? "derived" : "failed");
    return error != 0;
}
