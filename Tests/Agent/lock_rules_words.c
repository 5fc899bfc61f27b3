#include "lock_rules.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void fail(const char *word) {
    fprintf(stderr, "lock_rules: what is \"%s\"?\n", word);
    exit(2);
}

static enum lock_word word_of(const char *text) {
    for (enum lock_word word = WORD_NO_LOCK; word <= WORD_NONE; word++) {
        if (strcmp(lock_word_text(word), text) == 0)
            return word;
    }
    fail(text);
    return WORD_NO_LOCK;
}

static void add_session(struct world *world, const char *kind) {
    size_t index = 0;
    while (world->facts.login1.sessions[index].is_used)
        index++;
    struct session_facts *session = &world->facts.login1.sessions[index];
    *session = (struct session_facts){
        .is_used = true, .is_known = true, .is_graphical = true, .kind = {"test", "wayland"}};
    if (strcmp(kind, "locked") == 0)
        session->is_locked = true;
    else if (strcmp(kind, "text") == 0)
        session->is_graphical = false;
    else if (strcmp(kind, "bad") == 0)
        session->is_bad = true;
    else if (strcmp(kind, "unknown") == 0)
        session->is_known = session->is_graphical = false;
    else if (strcmp(kind, "nameless") == 0)
        proof_name(session->kind.desktop, sizeof session->kind.desktop, "");
    else if (strcmp(kind, "other") == 0)
        proof_name(session->kind.desktop, sizeof session->kind.desktop, "other");
    else if (kind[0] != '\0')
        fail(kind);
}

static void add_key(struct world *world, bool is_published, const char *seconds) {
    size_t index = 0;
    while (world->keys[index].is_used)
        index++;
    world->keys[index] = (struct held_key){
        .is_used = 1, .is_published = is_published, .ends_at = NOW + (uint64_t)atoi(seconds) * SECOND_US};
}

static void add_saver(struct world *world, const char *kind) {
    size_t index = 0;
    while (world->facts.savers[index].is_present)
        index++;
    world->facts.savers[index] =
        (struct saver_facts){.is_present = true, .is_active = strcmp(kind, "active") == 0};
}

static bool read_event(struct facts *facts, const char *name, const char *rest) {
    static const struct {
        const char *name;
        enum event_kind kind;
    } events[] = {
        {"!locked", EVENT_LOCKED},      {"!once", EVENT_LOCKED_ONCE},
        {"!saver", EVENT_SAVER_ACTIVE}, {"!hold", EVENT_HOLD},
        {"!drop", EVENT_DROP},          {"!renewal", EVENT_RENEWAL},
        {"!clock", EVENT_CLOCK_SET},    {"!service", EVENT_SECRET_SERVICE},
        {"!sync", EVENT_SYNC},
    };
    for (size_t index = 0; index < sizeof events / sizeof events[0]; index++) {
        if (strcmp(events[index].name, name) == 0) {
            facts_tell(facts, events[index].kind, word_of(rest));
            return true;
        }
    }
    return false;
}

static bool read_setting(struct facts *facts, const char *name, const char *rest) {
    if (strcmp(name, "ready") == 0)
        facts->login1.is_ready = true;
    else if (strcmp(name, "gone") == 0)
        facts->login1.is_gone = true;
    else if (strcmp(name, "sleeping") == 0)
        facts->login1.is_sleeping = true;
    else if (strcmp(name, "kept") == 0)
        facts->event_lock = word_of(rest);
    else if (strcmp(name, "unarmed") == 0)
        facts->is_renewal_armed = facts->is_waiting_armed = false;
    else if (strcmp(name, "deaf") == 0)
        facts->is_serving = false;
    else if (strcmp(name, "start-over") == 0)
        facts->is_start_over = true;
    else if (strcmp(name, "watchdog") == 0)
        facts->watchdog_us = (uint64_t)atoi(rest) * SECOND_US;
    else if (strcmp(name, "synced") == 0)
        facts->synced_at = NOW - (uint64_t)atoi(rest) * SECOND_US;
    else
        return false;
    return true;
}

static void read_word(struct world *world, char *name) {
    char *colon = strchr(name, ':');
    const char *rest = colon != NULL ? colon + 1 : "";
    if (colon != NULL)
        *colon = '\0';
    if (strcmp(name, "session") == 0)
        add_session(world, rest);
    else if (strcmp(name, "saver") == 0)
        add_saver(world, rest);
    else if (strcmp(name, "published") == 0 || strcmp(name, "waiting") == 0)
        add_key(world, name[0] == 'p', rest);
    else if (strcmp(name, "proof") == 0)
        world->proofs.entries[world->proofs.count++] =
            (struct proof){.key = {"test", "wayland"}, .is_hint = strcmp(rest, "hint") == 0};
    else if (!read_setting(&world->facts, name, rest) && !read_event(&world->facts, name, rest))
        fail(name);
}

static void show(struct facts *facts) {
    facts->is_shown_locked = lock_state_word(facts) != WORD_NO_LOCK;
    facts->shown_word = lock_state_source(facts);
}

