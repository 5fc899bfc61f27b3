/* Reads the helper's configuration: lines SERVICE ACCOUNT [while-unlocked] [ask] -- COMMAND ARG... */
#ifndef CONFIG_H
#define CONFIG_H

#include <stdbool.h>
#include <stddef.h>

struct config_entry {
    char *service, *account;
    bool while_unlocked, asks;
    char **command; /* ends with NULL */
};

struct config {
    struct config_entry *entries;
    size_t count;
    char *words; /* all words, each with a NUL */
};

/* Reads a file of the user's or root's that nobody else may write. Words are quoted as in a shell; nothing is
 * expanded. On failure the message names the line; `config` is empty then. */
bool config_read(const char *path, struct config *config, char message[256]);
void config_free(struct config *config);

#endif
