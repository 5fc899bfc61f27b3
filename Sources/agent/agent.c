#include "agent.h"

#include "lock_state.h"
#include "lock_actions.h"

#include <systemd/sd-daemon.h>

/* The unit that drains pending writes. The agent starts it for this, because the agent itself reads no vault.
 * At an unlock, tokenkeep-unlocked.target starts the same unit. */
#define SYNC_UNIT "tokenkeep-sync.service"

/* The maximum number of rounds of actions after a change of the facts. Each round changes the facts, so a
 * next round may follow; more rounds than this are a fault of the program. */
#define MOST_ROUNDS 8

static void connect_session_bus(struct agent *agent, const struct action *action) {
    (void)action;
    session_bus_connect(&agent->session_bus, &agent->facts, agent->event);
}

static void keep_lock(struct agent *agent, const struct action *action) {
    agent->facts.event_lock = action->word;
}

static void drop_all(struct agent *agent, const struct action *action) {
    (void)action;
    held_keys_drop_all(agent->keys);
}

static void drop_vault(struct agent *agent, const struct action *action) {
    held_keys_drop_vault(agent->keys, action->vault_id);
}

static void hold(struct agent *agent, const struct action *action) {
    agent->held = held_keys_add(agent->keys, action->key, agent->facts.now, action->time);
}

static struct held_key *key_of(struct agent *agent, const struct action *action) {
    return action->index == HELD_KEY ? agent->held : &agent->keys->entries[action->index];
}

static void publish(struct agent *agent, const struct action *action) {
    int error = held_keys_publish(key_of(agent, action), agent->facts.now, action->time);
    if (error != 0)
        held_keys_drop(key_of(agent, action));
    if (action->index == HELD_KEY)
        agent->held_error = error;
}

static void renew(struct agent *agent, const struct action *action) {
    held_keys_renew(key_of(agent, action), agent->facts.now, action->time);
}

static void drop(struct agent *agent, const struct action *action) {
    held_keys_drop(key_of(agent, action));
}

static void set_target(struct agent *agent, const struct action *action) {
    service_manager_set_target(&agent->session_bus.manager, action->kind == ACTION_START_TARGET);
}

static void start_sync(struct agent *agent, const struct action *action) {
    (void)action;
    agent->facts.synced_at = agent->facts.now;
    service_manager_start_unit(&agent->session_bus.manager, SYNC_UNIT);
}

static void note_proof(struct agent *agent, const struct action *action) {
    proofs_note(&agent->proofs, &agent->facts.login1.sessions[action->index].kind,
                action->kind == ACTION_NOTE_HINT);
}

static void feed_watchdog(struct agent *agent, const struct action *action) {
    (void)agent, (void)action;
    (void)sd_notify(0, "WATCHDOG=1");
}

static void let_sleep(struct agent *agent, const struct action *action) {
    (void)action;
    login1_let_sleep(&agent->login1);
}

static void inhibit_sleep(struct agent *agent, const struct action *action) {
    (void)action;
    login1_inhibit_sleep(&agent->login1);
}

static void check_login1(struct agent *agent, const struct action *action) {
    (void)action;
    login1_check(&agent->login1);
}

static void arm(struct agent *agent, const struct action *action) {
    sd_event_source *timer = action->kind == ACTION_ARM_RENEWAL   ? agent->renewal
                             : action->kind == ACTION_ARM_WAITING ? agent->waiting
                                                                  : agent->sync;
    (void)timer_arm(timer, action->time);
}

static void serve(struct agent *agent, const struct action *action) {
    (void)action;
    requests_serve(&agent->requests);
    agent->facts.is_serving = true;
    (void)sd_notify(0, "READY=1");
}

static void announce(struct agent *agent, const struct action *action) {
    (void)action;
    agent->facts.is_shown_locked = lock_state_word(&agent->facts) != WORD_NO_LOCK;
    agent->facts.shown_word = lock_state_source(&agent->facts);
    session_bus_announce(&agent->session_bus);
}

static void carry_out(struct agent *agent, const struct action *action) {
    static void (*const doers[ACTION_KINDS])(struct agent *, const struct action *) = {
        [ACTION_CONNECT] = connect_session_bus,
        [ACTION_KEEP_LOCK] = keep_lock,
        [ACTION_DROP_ALL] = drop_all,
        [ACTION_DROP_VAULT] = drop_vault,
        [ACTION_HOLD] = hold,
        [ACTION_PUBLISH] = publish,
        [ACTION_RENEW] = renew,
        [ACTION_DROP] = drop,
        [ACTION_START_TARGET] = set_target,
        [ACTION_STOP_TARGET] = set_target,
        [ACTION_START_SYNC] = start_sync,
        [ACTION_ARM_SYNC] = arm,
        [ACTION_NOTE_HINT] = note_proof,
        [ACTION_NOTE_SAVER] = note_proof,
        [ACTION_LET_SLEEP] = let_sleep,
        [ACTION_INHIBIT_SLEEP] = inhibit_sleep,
        [ACTION_FEED_WATCHDOG] = feed_watchdog,
        [ACTION_CHECK_LOGIN1] = check_login1,
        [ACTION_ARM_RENEWAL] = arm,
        [ACTION_ARM_WAITING] = arm,
        [ACTION_SERVE] = serve,
        [ACTION_ANNOUNCE] = announce,
    };
    doers[action->kind](agent, action);
}

static void reply(struct agent *agent) {
    const struct facts *facts = &agent->facts;
    size_t published = held_keys_count(agent->keys, 1), waiting = held_keys_count(agent->keys, 0);
    bool is_published = agent->held != NULL ? agent->held->is_published : published > 0;
    int bits = (published + waiting > 0 ? REPLY_HOLDS : 0) | (is_published ? REPLY_PUBLISHED : 0) |
               (lock_state_word(facts) != WORD_NO_LOCK ? REPLY_LOCKED : 0) |
               (lock_state_is_proved(facts) ? REPLY_PROVED : 0);
    requests_reply(&agent->requests, agent->held_error == 0 ? REPLY_OK : REPLY_IO, (uint8_t)bits,
                   lock_state_source(facts));
}

void agent_follow_facts(struct agent *agent) {
    struct actions actions;
    bool is_at_rest = false;
    agent->held = NULL;
    agent->held_error = 0;
    for (int round = 0; !is_at_rest && round < MOST_ROUNDS; round++) {
        agent->facts.now = boot_now();
        agent->facts.is_renewal_armed = timer_is_armed(agent->renewal);
        agent->facts.is_waiting_armed = timer_is_armed(agent->waiting);
        lock_state_step(&agent->facts, &actions);
        is_at_rest = agent->facts.event.kind == EVENT_NONE && actions.count == 0;
        facts_tell(&agent->facts, EVENT_NONE, WORD_NO_LOCK);
        for (size_t index = 0; index < actions.count; index++)
            carry_out(agent, &actions.list[index]);
    }
    if (requests_is_asked(&agent->requests))
        reply(agent);
}