void world_read(struct world *world, const char *words) {
    char text[256], *rest = NULL;
    bool is_unshown = false, was_open = false;
    *world = (struct world){.facts = {.now = NOW, .is_serving = true}};
    world->facts.is_renewal_armed = world->facts.is_waiting_armed = true;
    world->facts.keys = world->keys;
    world->facts.proofs = &world->proofs;
    (void)snprintf(text, sizeof text, "%s", words);
    for (char *word = strtok_r(text, " ", &rest); word != NULL; word = strtok_r(NULL, " ", &rest)) {
        if (strcmp(word, "unshown") == 0)
            is_unshown = true;
        else if (strcmp(word, "was-open") == 0)
            was_open = true;
        else
            read_word(world, word);
    }
    if (!is_unshown)
        show(&world->facts);
    if (was_open)
        world->facts.is_shown_locked = false;
}

static const char *const names[ACTION_KINDS] = {
    [ACTION_CONNECT] = "connect",
    [ACTION_KEEP_LOCK] = "keep",
    [ACTION_DROP_ALL] = "drop-all",
    [ACTION_DROP_VAULT] = "drop-vault",
    [ACTION_HOLD] = "hold",
    [ACTION_PUBLISH] = "publish",
    [ACTION_RENEW] = "renew",
    [ACTION_DROP] = "drop",
    [ACTION_START_TARGET] = "start-target",
    [ACTION_STOP_TARGET] = "stop-target",
    [ACTION_START_SYNC] = "start-sync",
    [ACTION_ARM_SYNC] = "arm-sync",
    [ACTION_NOTE_HINT] = "note-hint",
    [ACTION_NOTE_SAVER] = "note-saver",
    [ACTION_LET_SLEEP] = "let-sleep",
    [ACTION_INHIBIT_SLEEP] = "inhibit-sleep",
    [ACTION_FEED_WATCHDOG] = "feed-watchdog",
    [ACTION_CHECK_LOGIN1] = "check-login1",
    [ACTION_ARM_RENEWAL] = "arm-renewal",
    [ACTION_ARM_WAITING] = "arm-waiting",
    [ACTION_SERVE] = "serve",
    [ACTION_ANNOUNCE] = "announce",
};

static size_t write_action(const struct action *action, char *text, size_t size) {
    bool has_key =
             action->kind == ACTION_PUBLISH || action->kind == ACTION_RENEW || action->kind == ACTION_DROP,
         has_session = action->kind == ACTION_NOTE_HINT || action->kind == ACTION_NOTE_SAVER;
    int length = snprintf(text, size, "%s", names[action->kind]);
    if (has_key && action->index == HELD_KEY)
        length += snprintf(text + length, size - (size_t)length, " request");
    else if (has_key || has_session)
        length += snprintf(text + length, size - (size_t)length, " %zu", action->index);
    if (action->kind == ACTION_KEEP_LOCK)
        length += snprintf(text + length, size - (size_t)length, " %s",
                           action->word == WORD_NO_LOCK ? "none" : lock_word_text(action->word));
    if (action->time != 0)
        length += snprintf(text + length, size - (size_t)length, " %lld",
                           ((long long)action->time - (long long)NOW) / (long long)SECOND_US);
    return (size_t)length;
}

void actions_write(const struct actions *actions, char *text, size_t size) {
    size_t length = 0;
    text[0] = '\0';
    for (size_t index = 0; index < actions->count; index++) {
        if (index > 0)
            length += (size_t)snprintf(text + length, size - length, ", ");
        length += write_action(&actions->list[index], text + length, size - length);
    }
}

static void follow(struct world *world, const struct action *action) {
    struct facts *facts = &world->facts;
    struct held_key *key = &world->keys[action->index == HELD_KEY ? AGENT_KEYS - 1 : action->index];
    if (action->kind == ACTION_KEEP_LOCK)
        facts->event_lock = action->word;
    else if (action->kind == ACTION_DROP_ALL)
        memset(world->keys, 0, sizeof world->keys);
    else if (action->kind == ACTION_DROP)
        key->is_used = key->is_published = 0;
    else if (action->kind == ACTION_HOLD)
        world->keys[AGENT_KEYS - 1] = (struct held_key){.is_used = 1, .ends_at = action->time};
    else if (action->kind == ACTION_PUBLISH || action->kind == ACTION_RENEW) {
        key->is_published = 1;
        key->ends_at = action->time;
    } else if (action->kind == ACTION_NOTE_HINT || action->kind == ACTION_NOTE_SAVER) {
        struct proof *found =
            (struct proof *)proofs_find(&world->proofs, &facts->login1.sessions[action->index].kind);
        if (found == NULL) {
            found = &world->proofs.entries[world->proofs.count++];
            found->key = facts->login1.sessions[action->index].kind;
        }
        found->is_hint = action->kind == ACTION_NOTE_HINT;
    } else if (action->kind == ACTION_ARM_RENEWAL)
        facts->is_renewal_armed = true;
    else if (action->kind == ACTION_ARM_WAITING)
        facts->is_waiting_armed = true;
    else if (action->kind == ACTION_SERVE)
        facts->is_serving = true;
    else if (action->kind == ACTION_ANNOUNCE)
        show(facts);
}

void world_follow(struct world *world, const struct actions *actions) {
    facts_tell(&world->facts, EVENT_NONE, WORD_NO_LOCK);
    for (size_t index = 0; index < actions->count; index++)
        follow(world, &actions->list[index]);
}
