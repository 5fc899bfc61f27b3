/* The descriptors that hold locks, so that a child made by fork() can close them. */
#ifndef TOKENKEEP_LOCK_DESCRIPTORS_H
#define TOKENKEEP_LOCK_DESCRIPTORS_H

#include <sys/types.h>

/* Opens the lock file and remembers the descriptor in one step that no fork can split. -1 and errno on
 * failure. */
int tokenkeep_lock_descriptor_open(int directory, const char *path);

/* Forgets a descriptor, gives its lock back and closes it. */
void tokenkeep_lock_descriptor_close(int descriptor);

/* How many threads still wait for a lock nobody wants any more. */
int tokenkeep_abandoned_waits(void);
void tokenkeep_abandoned_waits_add(int number);

#endif
