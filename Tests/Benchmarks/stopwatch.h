/* Measures medians: each program prints "WHAT ITEMS MICROSECONDS" lines for run.py. */
#ifndef STOPWATCH_H
#define STOPWATCH_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { MAXIMUM_SAMPLES = 4096 };

typedef struct {
    double samples[MAXIMUM_SAMPLES]; /* microseconds */
    size_t count;
} stopwatch;

static inline double stopwatch_now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec * 1e6 + (double)time.tv_nsec / 1e3;
}

static inline void stopwatch_add(stopwatch *watch, double microseconds) {
    if (watch->count < MAXIMUM_SAMPLES)
        watch->samples[watch->count++] = microseconds;
}

static inline int stopwatch_compare(const void *left, const void *right) {
    double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

static inline void stopwatch_print(stopwatch *watch, const char *what, int items) {
    qsort(watch->samples, watch->count, sizeof watch->samples[0], stopwatch_compare);
    printf("%s %d %.2f\n", what, items, watch->count == 0 ? 0.0 : watch->samples[watch->count / 2]);
    watch->count = 0;
}

/* Times an operation on numbered items, taken in a scattered order. Non-zero where one failed. */
static inline int stopwatch_measure(const char *what, int items, int rounds, int (*operation)(int)) {
    static stopwatch watch;
    for (int round = 0; round < rounds; round++) {
        int number = (int)((uint32_t)round * 2654435761u % (uint32_t)items);
        double start = stopwatch_now();
        if (operation(number) != 0)
            return 1;
        stopwatch_add(&watch, stopwatch_now() - start);
    }
    stopwatch_print(&watch, what, items);
    return 0;
}

#endif
