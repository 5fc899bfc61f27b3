/* Facts and actions as words, for the table of the agent's rules. */
#ifndef TOKENKEEP_TEST_LOCK_RULES_H
#define TOKENKEEP_TEST_LOCK_RULES_H

#include "../../Sources/agent/lock_state.h"
#include "../../Sources/agent/lock_actions.h"

#define NOW (1000 * SECOND_US)

/* Facts with the memory that they point to. */
struct world {
    struct facts facts;
    struct held_key keys[AGENT_KEYS];
    struct proofs proofs;
};

/* Reads words:
 *   ready, gone, sleeping                  login1
 *   session, session:locked …              a graphical session of the desktop "test"; locked, text (no
 * graphical one), bad, unknown, nameless, other (of the desktop "other") proof:hint, proof:active what was
 * seen to lock the desktop "test" saver, saver:active                    a screensaver kept:WORD a lock that
 * no source will end published:S, waiting:S                 a key that ends in S seconds unarmed, unshown,
 * was-open, deaf       timers are not armed; nothing was announced; an open screen was; no request is read
 *   start-over, watchdog:S, synced:S       synced: S seconds ago
 *   !locked, !once:WORD, !saver, !hold, !drop, !renewal, !clock, !service, !sync        events */
void world_read(struct world *world, const char *words);

/* Writes actions as "publish 0 180, drop-all". Times count from now. */
void actions_write(const struct actions *actions, char *text, size_t size);

/* Carries out actions on keys, proofs and what is shown, as the agent does. The kernel refuses nothing. */
void world_follow(struct world *world, const struct actions *actions);

/* Plays all combinations of facts until the agent rests. Adds the failures, and returns the combinations. */
int combinations_play(int *failed);

#endif
