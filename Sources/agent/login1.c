/* The user's graphical sessions at login1: LockedHint, the Lock signal, sleep. */
#define _GNU_SOURCE
#include "login1.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

/* The longest pause between two attempts to reach login1. */
#define LONGEST_RETRY_S 60

/* Sends a call whose reply, or failure, comes to handler. */
int login1_call(struct agent *agent, sd_bus_slot **slot, const char *path, const char *interface,
                const char *member, sd_bus_message_handler_t handler, const char *argument) {
    sd_bus_message *message = NULL;
    int error = sd_bus_message_new_method_call(agent->login1.bus, &message, SERVICE, path, interface, member);
    if (error >= 0 && argument != NULL)
        error = sd_bus_message_append(message, "s", argument);
    if (error >= 0) {
        *slot = sd_bus_slot_unref(*slot);
        error = sd_bus_call_async(agent->login1.bus, slot, message, handler, agent, CALL_US);
    }
    sd_bus_message_unref(message);
    return error;
}

static int arm(sd_event_source *timer, uint64_t microseconds) {
    int error = sd_event_source_set_time(timer, agent_now() + microseconds);
    return error < 0 ? error : sd_event_source_set_enabled(timer, SD_EVENT_ONESHOT);
}

static int on_inhibited(sd_bus_message *message, void *data, sd_bus_error *error) {
    (void)error;
    struct login1 *login1 = &((struct agent *)data)->login1;
    login1->inhibiting = sd_bus_slot_unref(login1->inhibiting);
    int descriptor = -1;
    if (sd_bus_message_is_method_error(message, NULL) > 0 ||
        sd_bus_message_read(message, "h", &descriptor) < 0)
        return 0;
    if (login1->inhibitor < 0 && !login1->is_sleeping)
        login1->inhibitor = fcntl(descriptor, F_DUPFD_CLOEXEC, 3);
    return 0;
}

static void let_sleep(struct login1 *login1) {
    if (login1->inhibitor >= 0)
        (void)close(login1->inhibitor);
    login1->inhibitor = -1;
}

/* Delays sleep until the keys are gone. Without the delay they end at the same signal, perhaps later. */
static void inhibit_sleep(struct agent *agent) {
    if (agent->login1.inhibitor >= 0)
        return;
    sd_bus_message *message = NULL;
    struct login1 *login1 = &agent->login1;
    login1->inhibiting = sd_bus_slot_unref(login1->inhibiting);
    if (sd_bus_message_new_method_call(login1->bus, &message, SERVICE, MANAGER, SERVICE ".Manager",
                                       "Inhibit") >= 0 &&
        sd_bus_message_append(message, "ssss", "sleep", "TokenKeep", "keys are removed from memory",
                              "delay") >= 0)
        (void)sd_bus_call_async(login1->bus, &login1->inhibiting, message, on_inhibited, agent, CALL_US);
    sd_bus_message_unref(message);
}

/* Whether login1 sent a signal. Any user of the bus can send one that only looks like it. */
static bool is_from_login1(const struct agent *agent, sd_bus_message *message) {
    const char *sender = sd_bus_message_get_sender(message);
    return sender != NULL && agent->login1.owner[0] != '\0' && strcmp(sender, agent->login1.owner) == 0;
}

static int on_session_changed(sd_bus_message *message, void *data, sd_bus_error *error) {
    (void)error;
    struct agent *agent = data;
    const char *path = sd_bus_message_get_path(message);
    struct session *session = path != NULL ? login1_session_at(agent, path, false) : NULL;
    if (session == NULL || !is_from_login1(agent, message))
        return 0;
    if (sd_bus_message_is_signal(message, SESSION, "Lock") > 0) {
        if (session->is_graphical)
            lock_state_locked_once(agent, "signal");
    } else {
        login1_ask_session(agent, session);
    }
    return 0;
}

static int on_manager_signal(sd_bus_message *message, void *data, sd_bus_error *error) {
    (void)error;
    struct agent *agent = data;
    struct login1 *login1 = &agent->login1;
    if (!is_from_login1(agent, message))
        return 0;
    if (sd_bus_message_is_signal(message, SERVICE ".Manager", "PrepareForSleep") <= 0) {
        login1_list_sessions(agent);
        return 0;
    }
    int is_starting;
    if (sd_bus_message_read(message, "b", &is_starting) < 0)
        is_starting = 1;
    login1->is_sleeping = is_starting != 0;
    lock_state_locked_once(agent, "sleep");
    if (login1->is_sleeping)
        let_sleep(login1);
    else
        inhibit_sleep(agent);
    return 0;
}

