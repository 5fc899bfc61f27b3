/* The source login1: the user's sessions, the Lock signal, sleep. */
#ifndef TOKENKEEP_AGENT_LOGIN1_H
#define TOKENKEEP_AGENT_LOGIN1_H

#include "login1_state.h"

int login1_start(struct login1 *login1, struct facts *facts, sd_event *event);

/* Queries one graphical session from login1, another session at each call, so that a login1 that hangs is
 * noticed. Only one session is queried, so that the agent wakes for one reply. */
void login1_check(struct login1 *login1);

void login1_end(struct login1 *login1);

#endif
