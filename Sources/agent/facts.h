/* The facts that the agent acts on. Sources change them; lock_state.c and lock_actions.c read them. */
#ifndef TOKENKEEP_AGENT_FACTS_H
#define TOKENKEEP_AGENT_FACTS_H

#include "held_keys.h"
#include "lock_proof.h"
#include "lock_words.h"

#include <stdbool.h>
#include <stdint.h>

/* An event that a source reports and that the other facts do not contain. */
enum event_kind {
    EVENT_NONE,
    /* The screen was locked. The source will also report the unlock. */
    EVENT_LOCKED,
    /* The screen was locked, as reported by a source that never reports the unlock. */
    EVENT_LOCKED_ONCE,
    /* A screensaver became active. */
    EVENT_SAVER_ACTIVE,
    /* A request to hold a key; a request to drop a vault's keys. */
    EVENT_HOLD,
    EVENT_DROP,
    /* A renewal is due. */
    EVENT_RENEWAL,
    /* The wall clock was set. */
    EVENT_CLOCK_SET,
    /* A Secret Service appeared on the user's bus. */
    EVENT_SECRET_SERVICE,
    /* A delayed start of `tokenkeep sync` is due. */
    EVENT_SYNC,
};

struct event {
    enum event_kind kind;
    enum lock_word word;
    /* The request's key, which lies in the buffer for requests. */
    const struct class_key *key;
    const uint8_t *vault_id;
};

/* One of the user's sessions at login1. */
struct session_facts {
    bool is_used;
    /* Whether login1 has described this session. */
    bool is_known;
    bool is_graphical;
    /* Whether a property has a wrong type. The session then counts as locked. */
    bool is_bad;
    bool is_locked;
    struct proof_key kind;
};

struct login1_facts {
    /* Whether login1 has described all sessions, and no call has failed since. */
    bool is_ready;
    /* Whether login1 has not been ready for AGENT_LOGIN1_S seconds. */
    bool is_gone;
    bool is_sleeping;
    struct session_facts sessions[AGENT_SESSIONS];
};

/* A screensaver of a desktop. */
struct saver_facts {
    bool is_present, is_active;
};

struct facts {
    /* The present time on the boot clock, in microseconds. */
    uint64_t now;
    struct event event;
    struct login1_facts login1;
    struct saver_facts savers[AGENT_SAVERS];
    /* The held keys, an array of AGENT_KEYS places. */
    const struct held_key *keys;
    const struct proofs *proofs;
    /* The source of a lock whose end no source will report. The next key that arrives ends this lock. */
    enum lock_word event_lock;
    /* Whether the state that was last announced is "locked". */
    bool is_shown_locked;
    enum lock_word shown_word;
    /* The time of the last start of `tokenkeep sync` for a Secret Service that appeared; 0 if there was
     * none. */
    uint64_t synced_at;
    /* The time, in microseconds, within which the service manager expects a sign of life; 0 for no limit. */
    uint64_t watchdog_us;
    bool is_renewal_armed, is_waiting_armed;
    /* Whether requests are read; whether AGENT_START_MS have passed since the start. */
    bool is_serving, is_start_over;
};

/* Stores an event for the next step. */
static inline void facts_tell(struct facts *facts, enum event_kind kind, enum lock_word word) {
    facts->event = (struct event){.kind = kind, .word = word};
}

#endif