/* Nothing of login1's counts until it has answered for each session anew. */
static void begin_anew(struct login1 *login1) {
    login1->is_ready = false;
    for (size_t index = 0; index < AGENT_SESSIONS; index++)
        login1->sessions[index].is_known = false;
    if (!login1->is_gone && sd_event_source_get_enabled(login1->lost, NULL) == 0)
        (void)arm(login1->lost, AGENT_LOGIN1_S * SECOND_US);
}

static void set_owner(struct agent *agent, const char *owner) {
    struct login1 *login1 = &agent->login1;
    if (owner[0] == '\0' || strlen(owner) >= sizeof login1->owner) {
        login1->owner[0] = '\0';
        login1_fail(agent);
        return;
    }
    if (strcmp(login1->owner, owner) == 0)
        return;
    strcpy(login1->owner, owner);
    begin_anew(login1);
    /* Another login1 may know of a sleep whose end this one will not tell. */
    login1->is_sleeping = false;
    let_sleep(login1);
    inhibit_sleep(agent);
    login1_list_sessions(agent);
}

static int on_owner_changed(sd_bus_message *message, void *data, sd_bus_error *error) {
    (void)error;
    struct agent *agent = data;
    const char *sender = sd_bus_message_get_sender(message), *name, *before, *after;
    if (sender != NULL && strcmp(sender, "org.freedesktop.DBus") == 0 &&
        sd_bus_message_read(message, "sss", &name, &before, &after) >= 0 && strcmp(name, SERVICE) == 0)
        set_owner(agent, after);
    return 0;
}

static int on_owner(sd_bus_message *message, void *data, sd_bus_error *error) {
    (void)error;
    struct agent *agent = data;
    agent->login1.listing = sd_bus_slot_unref(agent->login1.listing);
    const char *owner;
    if (sd_bus_message_is_method_error(message, NULL) > 0 || sd_bus_message_read(message, "s", &owner) < 0)
        owner = "";
    set_owner(agent, owner);
    return 0;
}

static void close_bus(struct agent *agent) {
    struct login1 *login1 = &agent->login1;
    login1->listing = sd_bus_slot_unref(login1->listing);
    login1->inhibiting = sd_bus_slot_unref(login1->inhibiting);
    for (size_t index = 0; index < AGENT_SESSIONS; index++)
        login1->sessions[index].call = sd_bus_slot_unref(login1->sessions[index].call);
    let_sleep(login1);
    login1->owner[0] = '\0';
    login1->bus = sd_bus_close_unref(login1->bus);
}

static int add_matches(struct agent *agent) {
    sd_bus *bus = agent->login1.bus;
    static const char session_rule[] =
        "type='signal',sender='" SERVICE "',path_namespace='" MANAGER "/session',";
    char properties[256], lock[256];
    (void)snprintf(properties, sizeof properties,
                   "%sinterface='org.freedesktop.DBus.Properties',member='PropertiesChanged',arg0='" SESSION
                   "'",
                   session_rule);
    (void)snprintf(lock, sizeof lock, "%sinterface='" SESSION "',member='Lock'", session_rule);
    int error = sd_bus_add_match_async(bus, NULL, OWNER_RULE "'" SERVICE "'", on_owner_changed, NULL, agent);
    if (error >= 0)
        error = sd_bus_add_match_async(bus, NULL, properties, on_session_changed, NULL, agent);
    if (error >= 0)
        error = sd_bus_add_match_async(bus, NULL, lock, on_session_changed, NULL, agent);
    static const char *const members[] = {"SessionNew", "SessionRemoved", "PrepareForSleep"};
    for (size_t index = 0; error >= 0 && index < sizeof members / sizeof members[0]; index++)
        error = sd_bus_match_signal_async(bus, NULL, SERVICE, MANAGER, SERVICE ".Manager", members[index],
                                          on_manager_signal, NULL, agent);
    return error;
}

