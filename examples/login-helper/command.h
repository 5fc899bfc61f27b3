/* One run of a command, in a process group of its own, with a token on its standard input. */
#ifndef COMMAND_H
#define COMMAND_H

#include <stdbool.h>
#include <sys/types.h>
#include <systemd/sd-event.h>
#include <tokenkeep.h>

struct command {
    /* Called when the process has ended: its exit code, or 128 and the signal's number. */
    void (*ended)(void *data, int code);
    void *data;
    pid_t process; /* 0: none runs */
    int input;
    tokenkeep_item *item;
    size_t written;
    sd_event *event;
    sd_event_source *child, *feeding, *ending;
};

/* Starts the command and gives it the item's secret, then the end of the input. Takes the item. Returns an
 * errno, or 0. */
int command_start(struct command *command, sd_event *event, char **words, tokenkeep_item *item);
/* Ends the process group: SIGTERM, and SIGKILL after 5 seconds. */
void command_stop(struct command *command);

#endif
