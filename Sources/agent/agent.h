/* The agent: one thread, one event loop. Each part has a file of its own and tells lock_state.c of changes.
 */
#ifndef TOKENKEEP_AGENT_H
#define TOKENKEEP_AGENT_H

#include "held_keys.h"
#include "lock_proof.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <systemd/sd-bus.h>
#include <systemd/sd-event.h>

/* Buses are heard before requests, and requests before timers: a key is published, or renewed, only after all
 * that is known of the screen. */
enum { PRIORITY_BUS = -20, PRIORITY_REQUEST = -10, PRIORITY_TIMER = 10 };

/* The start of a rule for the changes of a name's owner; the quoted name follows. Without the name, each
 * program that joins the bus would wake the agent. */
#define OWNER_RULE                                                                                           \
    "type='signal',sender='org.freedesktop.DBus',path='/org/freedesktop/DBus',"                              \
    "interface='org.freedesktop.DBus',member='NameOwnerChanged',arg0="

/* One of the user's sessions at login1. */
struct session {
    bool is_used, is_listed;
    char path[160];
    struct proof_key kind;
    bool is_graphical;
    /* login1 answered for it. */
    bool is_known;
    /* A property has a wrong type: counts as locked. */
    bool is_bad;
    bool is_locked;
    sd_bus_slot *call;
};

struct login1 {
    sd_bus *bus;
    struct session sessions[AGENT_SESSIONS];
    /* login1's unique name: only its signals count. */
    char owner[64];
    /* login1 has answered for all sessions, and nothing failed since. */
    bool is_ready;
    /* It has not been ready for AGENT_LOGIN1_S. */
    bool is_gone;
    bool is_sleeping;
    unsigned failures;
    /* The session that login1_check asked for last. */
    size_t checked;
    int inhibitor;
    sd_bus_slot *listing, *inhibiting;
    sd_event_source *lost, *retry;
};

/* A screensaver of a desktop: known_savers in session_bus.c. */
struct screensaver {
    const char *name, *path;
    char owner[64];
    bool is_active;
    sd_bus_slot *asking;
};

/* The state of the target that the user's systemd has not yet acknowledged. */
struct service_manager {
    bool is_pending, starts;
    sd_bus_slot *call;
};

struct session_bus {
    sd_bus *bus;
    struct service_manager manager;
    struct screensaver savers[5];
    uint64_t tried_at;
};

struct agent {
    sd_event *event;
    struct held_keys *keys;
    struct login1 login1;
    struct session_bus session_bus;
    struct proofs proofs;
    /* The lock that no source will end, by its word; NULL if there is none. The next key ends it. */
    const char *event_lock;
    /* The state that was last announced. */
    bool was_locked;
    char announced[16];
    /* Fires while keys are held, or while the service manager watches the agent. */
    sd_event_source *renewal, *waiting;
    /* When `tokenkeep sync` was last started for a Secret Service that appeared; 0: never. */
    uint64_t drained_at;
    sd_event_source *drain;
    uint64_t watchdog_us;
    int listener;
    sd_event_source *requests, *start;
    struct connection *connections[AGENT_CONNECTIONS];
    uint64_t connection_count;
    bool is_serving;
};

/* The boot clock in microseconds: goes on while the machine sleeps. */
uint64_t agent_now(void);

/* lock_state.c */

/* The word of the source that says that the screen is locked; NULL if it is open. */
const char *lock_state_word(const struct agent *agent);
/* Whether keys may be published. */
bool lock_state_is_open(const struct agent *agent);
/* The word for LockSource: of the lock, or of the source that would lock. */
const char *lock_state_source(const struct agent *agent);
/* Whether every graphical session has a source that was seen to lock its kind of desktop. */
bool lock_state_is_proved(const struct agent *agent);
/* A source says that the screen is now locked: drops all keys. */
void lock_state_locked(struct agent *agent);
/* As lock_state_locked, by something that tells no end. */
void lock_state_locked_once(struct agent *agent, const char *word);
/* Anything else about the screen changed. Publishes keys that waited if the screen is open. */
void lock_state_changed(struct agent *agent);
/* Takes a key. 0 if it is published or waits for the screen, else an errno. */
int lock_state_hold(struct agent *agent, const struct class_key *key, struct held_key **entry);
/* Starts the timer of renewals if it is needed. */
int lock_state_start(struct agent *agent);
/* The wall clock was set. */
void lock_state_clock_step(struct agent *agent);

/* login1.c */
int login1_start(struct agent *agent);
/* Asks login1 for the properties of one graphical session, of each in turn: finds a login1 that hangs. The
 * agent wakes for one reply. */
void login1_check(struct agent *agent);
size_t login1_graphical_sessions(const struct agent *agent);
void login1_end(struct agent *agent);

/* session_bus.c */
void session_bus_start(struct agent *agent);
void session_bus_announce(struct agent *agent);
/* Reads the bus's own signal that a name has another owner, which is empty if it has none. */
bool session_bus_owner_changed(sd_bus_message *message, const char **name, const char **owner);
bool session_bus_is_active(const struct agent *agent);
bool session_bus_has_screensaver(const struct agent *agent);
void session_bus_end(struct agent *agent);

/* draining.c */
int draining_start(struct agent *agent);
/* Watches for the Secret Service on the user's bus, which must be connected. */
int draining_watch(struct agent *agent);

/* service_manager.c: units of the user's systemd */

/* Starts or stops the target. Nothing waits for the service manager. If the bus does not know it yet, as in
 * the first moments of a session, the target follows once it does. */
void service_manager_set_target(struct agent *agent, bool starts);
/* Starts a unit. Nothing waits for the service manager, and nothing is repeated. */
void service_manager_start_unit(struct agent *agent, const char *unit);
int service_manager_start(struct agent *agent);
void service_manager_end(struct agent *agent);

/* requests.c */
int requests_listen(struct agent *agent);
int requests_serve(struct agent *agent);
void requests_end(struct agent *agent);

/* tools.c: run as programs of their own. */
int tool_test_lock(void);
int tool_locker(char *const command[]);

#endif
