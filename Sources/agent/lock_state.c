/* Joins what the lock sources say, and gives keys only while the screen is open. */
#define _GNU_SOURCE
#include "agent.h"

#include <errno.h>
#include <string.h>
#include <systemd/sd-daemon.h>
#include <time.h>

uint64_t agent_now(void) {
    struct timespec time;
    (void)clock_gettime(CLOCK_BOOTTIME, &time);
    return (uint64_t)time.tv_sec * SECOND_US + (uint64_t)time.tv_nsec / 1000;
}

/* Whether LockedHint is known to follow the lock of this kind of desktop. */
static bool has_hint(const struct agent *agent, const struct session *session) {
    const struct proof *proof = proofs_find(&agent->proofs, &session->kind);
    return proof != NULL && proof->is_hint;
}

/* Whether a session's lock is known by the screensavers alone. */
static bool needs_screensaver(const struct agent *agent) {
    if (!agent->login1.is_ready)
        return true;
    for (size_t index = 0; index < AGENT_SESSIONS; index++) {
        const struct session *session = &agent->login1.sessions[index];
        if (session->is_used && session->is_graphical && !has_hint(agent, session))
            return true;
    }
    return false;
}

/* The word of a source that will also tell the lock's end. */
static const char *lasting_lock(const struct agent *agent) {
    const struct login1 *login1 = &agent->login1;
    if (login1->is_gone)
        return "login1";
    if (login1->is_sleeping)
        return "sleep";
    for (size_t index = 0; index < AGENT_SESSIONS; index++) {
        const struct session *session = &login1->sessions[index];
        if (session->is_used && session->is_bad)
            return "login1";
        if (session->is_used && session->is_graphical && session->is_locked)
            return "hint";
    }
    return session_bus_is_active(agent) && needs_screensaver(agent) ? "active" : NULL;
}

const char *lock_state_word(const struct agent *agent) {
    const char *word = lasting_lock(agent);
    return word != NULL ? word : agent->event_lock;
}

bool lock_state_is_open(const struct agent *agent) {
    return agent->login1.is_ready && lock_state_word(agent) == NULL;
}

bool lock_state_is_proved(const struct agent *agent) {
    if (!agent->login1.is_ready || login1_graphical_sessions(agent) == 0)
        return false;
    for (size_t index = 0; index < AGENT_SESSIONS; index++) {
        const struct session *session = &agent->login1.sessions[index];
        if (!session->is_used || !session->is_graphical)
            continue;
        const struct proof *proof = proofs_find(&agent->proofs, &session->kind);
        if (session->is_bad || proof == NULL || (!proof->is_hint && !session_bus_has_screensaver(agent)))
            return false;
    }
    return true;
}

static bool has_nameless_desktop(const struct agent *agent) {
    for (size_t index = 0; index < AGENT_SESSIONS; index++) {
        const struct session *session = &agent->login1.sessions[index];
        if (session->is_used && session->is_graphical && proof_is_nameless(&session->kind))
            return true;
    }
    return false;
}

const char *lock_state_source(const struct agent *agent) {
    const char *word = lock_state_word(agent);
    if (word != NULL)
        return word;
    if (!agent->login1.is_ready)
        return "login1";
    if (login1_graphical_sessions(agent) == 0)
        return "no-session";
    if (has_nameless_desktop(agent))
        return "nameless";
    return !lock_state_is_proved(agent) ? "none" : needs_screensaver(agent) ? "active" : "hint";
}

/* Notes which source locked the present desktops. A screensaver does not say which of two it locked. */
static void note_proofs(struct agent *agent) {
    bool is_alone = login1_graphical_sessions(agent) == 1;
    for (size_t index = 0; index < AGENT_SESSIONS; index++) {
        const struct session *session = &agent->login1.sessions[index];
        if (!session->is_used || !session->is_graphical || session->is_bad)
            continue;
        if (session->is_locked)
            proofs_note(&agent->proofs, &session->kind, true);
        else if (is_alone && session_bus_is_active(agent) && !has_hint(agent, session))
            proofs_note(&agent->proofs, &session->kind, false);
    }
}

static uint64_t full_time(uint64_t now) {
    return now + AGENT_KEY_S * SECOND_US;
}

static void publish_waiting(struct agent *agent) {
    uint64_t now = agent_now();
    for (size_t index = 0; index < AGENT_KEYS; index++) {
        struct held_key *entry = &agent->keys->entries[index];
        if (!entry->is_used || entry->is_published)
            continue;
        if (now >= entry->ends_at || held_keys_publish(entry, now, full_time(now)) != 0)
            held_keys_drop(entry);
    }
}

static int arm(sd_event_source *timer, uint64_t at) {
    int error = sd_event_source_set_time(timer, at);
    return error < 0 ? error : sd_event_source_set_enabled(timer, SD_EVENT_ONESHOT);
}

