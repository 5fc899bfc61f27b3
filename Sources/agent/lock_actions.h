/* Decides the agent's actions. They depend only on the facts. */
#ifndef TOKENKEEP_AGENT_LOCK_ACTIONS_H
#define TOKENKEEP_AGENT_LOCK_ACTIONS_H

#include "facts.h"

enum action_kind {
    /* Connects to the user's bus if there is no connection. */
    ACTION_CONNECT,
    /* Stores `word` as the source of a lock whose end no source will report. */
    ACTION_KEEP_LOCK,
    /* Revokes all keys, also those of other programs, and wipes the copies. */
    ACTION_DROP_ALL,
    ACTION_DROP_VAULT,
    /* Stores the request's key, which then waits until `time`. */
    ACTION_HOLD,
    /* Acts on the key at the place `index`, or on the key of the present request (HELD_KEY): publishes it to
     * the user's processes until `time`; renews it until `time`; revokes and wipes it. */
    ACTION_PUBLISH,
    ACTION_RENEW,
    ACTION_DROP,
    /* Starts or stops the systemd target of programs that need the vault. */
    ACTION_START_TARGET,
    ACTION_STOP_TARGET,
    /* Starts the unit that runs `tokenkeep sync`, at once or at `time`. */
    ACTION_START_SYNC,
    ACTION_ARM_SYNC,
    /* Records that the desktop of the session `index` was locked, as reported by a hint; by a screensaver. */
    ACTION_NOTE_HINT,
    ACTION_NOTE_SAVER,
    /* Allows the machine's sleep, which was delayed until the keys were revoked; delays the next sleep. */
    ACTION_LET_SLEEP,
    ACTION_INHIBIT_SLEEP,
    /* Reports to the service manager that the agent is alive. */
    ACTION_FEED_WATCHDOG,
    /* Queries a session from login1, so that a login1 that hangs is noticed. */
    ACTION_CHECK_LOGIN1,
    /* Arms the timer for EVENT_RENEWAL at `time`; arms the timer for the end of a waiting key at `time`. */
    ACTION_ARM_RENEWAL,
    ACTION_ARM_WAITING,
    /* Reads requests from now on. */
    ACTION_SERVE,
    /* Signals to the programs of the desktop that the state has changed. */
    ACTION_ANNOUNCE,
    ACTION_KINDS,
};

#define HELD_KEY AGENT_KEYS

struct action {
    enum action_kind kind;
    size_t index;
    uint64_t time;
    enum lock_word word;
    /* The request's key. */
    const struct class_key *key;
    const uint8_t *vault_id;
};

/* The maximum number of actions of a step: one for each session, one for each key, and 8 for an event or a
 * state. */
#define LONGEST_ACTIONS (AGENT_SESSIONS + AGENT_KEYS + 8)

struct actions {
    size_t count;
    struct action list[LONGEST_ACTIONS];
};

/* Determines the actions for the event; without an event, the actions that the facts require and that were
 * not carried out yet. The caller carries out the actions in their order, and calls again until there is no
 * event and no action. */
void lock_state_step(const struct facts *facts, struct actions *actions);

#endif
