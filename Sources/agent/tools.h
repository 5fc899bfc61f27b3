/* Further commands of the program: the trial of the lock, and the run of a locker that sets no LockedHint. */
#ifndef TOKENKEEP_AGENT_TOOLS_H
#define TOKENKEEP_AGENT_TOOLS_H

/* Each function returns the program's exit code. */
int tool_test_lock(void);
int tool_locker(char *const command[]);

#endif
