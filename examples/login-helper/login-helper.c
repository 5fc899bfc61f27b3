/* Gives tokens to programs of the desktop, on their standard input: README.md.
 *
 *     login-helper --config FILE [--pinentry PROGRAM]
 */
#define _GNU_SOURCE
#include "entry.h"

#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifndef RETRY_US
#define RETRY_US 5000000
#endif
/* A change that no module signals is seen after this time: tokenkeep/watch.h. */
#define WATCH_US 30000000
/* A keyring that hangs keeps the helper from the screen's lock for so long. */
#define LOAD_MS 2000

enum { exit_usage = 2, exit_unavailable = 4 };

static void look_at_all(struct helper *helper) {
    for (size_t index = 0; index < helper->config.count; index++)
        entry_look(&helper->entries[index]);
}

/* On NULL names: all entries. */
static void look_at(struct helper *helper, const char *service, const char *account) {
    for (size_t index = 0; index < helper->config.count; index++) {
        const struct config_entry *line = helper->entries[index].line;
        if (service == NULL || account == NULL ||
            (strcmp(line->service, service) == 0 && strcmp(line->account, account) == 0))
            entry_look(&helper->entries[index]);
    }
}

static void read_changes(struct helper *helper) {
    tokenkeep_event *change = NULL;
    tokenkeep_status status;
    while ((status = tokenkeep_watch_next(helper->watch, &change, NULL)) == TOKENKEEP_OK) {
        look_at(helper, tokenkeep_event_service(change), tokenkeep_event_account(change));
        tokenkeep_event_free(change);
    }
    /* A list that fails leaves the descriptor readable: it is read again by the timer. */
    (void)sd_event_source_set_enabled(helper->watching,
                                      status == TOKENKEEP_NOT_FOUND ? SD_EVENT_ON : SD_EVENT_OFF);
}

static int on_change(sd_event_source *source, int descriptor, uint32_t events, void *data) {
    (void)source, (void)descriptor, (void)events;
    read_changes(data);
    return 0;
}

static int on_watch_time(sd_event_source *source, uint64_t time, void *data) {
    (void)time;
    read_changes(data);
    (void)sd_event_source_set_time_relative(source, WATCH_US);
    return sd_event_source_set_enabled(source, SD_EVENT_ONESHOT);
}

static int on_retry(sd_event_source *source, uint64_t time, void *data) {
    (void)source, (void)time;
    look_at_all(data);
    return 0;
}

void helper_retry(struct helper *helper) {
    if (sd_event_source_get_enabled(helper->retry, NULL) > 0)
        return;
    (void)sd_event_source_set_time_relative(helper->retry, RETRY_US);
    (void)sd_event_source_set_enabled(helper->retry, SD_EVENT_ONESHOT);
}

static void on_screen(void *data) {
    look_at_all(data);
}

static void on_answer(void *data, bool is_unlock, const char *service, const char *account,
                      tokenkeep_status status) {
    struct helper *helper = data;
    if (status != TOKENKEEP_OK && is_unlock)
        fprintf(stderr, "login-helper: the vault stays locked (%s): tokenkeep unlock\n",
                tokenkeep_status_name(status));
    else if (status != TOKENKEEP_OK)
        fprintf(stderr, "login-helper: no token for %s (%s): %s\n", service, account,
                tokenkeep_status_name(status));
    look_at_all(helper);
}

void helper_ended(struct helper *helper) {
    for (size_t index = 0; index < helper->config.count; index++) {
        if (helper->entries[index].command.process > 0)
            return;
    }
    (void)sd_event_exit(helper->event, 0);
}

static int on_signal(sd_event_source *source, const struct signalfd_siginfo *info, void *data) {
    (void)source, (void)info;
    struct helper *helper = data;
    helper->is_ending = true;
    for (size_t index = 0; index < helper->config.count; index++)
        command_stop(&helper->entries[index].command);
    helper_ended(helper);
    return 0;
}

