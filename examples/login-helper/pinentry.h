/* Questions by the desktop's own pinentry, for any C program: pinentry.c and this header are all that is
 * needed.
 *
 *     struct pinentry pinentry = PINENTRY_INIT;
 *     tokenkeep_open_options options = TOKENKEEP_OPEN_OPTIONS_INIT;
 *     options.flags = TOKENKEEP_INTERACTIVE;
 *     options.prompt = pinentry_prompt;
 *     options.prompt_data = &pinentry;
 *
 * Each question starts a pinentry and ends it, by SIGKILL if it does not end by itself. The program must not
 * reap children that it did not start, and its signals are left as they are. The answer is in the caller's
 * buffer alone: other copies are wiped, and pinentry is not asked to keep it in a keyring. */
#ifndef PINENTRY_H
#define PINENTRY_H

#include <tokenkeep.h>

struct pinentry {
    const char *program; /* by name or path; NULL: pinentry */
    const char *title;   /* of the window; NULL: pinentry's own */
    int timeout_ms;      /* for one question; 0: 60000. At the end pinentry is killed */
    int cancel_fd;       /* ends a question when it is readable; -1: none */
};

#define PINENTRY_INIT                                                                                        \
    { NULL, NULL, 0, -1 }

struct pinentry_question {
    const char *description, *prompt;
    const char *error; /* about the last answer; NULL: none */
    int is_new;        /* the user types the answer twice */
};

/* A tokenkeep_prompt_fn. `data` is a struct pinentry, which several threads may use at once. */
tokenkeep_status pinentry_prompt(void *data, const tokenkeep_prompt *prompt, char *answer, size_t capacity,
                                 size_t *length);

/* Asks. `length` is written with TOKENKEEP_OK alone; otherwise the answer is wiped.
 * TOKENKEEP_CANCELLED: the user, or cancel_fd. TOKENKEEP_TIMED_OUT. TOKENKEEP_UNAVAILABLE: no pinentry, or it
 * can show nothing. TOKENKEEP_IO: it broke its protocol. TOKENKEEP_INVALID: the answer is longer than
 * `capacity`. */
tokenkeep_status pinentry_ask(const struct pinentry *pinentry, const struct pinentry_question *question,
                              char *answer, size_t capacity, size_t *length);

#endif
