/* The handlers of fork() for the mutexes of this library. fork_gate.c calls them. */
#ifndef TOKENKEEP_FORK_HANDLERS_H
#define TOKENKEEP_FORK_HANDLERS_H

void tokenkeep_locks_before_fork(void);
void tokenkeep_locks_after_fork_in_parent(void);
void tokenkeep_locks_after_fork_in_child(void);

void tokenkeep_derivations_before_fork(void);
void tokenkeep_derivations_after_fork_in_parent(void);
void tokenkeep_derivations_after_fork_in_child(void);

#endif
