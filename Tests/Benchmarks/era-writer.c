/* Saves items of its own, one after the other, until its input ends: how long a save takes while another
 * process replaces the vault's keys. TOKENKEEP_VAULT says where the vault is. */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <tokenkeep.h>

#define MOST 1000000

static double figures[MOST];

static double now_us(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec * 1e6 + (double)time.tv_nsec / 1e3;
}

static int compare(const void *left, const void *right) {
    double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

int main(void) {
    tokenkeep_open_options options = TOKENKEEP_OPEN_OPTIONS_INIT;
    tokenkeep_error *error = NULL;
    tokenkeep_store *store;
    struct pollfd input = {0, POLLIN, 0};
    size_t count = 0;
    options.stack_text = "any required vault";
    if (tokenkeep_open(&options, &store, NULL) != TOKENKEEP_OK)
        return 1;
    while (count < MOST && poll(&input, 1, 0) == 0) {
        char account[32];
        double start = now_us();
        snprintf(account, sizeof account, "account-%zu", count % 8);
        if (tokenkeep_save(store, "writer.example", account, "token", 5, NULL, &error) != TOKENKEEP_OK) {
            fprintf(stderr, "era-writer: %s\n", tokenkeep_error_message(error));
            return 1;
        }
        figures[count++] = now_us() - start;
        if (count == 1) {
            puts("began 1 0");
            fflush(stdout);
        }
    }
    if (count == 0)
        return 1;
    qsort(figures, count, sizeof *figures, compare);
    printf("median 1 %.1f\nlongest 1 %.1f\n", figures[count / 2], figures[count - 1]);
    tokenkeep_close(store);
    return 0;
}
