#include "lock_actions.h"

#include "lock_state.h"

static struct action *add(struct actions *actions, enum action_kind kind) {
    struct action *action = &actions->list[actions->count++];
    *action = (struct action){.kind = kind};
    return action;
}

static void add_at(struct actions *actions, enum action_kind kind, uint64_t time) {
    add(actions, kind)->time = time;
}

static void add_for(struct actions *actions, enum action_kind kind, size_t index, uint64_t time) {
    struct action *action = add(actions, kind);
    action->index = index;
    action->time = time;
}

static uint64_t full_time(const struct facts *facts) {
    return facts->now + AGENT_KEY_S * SECOND_US;
}

static void keep_lock(const struct facts *facts, enum lock_word word, struct actions *actions) {
    if (word != facts->event_lock)
        add(actions, ACTION_KEEP_LOCK)->word = word;
}

/* Adds the actions of a lock. A lock whose end will be reported replaces a lock whose end will not. Silence
 * of login1 is no lock of the screen, so the end of the silence is no unlock. */
static void lock(const struct facts *facts, enum lock_word event_lock, struct actions *actions) {
    enum lock_word lasting = lock_state_lasting(facts);
    keep_lock(facts, lasting == WORD_HINT || lasting == WORD_ACTIVE ? WORD_NO_LOCK : event_lock, actions);
    add(actions, ACTION_DROP_ALL);
}

/* Adds the actions of a request to hold a key. The user has typed the password, so a lock whose end no source
 * reports has ended. */
static void hold(const struct facts *facts, struct actions *actions) {
    bool is_locked = lock_state_lasting(facts) != WORD_NO_LOCK;
    add(actions, ACTION_CONNECT);
    if (!is_locked)
        keep_lock(facts, WORD_NO_LOCK, actions);
    struct action *holding = add(actions, ACTION_HOLD);
    holding->key = facts->event.key;
    holding->time = facts->now + AGENT_WAIT_S * SECOND_US;
    if (!is_locked && facts->login1.is_ready)
        add_for(actions, ACTION_PUBLISH, HELD_KEY, full_time(facts));
    add(actions, ACTION_START_TARGET);
}

/* Renews the published keys. Without a graphical session, no lock would end the keys, so they are not renewed
 * and the kernel ends them. Returns whether a key is left. */
static bool renew_keys(const struct facts *facts, struct actions *actions) {
    bool is_extended = lock_state_is_open(facts) && lock_state_graphical_sessions(facts) > 0, is_left = false;
    for (size_t index = 0; index < AGENT_KEYS; index++) {
        const struct held_key *key = &facts->keys[index];
        if (!key->is_used || !key->is_published)
            continue;
        if (facts->now >= key->ends_at) {
            add_for(actions, ACTION_DROP, index, 0);
        } else {
            add_for(actions, ACTION_RENEW, index, is_extended ? full_time(facts) : key->ends_at);
            is_left = true;
        }
    }
    return is_left;
}

static void renew(const struct facts *facts, struct actions *actions) {
    bool is_left = renew_keys(facts, actions);
    add(actions, ACTION_FEED_WATCHDOG);
    add(actions, ACTION_CONNECT);
    if (is_left)
        add(actions, ACTION_CHECK_LOGIN1);
}

static void start_sync(const struct facts *facts, struct actions *actions) {
    (void)facts;
    add(actions, ACTION_CONNECT);
    add(actions, ACTION_START_SYNC);
}

/* Starts `tokenkeep sync` for a Secret Service that appeared, at most once in AGENT_SYNC_S seconds. If a
 * service appears earlier, the start is delayed, but not dropped. */
static void sync_with_service(const struct facts *facts, struct actions *actions) {
    uint64_t next = facts->synced_at + AGENT_SYNC_S * SECOND_US;
    if (facts->synced_at == 0 || facts->now >= next)
        start_sync(facts, actions);
    else
        add_at(actions, ACTION_ARM_SYNC, next);
}

static void locked(const struct facts *facts, struct actions *actions) {
    lock(facts, facts->event_lock, actions);
}

static void locked_once(const struct facts *facts, struct actions *actions) {
    lock(facts, facts->event.word, actions);
    if (facts->event.word == WORD_SLEEP)
        add(actions, facts->login1.is_sleeping ? ACTION_LET_SLEEP : ACTION_INHIBIT_SLEEP);
}

/* Handles the signal of a screensaver. It is ignored if login1 is known to report the lock of every
 * session. */
static void saver_became_active(const struct facts *facts, struct actions *actions) {
    if (!facts->is_shown_locked && lock_state_word(facts) != WORD_NO_LOCK)
        lock(facts, facts->event_lock, actions);
}

