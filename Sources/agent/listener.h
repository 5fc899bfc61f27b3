/* The socket on which requests arrive. */
#ifndef TOKENKEEP_AGENT_LISTENER_H
#define TOKENKEEP_AGENT_LISTENER_H

/* The socket that the service manager passed, or a new socket in XDG_RUNTIME_DIR. On failure a negative
 * errno; -EWOULDBLOCK if another agent of the user is running. */
int listener_open(void);

#endif
