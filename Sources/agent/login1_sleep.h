/* Delays the machine's sleep until the keys are gone. */
#ifndef TOKENKEEP_AGENT_LOGIN1_SLEEP_H
#define TOKENKEEP_AGENT_LOGIN1_SLEEP_H

#include "login1_state.h"

/* Asks for the delay. Without it the keys end at the same signal, perhaps later. */
void login1_inhibit_sleep(struct login1 *login1);

/* Ends the delay. */
void login1_let_sleep(struct login1 *login1);

#endif
