#include "lock_state.h"

/* The next graphical session after the given session; for NULL, the first. NULL at the end. */
static const struct session_facts *next_graphical(const struct facts *facts,
                                                  const struct session_facts *session) {
    const struct session_facts *sessions = facts->login1.sessions, *end = sessions + AGENT_SESSIONS;
    for (session = session == NULL ? sessions : session + 1; session < end; session++) {
        if (session->is_used && session->is_graphical)
            return session;
    }
    return NULL;
}

size_t lock_state_graphical_sessions(const struct facts *facts) {
    size_t count = 0;
    const struct session_facts *session = NULL;
    while ((session = next_graphical(facts, session)) != NULL)
        count++;
    return count;
}

bool lock_state_is_saver_active(const struct facts *facts) {
    for (size_t index = 0; index < AGENT_SAVERS; index++) {
        if (facts->savers[index].is_active)
            return true;
    }
    return false;
}

static bool is_saver_present(const struct facts *facts) {
    for (size_t index = 0; index < AGENT_SAVERS; index++) {
        if (facts->savers[index].is_present)
            return true;
    }
    return false;
}

/* Whether LockedHint is known to follow the lock of this kind of desktop. */
static bool has_hint(const struct facts *facts, const struct session_facts *session) {
    const struct proof *proof = proofs_find(facts->proofs, &session->kind);
    return proof != NULL && proof->is_hint;
}

/* Whether the lock of some session may be known only from the screensavers. */
static bool needs_screensaver(const struct facts *facts) {
    if (!facts->login1.is_ready)
        return true;
    const struct session_facts *session = NULL;
    while ((session = next_graphical(facts, session)) != NULL) {
        if (!has_hint(facts, session))
            return true;
    }
    return false;
}

enum lock_word lock_state_lasting(const struct facts *facts) {
    const struct login1_facts *login1 = &facts->login1;
    if (login1->is_gone)
        return WORD_LOGIN1;
    if (login1->is_sleeping)
        return WORD_SLEEP;
    for (size_t index = 0; index < AGENT_SESSIONS; index++) {
        const struct session_facts *session = &login1->sessions[index];
        if (session->is_used && session->is_bad)
            return WORD_LOGIN1;
        if (session->is_used && session->is_graphical && session->is_locked)
            return WORD_HINT;
    }
    return lock_state_is_saver_active(facts) && needs_screensaver(facts) ? WORD_ACTIVE : WORD_NO_LOCK;
}

enum lock_word lock_state_word(const struct facts *facts) {
    enum lock_word word = lock_state_lasting(facts);
    return word != WORD_NO_LOCK ? word : facts->event_lock;
}

bool lock_state_is_open(const struct facts *facts) {
    return facts->login1.is_ready && lock_state_word(facts) == WORD_NO_LOCK;
}

bool lock_state_is_proved(const struct facts *facts) {
    const struct session_facts *session = NULL;
    if (!facts->login1.is_ready || lock_state_graphical_sessions(facts) == 0)
        return false;
    while ((session = next_graphical(facts, session)) != NULL) {
        const struct proof *proof = proofs_find(facts->proofs, &session->kind);
        if (session->is_bad || proof == NULL || (!proof->is_hint && !is_saver_present(facts)))
            return false;
    }
    return true;
}

static bool has_nameless_desktop(const struct facts *facts) {
    const struct session_facts *session = NULL;
    while ((session = next_graphical(facts, session)) != NULL) {
        if (proof_is_nameless(&session->kind))
            return true;
    }
    return false;
}

enum lock_word lock_state_source(const struct facts *facts) {
    enum lock_word word = lock_state_word(facts);
    if (word != WORD_NO_LOCK)
        return word;
    if (!facts->login1.is_ready)
        return WORD_LOGIN1;
    if (lock_state_graphical_sessions(facts) == 0)
        return WORD_NO_SESSION;
    if (has_nameless_desktop(facts))
        return WORD_NAMELESS;
    if (!lock_state_is_proved(facts))
        return WORD_NONE;
    return needs_screensaver(facts) ? WORD_ACTIVE : WORD_HINT;
}
