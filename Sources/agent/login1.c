#define _GNU_SOURCE
#include "login1.h"

#include "login1_sessions.h"

#include <stdio.h>
#include <string.h>

/* Whether login1 sent this signal. Any program on the bus can send a signal with the same interface and
 * name. */
static bool is_from_login1(const struct login1 *login1, sd_bus_message *message) {
    const char *sender = sd_bus_message_get_sender(message);
    return sender != NULL && login1->owner[0] != '\0' && strcmp(sender, login1->owner) == 0;
}

static int on_session_changed(sd_bus_message *message, void *data, sd_bus_error *error) {
    (void)error;
    struct login1 *login1 = data;
    const char *path = sd_bus_message_get_path(message);
    size_t index = path != NULL ? login1_session_at(login1, path) : NO_SESSION;
    if (index == NO_SESSION || !is_from_login1(login1, message))
        return 0;
    if (sd_bus_message_is_signal(message, SESSION, "Lock") <= 0)
        login1_ask_session(login1, index);
    else if (login1->facts->login1.sessions[index].is_graphical)
        facts_tell(login1->facts, EVENT_LOCKED_ONCE, WORD_SIGNAL);
    return 0;
}

static int on_manager_signal(sd_bus_message *message, void *data, sd_bus_error *error) {
    (void)error;
    struct login1 *login1 = data;
    if (!is_from_login1(login1, message))
        return 0;
    if (sd_bus_message_is_signal(message, SERVICE ".Manager", "PrepareForSleep") <= 0) {
        login1_list_sessions(login1);
        return 0;
    }
    int is_starting;
    if (sd_bus_message_read(message, "b", &is_starting) < 0)
        is_starting = 1;
    login1->facts->login1.is_sleeping = is_starting != 0;
    facts_tell(login1->facts, EVENT_LOCKED_ONCE, WORD_SLEEP);
    return 0;
}

static void set_owner(struct login1 *login1, const char *owner) {
    if (owner[0] == '\0' || strlen(owner) >= sizeof login1->owner) {
        login1->owner[0] = '\0';
        login1_fail(login1);
        return;
    }
    if (strcmp(login1->owner, owner) == 0)
        return;
    strcpy(login1->owner, owner);
    login1_begin_anew(login1);
    /* A new login1 process may not report the end of a sleep that began under the old process. */
    login1->facts->login1.is_sleeping = false;
    login1_let_sleep(login1);
    login1_inhibit_sleep(login1);
    login1_list_sessions(login1);
}

static int on_owner_changed(sd_bus_message *message, void *data, sd_bus_error *error) {
    (void)error;
    const char *name, *owner;
    if (bus_read_owner(message, &name, &owner) && strcmp(name, SERVICE) == 0)
        set_owner(data, owner);
    return 0;
}

static int on_owner(sd_bus_message *message, void *data, sd_bus_error *error) {
    (void)error;
    struct login1 *login1 = data;
    login1->listing = sd_bus_slot_unref(login1->listing);
    const char *owner;
    if (sd_bus_message_is_method_error(message, NULL) > 0 || sd_bus_message_read(message, "s", &owner) < 0)
        owner = "";
    set_owner(login1, owner);
    return 0;
}

static void close_bus(struct login1 *login1) {
    login1->listing = sd_bus_slot_unref(login1->listing);
    login1->inhibiting = sd_bus_slot_unref(login1->inhibiting);
    for (size_t index = 0; index < AGENT_SESSIONS; index++)
        login1->sessions[index].call = sd_bus_slot_unref(login1->sessions[index].call);
    login1_let_sleep(login1);
    login1->owner[0] = '\0';
    login1->bus = sd_bus_close_unref(login1->bus);
}

