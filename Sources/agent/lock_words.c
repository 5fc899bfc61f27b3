#include "lock_words.h"

const char *lock_word_text(enum lock_word word) {
    static const char *const texts[] = {
        [WORD_NO_LOCK] = "",          [WORD_HINT] = "hint",
        [WORD_ACTIVE] = "active",     [WORD_SIGNAL] = "signal",
        [WORD_REQUEST] = "request",   [WORD_SLEEP] = "sleep",
        [WORD_LOGIN1] = "login1",     [WORD_NO_SESSION] = "no-session",
        [WORD_NAMELESS] = "nameless", [WORD_NONE] = "none",
    };
    return texts[word];
}
