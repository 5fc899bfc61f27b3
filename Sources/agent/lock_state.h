/* Whether the screen is locked, by what the lock sources say: functions of the facts alone. */
#ifndef TOKENKEEP_AGENT_LOCK_STATE_H
#define TOKENKEEP_AGENT_LOCK_STATE_H

#include "facts.h"

/* The source that says that the screen is locked, and that will also tell the lock's end. */
enum lock_word lock_state_lasting(const struct facts *facts);

/* The source that says that the screen is locked; WORD_NO_LOCK if it is open. */
enum lock_word lock_state_word(const struct facts *facts);

/* Whether keys may be published. */
bool lock_state_is_open(const struct facts *facts);

/* The word for clients: of the lock, or of the source that would lock. */
enum lock_word lock_state_source(const struct facts *facts);

/* Whether every graphical session has a source that was seen to lock its kind of desktop. */
bool lock_state_is_proved(const struct facts *facts);

size_t lock_state_graphical_sessions(const struct facts *facts);

bool lock_state_is_saver_active(const struct facts *facts);

#endif
