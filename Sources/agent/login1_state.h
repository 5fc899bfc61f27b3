/* The connection to login1, and what is asked on it, as the files on login1 share it. */
#ifndef TOKENKEEP_AGENT_LOGIN1_STATE_H
#define TOKENKEEP_AGENT_LOGIN1_STATE_H

#include "bus_calls.h"
#include "facts.h"
#include "timers.h"

#define SERVICE "org.freedesktop.login1"
#define MANAGER "/org/freedesktop/login1"
#define SESSION "org.freedesktop.login1.Session"

/* A session that is in the same place of the facts. */
struct session {
    char path[160];
    bool is_listed;
    sd_bus_slot *call;
};

struct login1 {
    struct facts *facts;
    sd_event *event;
    sd_bus *bus;
    struct session sessions[AGENT_SESSIONS];
    /* login1's unique name: only its signals count. */
    char owner[64];
    unsigned failures;
    /* The session that login1_check asked for last. */
    size_t checked;
    int inhibitor;
    sd_bus_slot *listing, *inhibiting;
    sd_event_source *lost, *retry;
};

/* Ignores what login1 has told until it has answered for each session anew. */
void login1_begin_anew(struct login1 *login1);

/* login1 failed or is away: it is not ready, and is tried again after 0.25, 0.5, 1 … 60 s. Does not touch the
 * connection, whose handler may be running. */
void login1_fail(struct login1 *login1);

/* Ready once login1 has answered for each session. */
void login1_check_readiness(struct login1 *login1);

/* Delays the machine's sleep until the keys are gone. Without the delay they end at the same signal, perhaps
 * later. */
void login1_inhibit_sleep(struct login1 *login1);

/* Ends the delay. */
void login1_let_sleep(struct login1 *login1);

#endif
