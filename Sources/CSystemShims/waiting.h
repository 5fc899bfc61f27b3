/* The limit of a wait in this target's threads: a deadline and a cancellation. */
#ifndef TOKENKEEP_WAITING_H
#define TOKENKEEP_WAITING_H

#include "CSystemShims.h"

struct tokenkeep_limit {
    int64_t deadline;                    /* as of tokenkeep_now() */
    tokenkeep_is_cancelled is_cancelled; /* NULL if the wait cannot be cancelled */
    const void *data;
};

/* Whether the deadline has passed or the wait was cancelled. */
int tokenkeep_is_over(const struct tokenkeep_limit *limit);

/* Waits for a condition, with its mutex held, or until the next check of the limit. */
void tokenkeep_condition_wait_a_while(pthread_cond_t *condition, pthread_mutex_t *mutex,
                                      const struct tokenkeep_limit *limit);

#endif
