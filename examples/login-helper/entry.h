/* A line of the configuration at work: its command runs with the present token. */
#ifndef ENTRY_H
#define ENTRY_H

#include "command.h"
#include "config.h"
#include "questions.h"
#include "screen.h"

/* Waiting: for the token, the vault or the screen. Paused: the command failed. Done: it ended with 0. */
enum entry_state { WAITING, RUNNING, ENDING, PAUSED, DONE };

struct helper;

struct entry {
    const struct config_entry *line;
    struct helper *helper;
    enum entry_state state;
    struct command command;
    uint64_t version; /* of the item that the command got last */
    bool was_asked;   /* for the token, or the token was there, since the vault is open */
    int failures;
    uint64_t started_us;
    sd_event_source *pause;
    char problem[512]; /* the last that was printed */
};

struct helper {
    sd_event *event;
    tokenkeep_store *store;
    tokenkeep_watch *watch;
    struct screen screen;
    struct questions questions;
    struct entry
        *asked; /* whose item was locked when the vault's password was asked for; NULL since it is open */
    bool is_ending;
    sd_event_source *watching, *retry;
    struct config config;
    struct entry *entries;
};

/* Loads the item and does what follows. */
void entry_look(struct entry *entry);
/* Ends the command, and looks again afterwards. */
void entry_stop(struct entry *entry);
/* An item could not be read: the helper looks again soon. */
void helper_retry(struct helper *helper);
/* A command of a helper that ends has ended. */
void helper_ended(struct helper *helper);

#endif
