/* The descriptors that hold locks, so that a child made by fork() can close them. */
#ifndef TOKENKEEP_LOCK_DESCRIPTORS_H
#define TOKENKEEP_LOCK_DESCRIPTORS_H

#include <sys/types.h>

/* Opens the lock file and records the descriptor; no fork can happen in between. -1 and errno on failure. */
int tokenkeep_lock_descriptor_open(int directory, const char *path);

/* Releases the lock of a recorded descriptor, closes it and removes the record. */
void tokenkeep_lock_descriptor_close(int descriptor);

/* The number of threads that wait for an abandoned lock. */
int tokenkeep_abandoned_waits(void);
void tokenkeep_abandoned_waits_add(int number);

#endif
