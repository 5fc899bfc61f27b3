/* The socket on which requests arrive. */
#ifndef TOKENKEEP_AGENT_LISTENER_H
#define TOKENKEEP_AGENT_LISTENER_H

/* The socket that the service manager gave, or a new one in XDG_RUNTIME_DIR. Negative: an errno, EWOULDBLOCK
 * if another agent of the user runs. */
int listener_open(void);

#endif
