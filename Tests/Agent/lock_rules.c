/* The agent's rules, row by row: facts, and what the agent does. Then all combinations of facts
 * (lock_rules_combinations.c).
 * Usage: lock-rules docs/screen-lock.md: each event of the document's table has a row here. */
#include "lock_rules.h"

#include <stdio.h>
#include <string.h>

/* The first words of a row of docs/screen-lock.md, or a rule of its text. */
struct row {
    const char *rule, *facts, *actions;
};

static const struct row rows[] = {
    {"unlock", "ready session !hold", "connect, hold 30, publish request 180, start-target"},
    {"unlock", "ready !hold", "connect, hold 30, publish request 180, start-target"},
    {"unlock", "ready session:locked !hold", "connect, hold 30, start-target"},
    {"unlock", "ready session sleeping !hold", "connect, hold 30, start-target"},
    {"unlock", "ready session saver:active !hold", "connect, hold 30, start-target"},
    {"unlock", "session !hold", "connect, hold 30, start-target"},
    {"unlock", "gone session !hold", "connect, hold 30, start-target"},
    {"unlock", "ready session:locked waiting:30", "note-hint 0"},
    {"unlock", "ready session:locked proof:hint waiting:30 waiting:20 unarmed", "arm-waiting 20"},
    {"unlock", "ready session:locked proof:hint waiting:0 waiting:1", "drop 0"},
    {"unlock", "ready session published:180 unarmed", "arm-renewal 120"},

    {"LockedHint is set", "ready session:locked published:90 !locked", "drop-all"},
    {"LockedHint is set", "ready session session:locked published:90 waiting:9 !locked", "drop-all"},
    {"LockedHint is set", "ready session:locked kept:signal !locked", "keep none, drop-all"},
    {"LockedHint is set", "ready session:bad published:90 !locked", "drop-all"},
    {"LockedHint is set", "ready session:bad kept:signal !locked", "drop-all"},
    {"LockedHint is set", "ready session:text published:90", ""},
    {"LockedHint is set", "ready session saver:active was-open published:90 !saver", "drop-all"},
    {"LockedHint is set", "ready session saver:active was-open kept:signal !saver", "keep none, drop-all"},
    {"LockedHint is set", "ready session saver:active proof:active was-open !saver", "drop-all"},
    /* It only blanks: here the hint was seen to follow the lock. */
    {"LockedHint is set", "ready session saver:active proof:hint published:90 !saver", ""},
    {"LockedHint is set", "ready session session:other saver:active proof:hint was-open !saver", "drop-all"},
    /* The screen was locked before: what waits for it stays. */
    {"LockedHint is set", "ready session:locked saver:active waiting:9 !saver", ""},
    {"LockedHint is set", "session saver:active was-open published:90 !saver", "drop-all"},

    {"login1's Lock signal", "ready session published:90 !once:signal", "keep signal, drop-all"},
    {"login1's Lock signal", "ready session published:90 !once:request", "keep request, drop-all"},
    {"login1's Lock signal", "ready session kept:signal !once:request", "keep request, drop-all"},
    {"login1's Lock signal", "ready session:locked waiting:9 !once:request", "drop-all"},
    {"login1's Lock signal", "ready session sleeping !once:sleep", "keep sleep, drop-all, let-sleep"},
    {"login1's Lock signal", "ready session kept:sleep !once:sleep", "drop-all, inhibit-sleep"},
    {"login1's Lock signal", "ready session:locked sleeping !once:sleep", "keep sleep, drop-all, let-sleep"},
    {"login1's Lock signal", "ready session:locked kept:sleep !once:sleep",
     "keep none, drop-all, inhibit-sleep"},
    {"login1's Lock signal", "ready session kept:request !hold",
     "connect, keep none, hold 30, publish request 180, start-target"},
    {"login1's Lock signal", "session kept:request !hold", "connect, keep none, hold 30, start-target"},
    /* A lock that goes on outlasts the key that waits for its end. */
    {"login1's Lock signal", "ready session:locked kept:request !hold", "connect, hold 30, start-target"},
    {"login1's Lock signal", "gone session kept:request !hold", "connect, hold 30, start-target"},
    {"a screensaver that ends while it is active", "ready session published:90 !once:active",
     "keep active, drop-all"},
    {"a screensaver that ends while it is active", "ready session saver:active kept:active !once:active",
     "keep none, drop-all"},

    {"the hint is cleared", "ready session proof:hint waiting:9", "publish 0 180"},
    {"the hint is cleared", "ready session proof:hint waiting:9 waiting:0", "publish 0 180, drop 1"},
    {"the hint is cleared", "ready session proof:hint kept:request waiting:9", ""},
    {"the hint is cleared", "ready session proof:hint sleeping waiting:9", ""},
    {"the hint is cleared", "session proof:hint waiting:9", ""},
    /* A new session may be locked. */
    {"the hint is cleared", "ready session session:unknown proof:hint waiting:9", ""},
    {"the hint is cleared", "ready session proof:hint unshown", "announce"},

    {"login1 does not answer", "gone session published:90 !locked", "drop-all"},
    {"login1 does not answer", "gone session kept:request !locked", "drop-all"},
    {"login1 does not answer", "session published:90", ""},
    {"login1 does not answer", "ready session published:60 !renewal",
     "renew 0 180, feed-watchdog, connect, check-login1"},
    {"login1 does not answer", "session published:60 !renewal",
     "renew 0 60, feed-watchdog, connect, check-login1"},
    {"login1 does not answer", "ready session !renewal", "feed-watchdog, connect"},

    {"no graphical session", "ready published:60 !renewal",
     "renew 0 60, feed-watchdog, connect, check-login1"},
    {"no graphical session", "ready session:text published:60 !renewal",
     "renew 0 60, feed-watchdog, connect, check-login1"},
    {"no graphical session", "ready published:0 !renewal", "drop 0, feed-watchdog, connect"},
    {"the agent is stopped", "ready session published:0 published:9 !renewal",
     "drop 0, renew 1 180, feed-watchdog, connect, check-login1"},
    {"the wall clock is set", "ready session published:60 waiting:9 !clock", "renew 0 180"},
    {"the wall clock is set", "ready published:60 !clock", "renew 0 60"},
    {"the wall clock is set", "ready session published:0 !clock", "drop 0"},
    {"`tokenkeep lock`", "ready session published:90 !drop", "drop-vault, connect, stop-target"},

    /* Which source was seen to lock the desktop. */
    {"proof", "ready session:locked", "note-hint 0"},
    {"proof", "ready session:locked proof:active", "note-hint 0"},
    {"proof", "ready session:locked proof:hint", ""},
    {"proof", "ready session:locked session:other", "note-hint 0"},
    {"proof", "ready session:bad", ""},
    {"proof", "ready session saver:active", "note-saver 0"},
    {"proof", "ready session saver:active proof:active", ""},
    {"proof", "ready session saver:active proof:hint", ""},
    {"proof", "ready session session:other saver:active", ""},
    {"proof", "ready session:text session saver:active", "note-saver 1"},
    {"proof", "ready session:nameless saver:active", ""},
    {"proof", "ready session kept:signal", ""},
    {"proof", "ready session kept:request", ""},
    {"proof", "ready session sleeping", ""},

    /* Signs of life: those of renewals are enough, if the service manager watches for so long. */
    {"watchdog", "ready session watchdog:240 unarmed", "arm-renewal 120"},
    {"watchdog", "ready session watchdog:60 published:90 unarmed", "arm-renewal 30"},
    {"watchdog", "ready session watchdog:600 published:90 unarmed", "arm-renewal 120"},
    {"watchdog", "ready session unarmed", ""},
    {"watchdog", "ready session watchdog:240", ""},

    {"start", "deaf", ""},
    {"start", "deaf ready", "serve"},
    {"start", "deaf start-over", "serve"},
    {"start", "start-over", ""},

    {"a Secret Service appears", "ready session !service", "connect, start-sync"},
    {"a Secret Service appears", "ready session synced:299 !service", "arm-sync 1"},
    {"a Secret Service appears", "ready session synced:300 !service", "connect, start-sync"},
    {"a Secret Service appears", "ready session synced:300 !sync", "connect, start-sync"},
};

