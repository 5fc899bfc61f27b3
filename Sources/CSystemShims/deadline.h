/* Moments by the monotonic clock until which a thread waits, unless it is told to give up. */
#ifndef TOKENKEEP_DEADLINE_H
#define TOKENKEEP_DEADLINE_H

#include "CSystemShims.h"

#include <time.h>

/* The moment so many milliseconds from now. */
struct timespec tokenkeep_deadline_after(uint32_t milliseconds);

/* Whether the moment has passed, or the wait was cancelled. */
int tokenkeep_is_over(const struct timespec *deadline, tokenkeep_is_cancelled is_cancelled, const void *data);

/* When to look again: soon where the wait may be cancelled, and not after the deadline. */
struct timespec tokenkeep_next_glance(const struct timespec *deadline, tokenkeep_is_cancelled is_cancelled);

#endif
