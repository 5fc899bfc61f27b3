#define _GNU_SOURCE
#include "serve.h"

#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static long long nanoseconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (long long)now.tv_sec * 1000000000 + now.tv_nsec;
}

static tokenkeep_status save(tokenkeep_store *store, const char *service, const char *account,
                             const char *secret) {
    return tokenkeep_save(store, service, account, secret, strlen(secret), NULL, NULL);
}

/* The secret goes into value, which holds 64 bytes. */
static tokenkeep_status load(tokenkeep_store *store, const char *service, const char *account, char *value) {
    tokenkeep_item *item = NULL;
    tokenkeep_status status = tokenkeep_load(store, service, account, &item, NULL);
    const char *secret = tokenkeep_item_secret(item, NULL);
    snprintf(value, 64, "%s", secret == NULL ? "" : secret);
    tokenkeep_item_free(item);
    return status;
}

int serve(tokenkeep_store *store, const char *service) {
    char line[256], command[16], account[64], value[64];
    while (fgets(line, sizeof line, stdin) != NULL) {
        tokenkeep_status status = TOKENKEEP_INVALID;
        account[0] = value[0] = 0;
        sscanf(line, "%15s %63s %63s", command, account, value);
        if (strcmp(command, "save") == 0) {
            status = save(store, service, account, value);
            value[0] = 0;
        } else if (strcmp(command, "load") == 0) {
            status = load(store, service, account, value);
        } else if (strcmp(command, "clear") == 0) {
            status = tokenkeep_clear(store, service, account, NULL);
        } else if (strcmp(command, "sync") == 0) {
            status = tokenkeep_sync(store, NULL, NULL, NULL);
        }
        printf("%s %s\n", tokenkeep_status_name(status), value);
        fflush(stdout);
    }
    return 0;
}

int crowd(tokenkeep_store *store, const char *service, const char *account, int count, const char *name) {
    for (int number = 0; number < count; number++) {
        char value[64];
        int is_save = number % 2 == 0;
        snprintf(value, sizeof value, "%s-%d", name, number);
        long long start = nanoseconds();
        tokenkeep_status status =
            is_save ? save(store, service, account, value) : load(store, service, account, value);
        long long end = nanoseconds();
        printf("%lld %lld %s %s %s\n", start, end, is_save ? "save" : "load", tokenkeep_status_name(status),
               value);
    }
    return 0;
}

struct saving {
    tokenkeep_store *store;
    const char *service, *account, *secret;
    tokenkeep_status status;
    long long end;
};

static void *save_on_thread(void *argument) {
    struct saving *saving = argument;
    saving->status = save(saving->store, saving->service, saving->account, saving->secret);
    saving->end = nanoseconds();
    return NULL;
}

int save_until_told(tokenkeep_store *store, const char *service, const char *account, const char *secret) {
    struct saving saving = {store, service, account, secret, TOKENKEEP_OK, 0};
    pthread_t thread;
    char line[16];
    if (pthread_create(&thread, NULL, save_on_thread, &saving) != 0 ||
        fgets(line, sizeof line, stdin) == NULL)
        return 2;
    long long start = nanoseconds();
    tokenkeep_cancel(store);
    pthread_join(thread, NULL);
    printf("%s %lld\n", tokenkeep_status_name(saving.status), (saving.end - start) / 1000000);
    return 0;
}

int watch_events(tokenkeep_store *store, const char *service) {
    tokenkeep_watch *watch = NULL;
    tokenkeep_event *event = NULL;
    if (tokenkeep_watch_open(store, service, &watch, NULL) != TOKENKEEP_OK)
        return 2;
    printf("ready\n");
    fflush(stdout);
    for (;;) {
        struct pollfd poller = {tokenkeep_watch_fd(watch), POLLIN, 0};
        poll(&poller, 1, 30000);
        while (tokenkeep_watch_next(watch, &event, NULL) == TOKENKEEP_OK) {
            uint32_t kind = tokenkeep_event_kind(event);
            if (kind == TOKENKEEP_EVENT_LIST_AGAIN)
                printf("again\n");
            else
                printf("%s %s\n", kind == TOKENKEEP_EVENT_SAVED ? "saved" : "cleared",
                       tokenkeep_event_account(event));
            tokenkeep_event_free(event);
        }
        fflush(stdout);
    }
}