/* Facts, and the state that clients see. */
static const struct {
    const char *facts, *state;
} states[] = {
    {"", "open login1"},
    {"gone", "locked login1"},
    {"ready", "open no-session"},
    {"ready session:text", "open no-session"},
    {"ready session", "open none"},
    {"ready session:nameless", "open nameless"},
    {"ready session:nameless session proof:hint", "open nameless"},
    {"ready session proof:hint", "open hint proved"},
    {"ready session proof:active", "open none"},
    {"ready session proof:active saver", "open active proved"},
    {"ready session session:other proof:hint", "open none"},
    {"session proof:hint", "open login1"},
    {"ready session:bad proof:hint", "locked login1"},
    {"ready session:locked proof:hint", "locked hint proved"},
    {"ready session session:locked proof:hint", "locked hint proved"},
    {"ready session saver:active", "locked active"},
    {"ready session saver:active proof:active", "locked active proved"},
    {"ready session saver:active proof:hint", "open hint proved"},
    {"session saver:active proof:hint", "locked active"},
    {"ready session kept:signal proof:hint", "locked signal proved"},
    {"ready session kept:request", "locked request"},
    {"ready session kept:active", "locked active"},
    {"ready session sleeping kept:sleep", "locked sleep"},
    {"ready session:locked sleeping kept:request", "locked sleep"},
    {"ready session:locked kept:request", "locked hint"},
    {"gone session:locked sleeping", "locked login1"},
    {"session kept:request", "locked request"},
};