static int watch_signals(struct helper *helper) {
    static const int numbers[] = {SIGTERM, SIGINT, SIGHUP};
    sigset_t signals;
    int error = 0;
    sigemptyset(&signals);
    sigaddset(&signals, SIGCHLD);
    for (int index = 0; index < 3; index++)
        sigaddset(&signals, numbers[index]);
    /* Before any thread: the signals are read by the loop alone. */
    sigprocmask(SIG_BLOCK, &signals, NULL);
    signal(SIGPIPE, SIG_IGN);
    for (int index = 0; error >= 0 && index < 3; index++)
        error = sd_event_add_signal(helper->event, NULL, numbers[index], on_signal, helper);
    return error;
}

static int add_timers(struct helper *helper) {
    int error =
        sd_event_add_time_relative(helper->event, NULL, CLOCK_BOOTTIME, WATCH_US, 0, on_watch_time, helper);
    if (error >= 0)
        error = sd_event_add_time_relative(helper->event, &helper->retry, CLOCK_BOOTTIME, RETRY_US, 0,
                                           on_retry, helper);
    return error >= 0 ? sd_event_source_set_enabled(helper->retry, SD_EVENT_OFF) : error;
}

static tokenkeep_status open_store(struct helper *helper, tokenkeep_error **error) {
    tokenkeep_open_options options = TOKENKEEP_OPEN_OPTIONS_INIT;
    options.timeout_ms = LOAD_MS;
    tokenkeep_status status = tokenkeep_open(&options, &helper->store, error);
    return status == TOKENKEEP_OK ? tokenkeep_watch_open(helper->store, NULL, &helper->watch, error) : status;
}

static int start(struct helper *helper, const char *pinentry) {
    tokenkeep_error *failure = NULL;
    int error = sd_event_new(&helper->event);
    if (error >= 0)
        error = watch_signals(helper);
    if (error >= 0)
        error = add_timers(helper);
    if (error < 0)
        return -error;
    if (open_store(helper, &failure) != TOKENKEEP_OK) {
        fprintf(stderr, "login-helper: %s\n", tokenkeep_error_message(failure));
        tokenkeep_error_free(failure);
        return EIO;
    }
    helper->questions.answered = on_answer;
    helper->questions.data = helper;
    error = questions_start(&helper->questions, helper->event, pinentry);
    if (error != 0)
        return error;
    helper->screen.changed = on_screen;
    helper->screen.data = helper;
    screen_watch(&helper->screen, helper->event);
    return -sd_event_add_io(helper->event, &helper->watching, tokenkeep_watch_fd(helper->watch), EPOLLIN,
                            on_change, helper);
}

static int run(struct helper *helper, const char *pinentry) {
    helper->entries = calloc(helper->config.count, sizeof *helper->entries);
    int error = helper->entries == NULL ? ENOMEM : 0;
    for (size_t index = 0; error == 0 && index < helper->config.count; index++) {
        helper->entries[index].line = &helper->config.entries[index];
        helper->entries[index].helper = helper;
    }
    if (error == 0)
        error = start(helper, pinentry);
    if (error > 0) {
        fprintf(stderr, "login-helper: %s\n", strerror(error));
        return exit_unavailable;
    }
    look_at_all(helper);
    error = sd_event_loop(helper->event);
    questions_end(&helper->questions);
    screen_end(&helper->screen);
    tokenkeep_watch_close(helper->watch);
    tokenkeep_close(helper->store);
    free(helper->entries);
    config_free(&helper->config);
    return error < 0 ? exit_unavailable : 0;
}

int main(int count, char **arguments) {
    static const struct option options[] = {
        {"config", required_argument, NULL, 'c'}, {"pinentry", required_argument, NULL, 'p'}, {0}};
    static struct helper helper;
    const char *config = NULL, *pinentry = NULL;
    char message[256];
    for (int option; (option = getopt_long(count, arguments, "", options, NULL)) != -1;) {
        if (option == '?')
            return exit_usage;
        *(option == 'c' ? &config : &pinentry) = optarg;
    }
    if (config == NULL || optind != count) {
        fprintf(stderr, "usage: login-helper --config FILE [--pinentry PROGRAM]\n");
        return exit_usage;
    }
    if (!config_read(config, &helper.config, message)) {
        fprintf(stderr, "login-helper: %s: %s\n", config, message);
        return exit_usage;
    }
    return run(&helper, pinentry);
}
