/* Saves in a vault while other processes watch it. Usage: watch ITEMS WATCHERS CHANGES
 * Prints the median of a save, and the processor time of a watcher for each change. TOKENKEEP_VAULT says
 * where. */
#include "stopwatch.h"

#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <tokenkeep.h>
#include <unistd.h>

enum { ACCOUNTS = 50, MAXIMUM_WATCHERS = 64 };

static tokenkeep_store *open_vault(void) {
    tokenkeep_open_options options = TOKENKEEP_OPEN_OPTIONS_INIT;
    tokenkeep_store *store = NULL;
    options.stack_text = "any required vault";
    if (tokenkeep_open(&options, &store, NULL) != TOKENKEEP_OK)
        exit(1);
    return store;
}

static int save(tokenkeep_store *store, const char *account, int value) {
    char token[64];
    int length = snprintf(token, sizeof token, "token-%d", value);
    return tokenkeep_save(store, "watch.example", account, token, (size_t)length, NULL, NULL) != TOKENKEEP_OK;
}

/* Reads events until the account "last" is saved. Writes one byte after the watch is open. */
static void observe(int ready) {
    tokenkeep_watch *watch = NULL;
    if (tokenkeep_watch_open(open_vault(), NULL, &watch, NULL) != TOKENKEEP_OK || write(ready, "r", 1) != 1)
        _exit(1);
    struct rusage before, after;
    getrusage(RUSAGE_SELF, &before);
    for (int is_last = 0; !is_last;) {
        struct pollfd descriptor = {.fd = tokenkeep_watch_fd(watch), .events = POLLIN};
        if (poll(&descriptor, 1, 60000) <= 0)
            _exit(1);
        tokenkeep_event *event = NULL;
        while (tokenkeep_watch_next(watch, &event, NULL) == TOKENKEEP_OK) {
            const char *account = tokenkeep_event_account(event);
            is_last |= account != NULL && strcmp(account, "last") == 0;
            tokenkeep_event_free(event);
        }
    }
    getrusage(RUSAGE_SELF, &after);
    double used[2] = {0};
    struct rusage *times[] = {&before, &after};
    for (int index = 0; index < 2; index++)
        used[index] = (double)(times[index]->ru_utime.tv_sec + times[index]->ru_stime.tv_sec) * 1e6 +
                      (double)(times[index]->ru_utime.tv_usec + times[index]->ru_stime.tv_usec);
    double microseconds = used[1] - used[0];
    _exit(write(ready, &microseconds, sizeof microseconds) == sizeof microseconds ? 0 : 1);
}

int main(int argc, char **argv) {
    if (argc != 4)
        return 2;
    int items = atoi(argv[1]), watchers = atoi(argv[2]), changes = atoi(argv[3]), ready[2], result = 0;
    char account[32], byte;
    pid_t children[MAXIMUM_WATCHERS];
    if (watchers > MAXIMUM_WATCHERS || changes <= 0 || pipe(ready) != 0)
        return 2;
    for (int child = 0; child < watchers; child++) {
        if ((children[child] = fork()) == 0)
            observe(ready[1]);
        if (read(ready[0], &byte, 1) != 1)
            return 1;
    }
    tokenkeep_store *store = open_vault();
    double start = stopwatch_now();
    for (int change = 0; change < changes; change++) {
        snprintf(account, sizeof account, "account-%d", change % ACCOUNTS);
        result |= save(store, account, change);
    }
    printf("save %d %.2f\n", items, (stopwatch_now() - start) / changes);
    result |= save(store, "last", getpid());
    double used = 0, all = 0;
    for (int child = 0; child < watchers; child++) {
        int status;
        if (read(ready[0], &used, sizeof used) != sizeof used)
            return 1;
        all += used;
        waitpid(children[child], &status, 0);
    }
    if (watchers > 0)
        printf("watch %d %.2f\n", items, all / watchers / changes);
    return result;
}