static void drop_vault(const struct facts *facts, struct actions *actions) {
    add(actions, ACTION_DROP_VAULT)->vault_id = facts->event.vault_id;
    add(actions, ACTION_CONNECT);
    add(actions, ACTION_STOP_TARGET);
}

/* Renews the keys after a change of the wall clock. The kernel ends keys by this clock, so a clock that was
 * set back would keep them for longer. */
static void clock_was_set(const struct facts *facts, struct actions *actions) {
    (void)renew_keys(facts, actions);
}

static void follow_event(const struct facts *facts, struct actions *actions) {
    static void (*const rules[])(const struct facts *, struct actions *) = {
        [EVENT_LOCKED] = locked,
        [EVENT_LOCKED_ONCE] = locked_once,
        [EVENT_SAVER_ACTIVE] = saver_became_active,
        [EVENT_HOLD] = hold,
        [EVENT_DROP] = drop_vault,
        [EVENT_RENEWAL] = renew,
        [EVENT_CLOCK_SET] = clock_was_set,
        [EVENT_SECRET_SERVICE] = sync_with_service,
        [EVENT_SYNC] = start_sync,
    };
    rules[facts->event.kind](facts, actions);
}

/* Records which source locked the present desktops. If there are two, a screensaver's signal does not say
 * which of them was locked. */
static void note_proofs(const struct facts *facts, struct actions *actions) {
    bool is_alone = lock_state_graphical_sessions(facts) == 1, is_active = lock_state_is_saver_active(facts);
    for (size_t index = 0; index < AGENT_SESSIONS; index++) {
        const struct session_facts *session = &facts->login1.sessions[index];
        if (!session->is_used || !session->is_graphical || session->is_bad)
            continue;
        if (session->is_locked && proofs_lack(facts->proofs, &session->kind, true))
            add_for(actions, ACTION_NOTE_HINT, index, 0);
        else if (!session->is_locked && is_alone && is_active &&
                 proofs_lack(facts->proofs, &session->kind, false))
            add_for(actions, ACTION_NOTE_SAVER, index, 0);
    }
}

/* Whether waiting keys may be published. They may not before login1 has described every session, because a
 * new session may be locked. */
static bool may_publish_waiting(const struct facts *facts) {
    for (size_t index = 0; index < AGENT_SESSIONS; index++) {
        if (facts->login1.sessions[index].is_used && !facts->login1.sessions[index].is_known)
            return false;
    }
    return lock_state_is_open(facts);
}

/* Publishes the waiting keys if the screen is open. Wipes a key that has waited too long. */
static void step_waiting_keys(const struct facts *facts, struct actions *actions) {
    bool may_publish = may_publish_waiting(facts);
    uint64_t next = UINT64_MAX;
    for (size_t index = 0; index < AGENT_KEYS; index++) {
        const struct held_key *key = &facts->keys[index];
        if (!key->is_used || key->is_published)
            continue;
        if (facts->now >= key->ends_at)
            add_for(actions, ACTION_DROP, index, 0);
        else if (may_publish)
            add_for(actions, ACTION_PUBLISH, index, full_time(facts));
        else if (key->ends_at < next)
            next = key->ends_at;
    }
    if (next != UINT64_MAX && !facts->is_waiting_armed)
        add_at(actions, ACTION_ARM_WAITING, next);
}

/* Arms the next renewal while a key is published, and for the service manager's watchdog. */
static void step_renewal(const struct facts *facts, struct actions *actions) {
    uint64_t period = AGENT_RENEWAL_S * SECOND_US, watchdog = facts->watchdog_us / 2;
    bool is_needed = false;
    for (size_t index = 0; index < AGENT_KEYS; index++)
        is_needed = is_needed || (facts->keys[index].is_used && facts->keys[index].is_published);
    if (watchdog != 0 && (!is_needed || watchdog < period)) {
        period = watchdog;
        is_needed = true;
    }
    if (is_needed && !facts->is_renewal_armed)
        add_at(actions, ACTION_ARM_RENEWAL, facts->now + period);
}

static void step_state(const struct facts *facts, struct actions *actions) {
    if (!facts->is_serving && (facts->login1.is_ready || facts->is_start_over))
        add(actions, ACTION_SERVE);
    note_proofs(facts, actions);
    step_waiting_keys(facts, actions);
    step_renewal(facts, actions);
    if (facts->is_shown_locked != (lock_state_word(facts) != WORD_NO_LOCK) ||
        facts->shown_word != lock_state_source(facts))
        add(actions, ACTION_ANNOUNCE);
}

void lock_state_step(const struct facts *facts, struct actions *actions) {
    actions->count = 0;
    if (facts->event.kind != EVENT_NONE)
        follow_event(facts, actions);
    else
        step_state(facts, actions);
}