/* Events of the document that other tests provoke: they are the kernel's, or need a source. */
static const char *const elsewhere[] = {
    "login1's Unlock signal",
    "the agent ends, or is killed",
    "another program revokes or unlinks the key",
    "no agent runs",
    "the agent starts",
};

static int failures;

static void expect(const char *what, const char *facts, const char *wanted, const char *got) {
    if (strcmp(wanted, got) == 0)
        return;
    printf("FAIL %s: %s\n  wanted: %s\n  got:    %s\n", what, facts, wanted, got);
    failures++;
}

static void check_rows(void) {
    struct world world;
    struct actions actions;
    char text[1024];
    for (size_t index = 0; index < sizeof rows / sizeof rows[0]; index++) {
        world_read(&world, rows[index].facts);
        lock_state_step(&world.facts, &actions);
        actions_write(&actions, text, sizeof text);
        expect(rows[index].rule, rows[index].facts, rows[index].actions, text);
    }
}

static void check_states(void) {
    struct world world;
    char text[64];
    for (size_t index = 0; index < sizeof states / sizeof states[0]; index++) {
        world_read(&world, states[index].facts);
        (void)snprintf(text, sizeof text, "%s %s%s",
                       lock_state_word(&world.facts) != WORD_NO_LOCK ? "locked" : "open",
                       lock_word_text(lock_state_source(&world.facts)),
                       lock_state_is_proved(&world.facts) ? " proved" : "");
        expect("state", states[index].facts, states[index].state, text);
    }
}

static bool begins_with(const char *text, const char *beginning) {
    return strncmp(text, beginning, strlen(beginning)) == 0;
}

static bool has_row(const char *event) {
    for (size_t index = 0; index < sizeof rows / sizeof rows[0]; index++) {
        if (begins_with(event, rows[index].rule))
            return true;
    }
    for (size_t index = 0; index < sizeof elsewhere / sizeof elsewhere[0]; index++) {
        if (begins_with(event, elsewhere[index]))
            return true;
    }
    return false;
}

static void check_document(const char *path) {
    char line[4096];
    bool is_table = false;
    int events = 0;
    FILE *file = fopen(path, "r");
    while (file != NULL && fgets(line, sizeof line, file) != NULL) {
        if (begins_with(line, "## "))
            is_table = begins_with(line, "## When the level is open");
        if (!is_table || !begins_with(line, "| ") || begins_with(line, "| event "))
            continue;
        events++;
        if (!has_row(line + 2))
            expect("no row for the document's event", line, "a row", "none");
    }
    if (file != NULL)
        (void)fclose(file);
    if (events < 10)
        expect("the document's table", path, "ten events or more", "less");
}

int main(int count, char *arguments[]) {
    if (count != 2)
        return 2;
    check_rows();
    check_states();
    check_document(arguments[1]);
    int played = combinations_play(&failures);
    printf("lock rules: %zu rows, %zu states, %d combinations, %d failures\n", sizeof rows / sizeof rows[0],
           sizeof states / sizeof states[0], played, failures);
    return failures > 0;
}
