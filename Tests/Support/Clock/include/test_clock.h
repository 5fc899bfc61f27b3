/* The clock that tests move. Programs that run with preload.c read the monotonic clock from a page of shared
 * memory: the page says how fast the clock goes, and a test can set it forward. A test can also set the wall
 * clock that the programs read. The boot clock goes as it is. */
#ifndef TOKENKEEP_TEST_CLOCK_H
#define TOKENKEEP_TEST_CLOCK_H

#include <stdint.h>

/* The patience of the tests of all languages, in seconds: a test that waits in vain ends after so long by the
 * real clock, and a call that must succeed has so long by the tests' clock. patience.py has it, too. */
enum { TEST_PATIENCE_S = 300 };

/* The variable that names the page's file. */
#define TEST_CLOCK_VARIABLE "TOKENKEEP_TEST_CLOCK"

/* A wait with a deadline that some thread is in. */
typedef struct {
    int32_t pid;      /* 0: the place is free */
    int32_t rounds;   /* how often the wait has looked at the clock */
    int64_t deadline; /* in nanoseconds of the test clock; INT64_MAX if the wait has none */
} test_clock_wait;

enum {
    TEST_CLOCK_WAITS = 512,
    TEST_CLOCK_ROUNDS = 2, /* a wait that has looked at the clock so often does not end at once */
};

/* All numbers are nanoseconds. */
typedef struct {
    uint32_t version;  /* odd while a writer changes the next four fields */
    uint32_t slowness; /* the test clock's second lasts so many real ones */
    int64_t real;      /* the monotonic clock at the last change, … */
    int64_t shown;     /* … and what the test clock showed then */
    int64_t wall;      /* the programs' wall clock is so far ahead of the real one */
    test_clock_wait waits[TEST_CLOCK_WAITS];
} test_clock_page;

/* Maps the page in the file `path`, which is made if it is not there. NULL and errno on failure. */
test_clock_page *test_clock_open(const char *path);

/* The page that TOKENKEEP_TEST_CLOCK names, mapped at the first call; NULL if there is none. */
test_clock_page *test_clock_of_environment(void);

/* The monotonic clock as the kernel has it: a test's own patience is real. */
int64_t test_clock_real_now(void);

/* Waits for so long in reality. */
void test_clock_real_pause(int64_t nanoseconds);

/* What the test clock shows. */
int64_t test_clock_now(test_clock_page *page);

/* The real time that passes until the test clock shows `moment`, if nobody moves it; 0 if the moment has
 * passed. */
int64_t test_clock_real_until(test_clock_page *page, int64_t moment);

/* Lets a second of the test clock last `slowness` real seconds from now on. */
void test_clock_set_slowness(test_clock_page *page, uint32_t slowness);

/* Sets the test clock forward. */
void test_clock_advance(test_clock_page *page, int64_t nanoseconds);

/* Sets the wall clock that the programs read: so far ahead of the real one, or behind it. Waits do not
 * change. */
void test_clock_set_wall(test_clock_page *page, int64_t nanoseconds);

/* The earliest deadline of a wait that process `pid` (0: any process) is in and that has looked at the clock
 * at least `rounds` times; INT64_MAX if there is none. */
int64_t test_clock_next_deadline(test_clock_page *page, int32_t pid, int32_t rounds);

#endif
