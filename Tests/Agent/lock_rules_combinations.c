/* Properties that hold for all combinations of facts. */
#include "lock_rules.h"

#include <stdio.h>

/* Holds in every state that the agent rests in, whatever it was told before. */
static const char *fault_of(const struct world *world, enum event_kind event, bool was_published) {
    bool is_published = world->keys[0].is_published || world->keys[AGENT_KEYS - 1].is_published;
    if ((event == EVENT_LOCKED || event == EVENT_LOCKED_ONCE) && (is_published || world->keys[0].is_used))
        return "a lock leaves a key";
    if (is_published && !was_published && !lock_state_is_open(&world->facts))
        return "a key is published while the screen is locked";
    if (is_published && !world->facts.is_renewal_armed)
        return "a published key is never renewed";
    if (world->keys[0].is_used && !world->keys[0].is_published && !world->facts.is_waiting_armed)
        return "a key waits for ever";
    if (world->facts.shown_word != lock_state_source(&world->facts))
        return "the state that is shown is not the agent's";
    return NULL;
}

static int failures;

static void report(const char *fault, const char *words) {
    printf("FAIL %s: %s\n", fault, words);
    failures++;
}

static void play(const char *words) {
    struct world world;
    struct actions actions;
    world_read(&world, words);
    enum event_kind event = world.facts.event.kind;
    bool was_published = world.keys[0].is_published, is_at_rest = false;
    for (int round = 0; !is_at_rest && round < 8; round++) {
        lock_state_step(&world.facts, &actions);
        is_at_rest = world.facts.event.kind == EVENT_NONE && actions.count == 0;
        world_follow(&world, &actions);
    }
    const char *fault = is_at_rest ? fault_of(&world, event, was_published) : "the agent finds no rest";
    if (fault != NULL)
        report(fault, words);
}

/* Plays every choice of one word from each list. */
static int play_all(const char *const lists[][10], const char *words) {
    char text[256];
    int count = 0;
    if (lists[0][0] == NULL) {
        play(words);
        return 1;
    }
    for (const char *const *word = lists[0]; *word != NULL; word++) {
        (void)snprintf(text, sizeof text, "%s %s", words, *word);
        count += play_all(lists + 1, text);
    }
    return count;
}

int combinations_play(int *failed) {
    static const char *const lists[][10] = {
        {"", "ready", "gone", NULL},
        {"", "sleeping", NULL},
        {"", "session", "session:locked", "session:bad", "session:text", "session:unknown",
         "session:nameless", NULL},
        {"", "session:other", "session:locked", NULL},
        {"", "saver", "saver:active", NULL},
        {"", "proof:hint", "proof:active", NULL},
        {"", "kept:request", "kept:sleep", NULL},
        {"", "published:60", "published:0", "waiting:9", "waiting:0", NULL},
        {"", "unarmed", NULL},
        {"", "was-open", "unshown deaf", NULL},
        {"", "!locked", "!once:signal", "!once:sleep", "!saver", "!hold", "!renewal", "!clock", "!drop",
         NULL},
        {NULL},
    };
    int played = play_all(lists, "");
    *failed += failures;
    return played;
}
