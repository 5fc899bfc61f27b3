/* The facts that the agent acts on. Sources change them; lock_state.c and lock_actions.c read them. */
#ifndef TOKENKEEP_AGENT_FACTS_H
#define TOKENKEEP_AGENT_FACTS_H

#include "held_keys.h"
#include "lock_proof.h"
#include "lock_words.h"

#include <stdbool.h>
#include <stdint.h>

/* News of a source that the other facts do not show. */
enum event_kind {
    EVENT_NONE,
    /* The screen was locked. The source will also tell the lock's end. */
    EVENT_LOCKED,
    /* The screen was locked, by the word of a source that tells no end. */
    EVENT_LOCKED_ONCE,
    /* A screensaver became active. */
    EVENT_SAVER_ACTIVE,
    /* Requests: to hold a key, to drop a vault's keys. */
    EVENT_HOLD,
    EVENT_DROP,
    /* The time of a renewal came. */
    EVENT_RENEWAL,
    /* The wall clock was set. */
    EVENT_CLOCK_SET,
    /* A Secret Service appeared on the user's bus. */
    EVENT_SECRET_SERVICE,
    /* The time came for a start of `tokenkeep sync` that was put off. */
    EVENT_SYNC,
};

struct event {
    enum event_kind kind;
    enum lock_word word;
    /* In the buffer of the request. */
    const struct class_key *key;
    const uint8_t *vault_id;
};

/* One of the user's sessions at login1. */
struct session_facts {
    bool is_used;
    /* login1 answered for it. */
    bool is_known;
    bool is_graphical;
    /* A property has a wrong type: counts as locked. */
    bool is_bad;
    bool is_locked;
    struct proof_key kind;
};

struct login1_facts {
    /* login1 has answered for all sessions, and nothing failed since. */
    bool is_ready;
    /* login1 has not been ready for AGENT_LOGIN1_S. */
    bool is_gone;
    bool is_sleeping;
    struct session_facts sessions[AGENT_SESSIONS];
};

/* A screensaver of a desktop. */
struct saver_facts {
    bool is_present, is_active;
};

struct facts {
    /* The boot clock in microseconds. */
    uint64_t now;
    struct event event;
    struct login1_facts login1;
    struct saver_facts savers[AGENT_SAVERS];
    /* AGENT_KEYS places. */
    const struct held_key *keys;
    const struct proofs *proofs;
    /* The lock that no source will end, by its word. The next key ends it. */
    enum lock_word event_lock;
    /* The state that was last announced. */
    bool is_shown_locked;
    enum lock_word shown_word;
    /* When `tokenkeep sync` was last started for a Secret Service that appeared; 0: never. */
    uint64_t synced_at;
    /* The service manager's limit for signs of life; 0: none. */
    uint64_t watchdog_us;
    bool is_renewal_armed, is_waiting_armed;
    /* Requests are read. AGENT_START_MS have passed. */
    bool is_serving, is_start_over;
};

/* Keeps an event for the next step. */
static inline void facts_tell(struct facts *facts, enum event_kind kind, enum lock_word word) {
    facts->event = (struct event){.kind = kind, .word = word};
}

#endif
