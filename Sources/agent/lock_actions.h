/* The agent's actions: a pure function of the facts. */
#ifndef TOKENKEEP_AGENT_LOCK_ACTIONS_H
#define TOKENKEEP_AGENT_LOCK_ACTIONS_H

#include "facts.h"

enum action_kind {
    /* Connects to the user's bus if there is no connection. */
    ACTION_CONNECT,
    /* The lock that no source will end is now that of `word`. */
    ACTION_KEEP_LOCK,
    /* Revokes all keys, also those of other programs, and wipes the copies. */
    ACTION_DROP_ALL,
    ACTION_DROP_VAULT,
    /* Takes the request's key, which waits until `time`. */
    ACTION_HOLD,
    /* A key of the place `index`, or of the request just held (HELD_KEY): gives the key to the user's
     * processes until `time`; lets it end at `time`; revokes and wipes it. */
    ACTION_PUBLISH,
    ACTION_RENEW,
    ACTION_DROP,
    /* Starts, or stops, the target of programs that need the vault. */
    ACTION_START_TARGET,
    ACTION_STOP_TARGET,
    /* Starts the unit that runs `tokenkeep sync`, at once or at `time`. */
    ACTION_START_SYNC,
    ACTION_ARM_SYNC,
    /* Notes that the desktop of the session `index` was locked, by a hint or by a screensaver. */
    ACTION_NOTE_HINT,
    ACTION_NOTE_SAVER,
    /* Lets the machine sleep, which waits for the keys' end; delays its next sleep. */
    ACTION_LET_SLEEP,
    ACTION_INHIBIT_SLEEP,
    /* Tells the service manager that the agent lives. */
    ACTION_FEED_WATCHDOG,
    /* Asks login1 for a session: finds a login1 that hangs. */
    ACTION_CHECK_LOGIN1,
    /* EVENT_RENEWAL comes at `time`; a key that waits ends at `time`. */
    ACTION_ARM_RENEWAL,
    ACTION_ARM_WAITING,
    /* Reads requests from now on. */
    ACTION_SERVE,
    /* Tells the programs of the desktop that the state is another. */
    ACTION_ANNOUNCE,
    ACTION_KINDS,
};

#define HELD_KEY AGENT_KEYS

struct action {
    enum action_kind kind;
    size_t index;
    uint64_t time;
    enum lock_word word;
    /* Of the request. */
    const struct class_key *key;
    const uint8_t *vault_id;
};

/* The most actions of a step: one for each session, one for each key, and those that belong to an event or a
 * state. */
#define LONGEST_ACTIONS (AGENT_SESSIONS + AGENT_KEYS + 8)

struct actions {
    size_t count;
    struct action list[LONGEST_ACTIONS];
};

/* The actions for the event; without an event, the actions that the facts call for and that are not done yet.
 * The caller carries the actions out in their order, and calls again until there is no event and no action.
 */
void lock_state_step(const struct facts *facts, struct actions *actions);

#endif
