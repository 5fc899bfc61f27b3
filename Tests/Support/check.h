/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A tiny test harness for C programs. A test is a function; RUN prints one line for it, "ok NAME" or "FAIL
 * NAME" with each check that failed before it. A check that fails does not end its test: say `if
 * (!CHECK(...)) return;` where the rest would make no sense. main returns check_result().
 */
#ifndef TOKENKEEP_TESTS_CHECK_H
#define TOKENKEEP_TESTS_CHECK_H

#include "Clock/include/test_clock.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* After so long a test fails that waits for another process, and a call that must succeed. No test measures a
 * time with this limit. */
enum { CHECK_PATIENCE_S = TEST_PATIENCE_S, CHECK_PATIENCE_MS = TEST_PATIENCE_S * 1000 };

static int check_failures_here; /* of the test that runs */
static int check_failed_tests;

static inline int check_that(int holds, const char *file, int line, const char *text) {
    if (!holds) {
        check_failures_here++;
        printf("     %s:%d: not so: %s\n", file, line, text);
    }
    return holds;
}

static inline int check_number(intmax_t expected, intmax_t got, const char *file, int line,
                               const char *text) {
    if (expected != got) {
        check_failures_here++;
        printf("     %s:%d: %s is %jd, expected %jd\n", file, line, text, got, expected);
    }
    return expected == got;
}

static inline int check_text(const char *expected, const char *got, const char *file, int line,
                             const char *text) {
    int same = expected == NULL || got == NULL ? expected == got : strcmp(expected, got) == 0;
    if (!same) {
        check_failures_here++;
        printf("     %s:%d: %s is \"%s\", expected \"%s\"\n", file, line, text, got ? got : "(NULL)",
               expected ? expected : "(NULL)");
    }
    return same;
}

#define CHECK(condition)              check_that((condition) ? 1 : 0, __FILE__, __LINE__, #condition)
#define CHECK_NUMBER(expected, value) check_number((expected), (value), __FILE__, __LINE__, #value)
#define CHECK_TEXT(expected, value)   check_text((expected), (value), __FILE__, __LINE__, #value)

static inline void check_end(const char *name) {
    printf("%s %s\n", check_failures_here ? "FAIL" : "ok  ", name);
    fflush(stdout);
    if (check_failures_here) {
        check_failed_tests++;
    }
    check_failures_here = 0;
}

#define RUN(test)                                                                                            \
    do {                                                                                                     \
        test();                                                                                              \
        check_end(#test);                                                                                    \
    } while (0)

static inline int check_result(void) {
    return check_failed_tests ? 1 : 0;
}

#endif