static int on_disconnected(sd_bus_message *message, void *data, sd_bus_error *error) {
    (void)message, (void)error;
    login1_fail(data);
    return 0;
}

static int connect_bus(struct agent *agent) {
    struct login1 *login1 = &agent->login1;
    int error = sd_bus_open_system(&login1->bus);
    if (error >= 0)
        error = sd_bus_attach_event(login1->bus, agent->event, PRIORITY_BUS);
    if (error >= 0)
        error = sd_bus_match_signal_async(login1->bus, NULL, NULL, "/org/freedesktop/DBus/Local",
                                          "org.freedesktop.DBus.Local", "Disconnected", on_disconnected, NULL,
                                          agent);
    if (error >= 0)
        error = add_matches(agent);
    return error;
}

/* Asks the bus for the owner of the name. The owner is then asked for sessions. */
static int find_owner(struct agent *agent) {
    struct login1 *login1 = &agent->login1;
    sd_bus_message *message = NULL;
    int error =
        sd_bus_message_new_method_call(login1->bus, &message, "org.freedesktop.DBus", "/org/freedesktop/DBus",
                                       "org.freedesktop.DBus", "GetNameOwner");
    if (error >= 0)
        error = sd_bus_message_append(message, "s", SERVICE);
    if (error >= 0) {
        login1->listing = sd_bus_slot_unref(login1->listing);
        error = sd_bus_call_async(login1->bus, &login1->listing, message, on_owner, agent, CALL_US);
    }
    sd_bus_message_unref(message);
    return error;
}

static int on_retry(sd_event_source *source, uint64_t time, void *data) {
    (void)source, (void)time;
    struct agent *agent = data;
    if (agent->login1.is_ready)
        return 0;
    /* A connection on which anything failed is not used again. Its handlers are not running now. */
    close_bus(agent);
    if (connect_bus(agent) < 0 || find_owner(agent) < 0)
        login1_fail(agent);
    return 0;
}

/* login1 failed or is away: tries again after 0.25, 0.5, 1 … 60 s. Does not touch the connection, whose
 * handler may be running. */
void login1_fail(struct agent *agent) {
    struct login1 *login1 = &agent->login1;
    begin_anew(login1);
    if (sd_event_source_get_enabled(login1->retry, NULL) == 0) {
        uint64_t pause = SECOND_US / 4 << (login1->failures < 8 ? login1->failures : 8);
        login1->failures++;
        (void)arm(login1->retry, pause < LONGEST_RETRY_S * SECOND_US ? pause : LONGEST_RETRY_S * SECOND_US);
    }
    lock_state_changed(agent);
}

static int on_lost(sd_event_source *source, uint64_t time, void *data) {
    (void)source, (void)time;
    struct agent *agent = data;
    if (agent->login1.is_ready)
        return 0;
    agent->login1.is_gone = true;
    lock_state_locked(agent);
    return 0;
}

void login1_check(struct agent *agent) {
    struct login1 *login1 = &agent->login1;
    if (!login1->is_ready)
        return;
    for (size_t step = 1; step <= AGENT_SESSIONS; step++) {
        size_t index = (login1->checked + step) % AGENT_SESSIONS;
        struct session *session = &login1->sessions[index];
        if (session->is_used && session->is_graphical) {
            login1->checked = index;
            login1_ask_session(agent, session);
            return;
        }
    }
    login1_list_sessions(agent);
}

int login1_start(struct agent *agent) {
    struct login1 *login1 = &agent->login1;
    login1->inhibitor = -1;
    uint64_t slack = SECOND_US / 10;
    int error = sd_event_add_time(agent->event, &login1->lost, CLOCK_BOOTTIME,
                                  agent_now() + AGENT_LOGIN1_S * SECOND_US, slack, on_lost, agent);
    if (error >= 0)
        error = sd_event_add_time(agent->event, &login1->retry, CLOCK_BOOTTIME, 0, slack, on_retry, agent);
    if (error >= 0)
        error = sd_event_source_set_priority(login1->lost, PRIORITY_TIMER);
    return error;
}

void login1_end(struct agent *agent) {
    close_bus(agent);
    agent->login1.lost = sd_event_source_unref(agent->login1.lost);
    agent->login1.retry = sd_event_source_unref(agent->login1.retry);
}
