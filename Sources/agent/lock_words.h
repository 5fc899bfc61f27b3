/* The words for lock sources (docs/screen-lock.md). */
#ifndef TOKENKEEP_AGENT_LOCK_WORDS_H
#define TOKENKEEP_AGENT_LOCK_WORDS_H

enum lock_word {
    WORD_NO_LOCK,
    WORD_HINT,
    WORD_ACTIVE,
    WORD_SIGNAL,
    WORD_REQUEST,
    WORD_SLEEP,
    WORD_LOGIN1,
    /* The following words occur only while the screen is not locked. */
    WORD_NO_SESSION,
    WORD_NAMELESS,
    WORD_NONE,
};

/* The word as clients read it. */
const char *lock_word_text(enum lock_word word);

#endif