static int add_matches(struct login1 *login1) {
    sd_bus *bus = login1->bus;
    static const char session_rule[] =
        "type='signal',sender='" SERVICE "',path_namespace='" MANAGER "/session',";
    char properties[256], lock[256];
    (void)snprintf(properties, sizeof properties,
                   "%sinterface='org.freedesktop.DBus.Properties',member='PropertiesChanged',arg0='" SESSION
                   "'",
                   session_rule);
    (void)snprintf(lock, sizeof lock, "%sinterface='" SESSION "',member='Lock'", session_rule);
    int error = bus_watch_owner(bus, SERVICE, on_owner_changed, login1);
    if (error >= 0)
        error = sd_bus_add_match_async(bus, NULL, properties, on_session_changed, NULL, login1);
    if (error >= 0)
        error = sd_bus_add_match_async(bus, NULL, lock, on_session_changed, NULL, login1);
    static const char *const members[] = {"SessionNew", "SessionRemoved", "PrepareForSleep"};
    for (size_t index = 0; error >= 0 && index < sizeof members / sizeof members[0]; index++)
        error = sd_bus_match_signal_async(bus, NULL, SERVICE, MANAGER, SERVICE ".Manager", members[index],
                                          on_manager_signal, NULL, login1);
    return error;
}

static int on_disconnected(sd_bus_message *message, void *data, sd_bus_error *error) {
    (void)message, (void)error;
    login1_fail(data);
    return 0;
}

/* Connects to the bus and queries the owner of login1's name. The sessions are then queried from this
 * owner. */
static int connect_bus(struct login1 *login1) {
    int error = sd_bus_open_system(&login1->bus);
    if (error >= 0)
        error = sd_bus_attach_event(login1->bus, login1->event, PRIORITY_BUS);
    if (error >= 0)
        error = bus_watch_end(login1->bus, on_disconnected, login1);
    if (error >= 0)
        error = add_matches(login1);
    return error < 0 ? error : bus_find_owner(login1->bus, &login1->listing, SERVICE, on_owner, login1);
}

static int on_retry(sd_event_source *source, uint64_t time, void *data) {
    (void)source, (void)time;
    struct login1 *login1 = data;
    if (login1->facts->login1.is_ready)
        return 0;
    /* Replace the connection, because a connection on which a call failed is not used again. None of its
     * handlers is running now, so it can be closed. */
    close_bus(login1);
    if (connect_bus(login1) < 0)
        login1_fail(login1);
    return 0;
}

static int on_lost(sd_event_source *source, uint64_t time, void *data) {
    (void)source, (void)time;
    struct facts *facts = ((struct login1 *)data)->facts;
    if (facts->login1.is_ready)
        return 0;
    facts->login1.is_gone = true;
    facts_tell(facts, EVENT_LOCKED, WORD_NO_LOCK);
    return 0;
}

void login1_check(struct login1 *login1) {
    if (!login1->facts->login1.is_ready)
        return;
    for (size_t step = 1; step <= AGENT_SESSIONS; step++) {
        size_t index = (login1->checked + step) % AGENT_SESSIONS;
        const struct session_facts *session = &login1->facts->login1.sessions[index];
        if (session->is_used && session->is_graphical) {
            login1->checked = index;
            login1_ask_session(login1, index);
            return;
        }
    }
    login1_list_sessions(login1);
}

int login1_start(struct login1 *login1, struct facts *facts, sd_event *event) {
    login1->facts = facts;
    login1->event = event;
    login1->inhibitor = -1;
    uint64_t slack = SECOND_US / 10;
    int error = timer_add(event, &login1->lost, slack, on_lost, login1);
    if (error >= 0)
        error = timer_add(event, &login1->retry, slack, on_retry, login1);
    if (error >= 0)
        error = timer_arm(login1->lost, boot_now() + AGENT_LOGIN1_S * SECOND_US);
    return error < 0 ? error : timer_arm(login1->retry, 0);
}

void login1_end(struct login1 *login1) {
    close_bus(login1);
    login1->lost = sd_event_source_unref(login1->lost);
    login1->retry = sd_event_source_unref(login1->retry);
}
