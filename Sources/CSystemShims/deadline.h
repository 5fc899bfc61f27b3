/* Deadlines by the monotonic clock for waiting threads. A wait can be cancelled. */
#ifndef TOKENKEEP_DEADLINE_H
#define TOKENKEEP_DEADLINE_H

#include "CSystemShims.h"

#include <time.h>

/* The moment milliseconds from now. */
struct timespec tokenkeep_deadline_after(uint32_t milliseconds);

/* Whether the deadline has passed or the wait was cancelled. */
int tokenkeep_is_over(const struct timespec *deadline, tokenkeep_is_cancelled is_cancelled, const void *data);

/* The milliseconds until the deadline, rounded up; 0 if it has passed. */
int tokenkeep_milliseconds_until(const struct timespec *deadline);

/* The moment of the next check: soon if the wait can be cancelled, and never after the deadline. */
struct timespec tokenkeep_next_glance(const struct timespec *deadline, tokenkeep_is_cancelled is_cancelled);

#endif
