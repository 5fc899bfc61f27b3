/* Programs beside the agent: the trial of the lock, and the run of a locker that sets no hint. */
#ifndef TOKENKEEP_AGENT_TOOLS_H
#define TOKENKEEP_AGENT_TOOLS_H

/* Each returns the exit code. */
int tool_test_lock(void);
int tool_locker(char *const command[]);

#endif
