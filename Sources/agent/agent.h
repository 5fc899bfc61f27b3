/* The agent: its sources, the facts and the keys. */
#ifndef TOKENKEEP_AGENT_H
#define TOKENKEEP_AGENT_H

#include "login1.h"
#include "requests.h"
#include "session_bus.h"

struct agent {
    sd_event *event;
    struct facts facts;
    struct proofs proofs;
    struct held_keys *keys;
    /* The request's key, and the errno if the kernel refused it. */
    struct held_key *held;
    int held_error;
    struct login1 login1;
    struct session_bus session_bus;
    struct requests requests;
    sd_event_source *renewal, *waiting, *sync, *start;
};

/* Carries out the actions for the facts, and replies to the request. Called after each change of the facts.
 */
void agent_follow_facts(struct agent *agent);

#endif
