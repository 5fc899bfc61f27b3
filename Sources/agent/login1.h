/* The source login1: the user's sessions, the Lock signal, sleep. */
#ifndef TOKENKEEP_AGENT_LOGIN1_H
#define TOKENKEEP_AGENT_LOGIN1_H

#include "login1_state.h"

int login1_start(struct login1 *login1, struct facts *facts, sd_event *event);

/* Asks login1 for the properties of one graphical session, of each in turn: finds a login1 that hangs. The
 * agent wakes for one reply. */
void login1_check(struct login1 *login1);

void login1_end(struct login1 *login1);

#endif
