#include "entry.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* Of a second: tests have a shorter one. */
#ifndef SECOND_US
#define SECOND_US 1000000
#endif

enum { longest_pause = 300 };

/* A command that ran for so long has failed for the first time. */
#ifndef LONG_RUN_US
#define LONG_RUN_US ((uint64_t)longest_pause * SECOND_US)
#endif

/* Prints a problem, once in a row. NULL: there is none any more. */
static void print_problem(struct entry *entry, const char *text) {
    if (text != NULL && strcmp(entry->problem, text) != 0)
        fprintf(stderr, "login-helper: %s\n", text);
    snprintf(entry->problem, sizeof entry->problem, "%s", text != NULL ? text : "");
}

/* Prints a problem with the item's name. */
static void print_own(struct entry *entry, const char *text) {
    char line[sizeof entry->problem];
    snprintf(line, sizeof line, "%s (%s): %s", entry->line->service, entry->line->account, text);
    print_problem(entry, line);
}

static void wait_for_change(struct entry *entry) {
    entry->state = WAITING;
    entry->pause = sd_event_source_disable_unref(entry->pause);
}

static int on_pause_over(sd_event_source *source, uint64_t time, void *data) {
    (void)source, (void)time;
    wait_for_change(data);
    entry_look(data);
    return 0;
}

static uint64_t now_us(const struct entry *entry) {
    uint64_t now = 0;
    (void)sd_event_now(entry->helper->event, CLOCK_BOOTTIME, &now);
    return now;
}

/* Waits for 1, 2, 4 … 300 seconds. */
static void pause_entry(struct entry *entry, const char *reason) {
    char text[128];
    if (now_us(entry) - entry->started_us > LONG_RUN_US)
        entry->failures = 0;
    unsigned seconds = entry->failures < 9 ? 1U << entry->failures++ : longest_pause;
    snprintf(text, sizeof text, "%s; started again in %u s", reason, seconds);
    print_own(entry, text);
    entry->state = PAUSED;
    if (sd_event_add_time_relative(entry->helper->event, &entry->pause, CLOCK_BOOTTIME,
                                   (uint64_t)seconds * SECOND_US, SECOND_US / 100, on_pause_over, entry) < 0)
        wait_for_change(entry);
}

static void on_ended(void *data, int code) {
    struct entry *entry = data;
    char reason[64];
    bool was_stopped = entry->state == ENDING;
    entry->state = code == 0 ? DONE : WAITING;
    if (entry->helper->is_ending)
        helper_ended(entry->helper);
    else if (was_stopped) {
        entry->state = WAITING;
        entry_look(entry);
    } else if (code != 0) {
        snprintf(reason, sizeof reason, "the command ended with %d", code);
        pause_entry(entry, reason);
    }
}

static void start(struct entry *entry, tokenkeep_item *item) {
    char reason[160];
    if (tokenkeep_item_version(item) != entry->version)
        entry->failures = 0;
    entry->version = tokenkeep_item_version(item);
    entry->started_us = now_us(entry);
    entry->command.ended = on_ended;
    entry->command.data = entry;
    int error = command_start(&entry->command, entry->helper->event, entry->line->command, item);
    if (error == 0) {
        entry->state = RUNNING;
        return;
    }
    snprintf(reason, sizeof reason, "the command cannot be run: %s", strerror(error));
    pause_entry(entry, reason);
}

void entry_stop(struct entry *entry) {
    if (entry->state == RUNNING) {
        entry->state = ENDING;
        command_stop(&entry->command);
    } else if (entry->state != ENDING) {
        wait_for_change(entry);
    }
}

/* The vault is open: after its next lock the password is asked for again. */
static void opened(struct entry *entry) {
    if (entry->helper->asked == entry)
        entry->helper->asked = NULL;
}

static void found(struct entry *entry, tokenkeep_item *item) {
    opened(entry);
    bool is_new = tokenkeep_item_version(item) != entry->version;
    entry->was_asked = true;
    if (entry->state == WAITING) {
        print_problem(entry, NULL);
        start(entry, item);
        return;
    }
    tokenkeep_item_free(item);
    if (is_new) {
        entry_stop(entry);
        if (entry->state == WAITING)
            entry_look(entry);
    }
}

static void missing(struct entry *entry) {
    struct helper *helper = entry->helper;
    opened(entry);
    entry_stop(entry);
    if (!entry->line->asks || entry->was_asked)
        print_own(entry, "the token is missing");
    else if (helper->screen.state != SCREEN_LOCKED &&
             questions_token(&helper->questions, entry->line->service, entry->line->account))
        entry->was_asked = true;
}

/* Asks once for the vault's password until the vault was open, not on a locked screen. */
static void locked(struct entry *entry) {
    struct helper *helper = entry->helper;
    entry->was_asked = false;
    if (entry->state == WAITING && helper->asked == NULL && helper->screen.state != SCREEN_LOCKED &&
        questions_unlock(&helper->questions, entry->line->service, entry->line->account))
        helper->asked = entry;
}

void entry_look(struct entry *entry) {
    struct helper *helper = entry->helper;
    tokenkeep_item *item = NULL;
    tokenkeep_error *error = NULL;
    if (helper->is_ending)
        return;
    if (entry->line->while_unlocked && helper->screen.state != SCREEN_OPEN) {
        if (helper->screen.state == SCREEN_UNKNOWN)
            print_own(entry, "no agent says whether the screen is locked: tokenkeep-agent.socket");
        entry_stop(entry);
        return;
    }
    tokenkeep_status status =
        tokenkeep_load(helper->store, entry->line->service, entry->line->account, &item, &error);
    if (status == TOKENKEEP_OK)
        found(entry, item);
    else if (status == TOKENKEEP_NOT_FOUND)
        missing(entry);
    else {
        print_problem(entry, tokenkeep_error_message(error));
        if (status == TOKENKEEP_LOCKED)
            locked(entry);
        helper_retry(helper);
    }
    tokenkeep_error_free(error);
}
