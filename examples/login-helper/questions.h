/* Questions to the user, one at a time, on a thread of their own: the helper goes on meanwhile. */
#ifndef QUESTIONS_H
#define QUESTIONS_H

#include "pinentry.h"

#include <pthread.h>
#include <stdbool.h>
#include <systemd/sd-event.h>

struct questions {
    /* Called on the helper's thread after an answer or a refusal. `is_unlock`: the question was the vault's.
     */
    void (*answered)(void *data, bool is_unlock, const char *service, const char *account,
                     tokenkeep_status status);
    void *data;
    struct pinentry pinentry;
    tokenkeep_store *store; /* asks by pinentry */
    bool is_open, is_unlock;
    const char *service, *account;
    tokenkeep_status status;
    pthread_t thread;
    int done;
};

/* Returns an errno, or 0. */
int questions_start(struct questions *questions, sd_event *event, const char *pinentry);
/* Asks for the vault's password, by loading this item. False: another question is open. The names must live
 * until the answer. */
bool questions_unlock(struct questions *questions, const char *service, const char *account);
/* Asks for an item's token, and saves it. */
bool questions_token(struct questions *questions, const char *service, const char *account);
/* Ends an open question. */
void questions_end(struct questions *questions);

#endif
