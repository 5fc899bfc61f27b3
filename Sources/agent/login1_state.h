/* The state of the connection to login1 and of the calls on it, which the login1 source files share. */
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
    /* The place of the session that login1_check queried last. */
    size_t checked;
    int inhibitor;
    sd_bus_slot *listing, *inhibiting;
    sd_event_source *lost, *retry;
};

/* Discards the knowledge of login1's sessions. login1 is not ready until it has described each session
 * again. */
void login1_begin_anew(struct login1 *login1);

/* Records that a call to login1 failed, or that login1 is not on the bus. login1 is then not ready, and is
 * tried again after 0.25, 0.5, 1 … 60 s. Does not close the connection, because one of its handlers may be
 * running. */
void login1_fail(struct login1 *login1);

/* Marks login1 as ready if it has described each session. */
void login1_check_readiness(struct login1 *login1);

/* Delays the machine's sleep until the keys are revoked. Without the delay, the keys are revoked after the
 * same signal, but perhaps only after the sleep. */
void login1_inhibit_sleep(struct login1 *login1);

/* Ends the delay of the machine's sleep. */
void login1_let_sleep(struct login1 *login1);

#endif
