/* Decides whether the screen is locked according to the lock sources. The results depend only on the
 * facts. */
#ifndef TOKENKEEP_AGENT_LOCK_STATE_H
#define TOKENKEEP_AGENT_LOCK_STATE_H

#include "facts.h"

/* The source that reports that the screen is locked and that will also report the unlock. */
enum lock_word lock_state_lasting(const struct facts *facts);

/* The source that reports that the screen is locked; WORD_NO_LOCK if the screen is not locked. */
enum lock_word lock_state_word(const struct facts *facts);

/* Whether keys may be published. */
bool lock_state_is_open(const struct facts *facts);

/* The word for clients: that of the source of the present lock; without a lock, that of the source that would
 * report a lock. */
enum lock_word lock_state_source(const struct facts *facts);

/* Whether, for every graphical session, a source has reported a lock of its kind of desktop before. */
bool lock_state_is_proved(const struct facts *facts);

size_t lock_state_graphical_sessions(const struct facts *facts);

bool lock_state_is_saver_active(const struct facts *facts);

#endif