/* Renewals stop with the last key, but for the service manager's watchdog. */
static void arm_renewal(struct agent *agent) {
    uint64_t period = AGENT_RENEWAL_S * SECOND_US;
    bool is_needed = held_keys_count(agent->keys, 1) > 0;
    if (agent->watchdog_us != 0 && (!is_needed || agent->watchdog_us / 2 < period)) {
        period = agent->watchdog_us / 2;
        is_needed = true;
    }
    if (is_needed && sd_event_source_get_enabled(agent->renewal, NULL) == 0)
        (void)arm(agent->renewal, agent_now() + period);
}

static void announce(struct agent *agent) {
    bool is_locked = lock_state_word(agent) != NULL;
    const char *word = lock_state_source(agent);
    if (is_locked == agent->was_locked && strcmp(word, agent->announced) == 0)
        return;
    agent->was_locked = is_locked;
    strcpy(agent->announced, word);
    session_bus_announce(agent);
}

void lock_state_changed(struct agent *agent) {
    note_proofs(agent);
    if (lock_state_is_open(agent)) {
        publish_waiting(agent);
        arm_renewal(agent);
    }
    announce(agent);
}

void lock_state_locked(struct agent *agent) {
    /* A lock that tells its end takes the place of one that does not. login1's silence is no lock of the
     * screen, and its end no unlock. */
    const char *word = lasting_lock(agent);
    if (word != NULL && (strcmp(word, "hint") == 0 || strcmp(word, "active") == 0))
        agent->event_lock = NULL;
    held_keys_drop_all(agent->keys);
    lock_state_changed(agent);
}

void lock_state_locked_once(struct agent *agent, const char *word) {
    agent->event_lock = word;
    lock_state_locked(agent);
}

int lock_state_hold(struct agent *agent, const struct class_key *key, struct held_key **entry) {
    uint64_t now = agent_now();
    /* The user typed the password after a lock that tells no end. */
    if (lasting_lock(agent) == NULL)
        agent->event_lock = NULL;
    *entry = held_keys_add(agent->keys, key, now, now + AGENT_WAIT_S * SECOND_US);
    int error = 0;
    if (lock_state_is_open(agent)) {
        error = held_keys_publish(*entry, now, full_time(now));
        if (error != 0)
            held_keys_drop(*entry);
    } else if (sd_event_source_get_enabled(agent->waiting, NULL) == 0) {
        (void)arm(agent->waiting, (*entry)->ends_at);
    }
    arm_renewal(agent);
    announce(agent);
    return error;
}

/* Without a graphical session no lock will end the keys, so their time is not extended: the kernel ends them.
 */
static void renew_keys(struct agent *agent, bool is_extended) {
    uint64_t now = agent_now();
    for (size_t index = 0; index < AGENT_KEYS; index++) {
        struct held_key *entry = &agent->keys->entries[index];
        if (!entry->is_used || !entry->is_published)
            continue;
        if (now >= entry->ends_at)
            held_keys_drop(entry);
        else
            held_keys_renew(entry, now, is_extended ? full_time(now) : entry->ends_at);
    }
}

static bool are_extended(const struct agent *agent) {
    return lock_state_is_open(agent) && login1_graphical_sessions(agent) > 0;
}

static int on_renewal(sd_event_source *source, uint64_t time, void *data) {
    (void)source, (void)time;
    struct agent *agent = data;
    renew_keys(agent, are_extended(agent));
    (void)sd_notify(0, "WATCHDOG=1");
    session_bus_start(agent);
    if (held_keys_count(agent->keys, 1) > 0)
        login1_check(agent);
    arm_renewal(agent);
    return 0;
}

/* A key that waited too long for the screen is wiped. */
static int on_waited(sd_event_source *source, uint64_t time, void *data) {
    (void)time;
    struct agent *agent = data;
    uint64_t now = agent_now(), next = UINT64_MAX;
    for (size_t index = 0; index < AGENT_KEYS; index++) {
        struct held_key *entry = &agent->keys->entries[index];
        if (!entry->is_used || entry->is_published)
            continue;
        if (now >= entry->ends_at)
            held_keys_drop(entry);
        else if (entry->ends_at < next)
            next = entry->ends_at;
    }
    if (next != UINT64_MAX)
        (void)arm(source, next);
    return 0;
}

/* The kernel ends keys by the wall clock: set back, it would keep them for longer. */
void lock_state_clock_step(struct agent *agent) {
    renew_keys(agent, are_extended(agent));
}

static int add_timer(struct agent *agent, sd_event_source **timer, sd_event_time_handler_t handler) {
    /* Slack of a second: the kernel joins wake-ups. */
    uint64_t slack = AGENT_RENEWAL_S * SECOND_US / 60;
    int error = sd_event_add_time(agent->event, timer, CLOCK_BOOTTIME, 0, slack, handler, agent);
    if (error >= 0)
        error = sd_event_source_set_priority(*timer, PRIORITY_TIMER);
    return error < 0 ? error : sd_event_source_set_enabled(*timer, SD_EVENT_OFF);
}

int lock_state_start(struct agent *agent) {
    proofs_read(&agent->proofs);
    int error = add_timer(agent, &agent->renewal, on_renewal);
    if (error >= 0)
        error = add_timer(agent, &agent->waiting, on_waited);
    arm_renewal(agent);
    return error;
}
