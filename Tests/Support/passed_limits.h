/* SPDX-License-Identifier: Apache-2.0 */
/* Lets the limits of calls pass by the tests' clock. Programs that use it link Clock/page.c. */
#ifndef TOKENKEEP_TESTS_PASSED_LIMITS_H
#define TOKENKEEP_TESTS_PASSED_LIMITS_H

#include "Clock/include/test_clock.h"

#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

/* The limit of calls that such a test lets pass: no machine is so slow that the limit passes by itself. */
enum { PASSED_LIMIT_MS = TEST_PATIENCE_S * 1000 };

static atomic_int passed_limits_are_over;
static pthread_t passed_limits_thread;

static void *pass_limits(void *unused) {
    test_clock_page *page = test_clock_of_environment();
    (void)unused;
    while (page != NULL && !passed_limits_are_over) {
        int64_t next = test_clock_next_deadline(page, getpid(), TEST_CLOCK_ROUNDS),
                now = test_clock_now(page);
        if (next != INT64_MAX && next > now)
            test_clock_advance(page, next - now > 1000000000 ? next - now : 1000000000);
        test_clock_real_pause(1000000);
    }
    return NULL;
}

/* From now on the clock shows each moment for which a thread of this process waits. Without the clock, as
 * under AddressSanitizer, limits pass by themselves. */
static inline int begin_passing_limits(void) {
    passed_limits_are_over = 0;
    return pthread_create(&passed_limits_thread, NULL, pass_limits, NULL) == 0;
}

static inline void end_passing_limits(void) {
    passed_limits_are_over = 1;
    pthread_join(passed_limits_thread, NULL);
}

#endif
