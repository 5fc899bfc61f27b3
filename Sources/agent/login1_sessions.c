#define _GNU_SOURCE
#include "login1_sessions.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

static void forget_session(struct login1 *login1, size_t index) {
    sd_bus_slot_unref(login1->sessions[index].call);
    login1->sessions[index] = (struct session){.call = NULL};
    login1->facts->login1.sessions[index] = (struct session_facts){.is_used = false};
}

/* The properties of a session in a reply to GetAll. The texts are owned by the message; NULL if they are
 * missing. */
struct session_properties {
    const char *class, *type, *desktop, *state;
    uint32_t uid;
    int is_locked, has_hint;
};

/* Reads the property with this name, which must be known. Returns 1 if the property has the right type. */
static int read_property(sd_bus_message *message, const char *name, struct session_properties *properties) {
    static const struct {
        const char *name;
        size_t offset;
    } texts[] = {
        {"Class", offsetof(struct session_properties, class)},
        {"Type", offsetof(struct session_properties, type)},
        {"Desktop", offsetof(struct session_properties, desktop)},
        {"State", offsetof(struct session_properties, state)},
    };
    for (size_t index = 0; index < sizeof texts / sizeof texts[0]; index++) {
        if (strcmp(name, texts[index].name) == 0)
            return sd_bus_message_read(message, "v", "s", (char *)properties + texts[index].offset);
    }
    if (strcmp(name, "LockedHint") == 0) {
        properties->has_hint = 1;
        return sd_bus_message_read(message, "v", "b", &properties->is_locked);
    }
    if (strcmp(name, "User") == 0) {
        const char *path;
        return sd_bus_message_read(message, "v", "(uo)", &properties->uid, &path);
    }
    return sd_bus_message_skip(message, "v");
}

/* Reads all properties of a session. Negative if a property has a wrong type. */
static int read_properties(sd_bus_message *message, struct session_properties *properties) {
    int error = sd_bus_message_enter_container(message, 'a', "{sv}");
    if (error < 0)
        return error;
    while ((error = sd_bus_message_enter_container(message, 'e', "sv")) > 0) {
        const char *name;
        error = sd_bus_message_read(message, "s", &name);
        if (error >= 0)
            error = read_property(message, name, properties);
        if (error >= 0)
            error = sd_bus_message_exit_container(message);
        if (error < 0)
            return error;
    }
    return error;
}

static bool is_graphical_type(const char *type) {
    return strcmp(type, "x11") == 0 || strcmp(type, "wayland") == 0 || strcmp(type, "mir") == 0;
}

/* Stores a session's properties in the facts. Returns whether the session is locked now and was not before;
 * true also if a property is missing or has a wrong type. */
static bool take(struct session_facts *session, const struct session_properties *properties) {
    bool was_locked = session->is_graphical && session->is_locked;
    session->is_bad = properties->class == NULL || properties->type == NULL || !properties->has_hint;
    if (session->is_bad)
        return true;
    /* Ignore a session that is ending, because its LockedHint is not updated any more. */
    session->is_graphical = properties->uid == geteuid() && strcmp(properties->class, "user") == 0 &&
                            is_graphical_type(properties->type) &&
                            (properties->state == NULL || strcmp(properties->state, "closing") != 0);
    session->is_locked = properties->is_locked != 0;
    proof_name(session->kind.desktop, sizeof session->kind.desktop,
               properties->desktop != NULL ? properties->desktop : "");
    proof_name(session->kind.type, sizeof session->kind.type, properties->type);
    return session->is_graphical && session->is_locked && !was_locked;
}

/* The place of the session to whose query a reply belongs. */
static size_t session_of_call(const struct login1 *login1, const sd_bus_slot *call) {
    size_t index = 0;
    while (index < AGENT_SESSIONS &&
           !(login1->facts->login1.sessions[index].is_used && login1->sessions[index].call == call))
        index++;
    return index;
}

static void read_session(struct session_facts *session, sd_bus_message *message, struct facts *facts) {
    struct session_properties properties = {.uid = UINT32_MAX};
    bool locks = true;
    session->is_known = true;
    if (read_properties(message, &properties) < 0)
        session->is_bad = true;
    else
        locks = take(session, &properties);
    if (locks)
        facts_tell(facts, EVENT_LOCKED, WORD_NO_LOCK);
}

static int on_properties(sd_bus_message *message, void *data, sd_bus_error *error) {
    (void)error;
    struct login1 *login1 = data;
    size_t index = session_of_call(login1, sd_bus_get_current_slot(login1->bus));
    if (index == NO_SESSION)
        return 0;
    login1->sessions[index].call = sd_bus_slot_unref(login1->sessions[index].call);
    const sd_bus_error *failure = sd_bus_message_get_error(message);
    if (failure == NULL)
        read_session(&login1->facts->login1.sessions[index], message, login1->facts);
    else if (sd_bus_error_has_name(failure, SD_BUS_ERROR_UNKNOWN_OBJECT))
        forget_session(login1, index);
    else
        login1_fail(login1);
    login1_check_readiness(login1);
    return 0;
}

void login1_ask_session(struct login1 *login1, size_t index) {
    const struct bus_method get_all = {SERVICE, login1->sessions[index].path,
                                       "org.freedesktop.DBus.Properties", "GetAll"};
    if (bus_call(login1->bus, &login1->sessions[index].call, &get_all, SESSION, on_properties, login1) < 0)
        login1_fail(login1);
}

size_t login1_session_at(const struct login1 *login1, const char *path) {
    size_t index = 0;
    while (index < AGENT_SESSIONS && !(login1->facts->login1.sessions[index].is_used &&
                                       strcmp(login1->sessions[index].path, path) == 0))
        index++;
    return index;
}

/* The place of the session with this path; for a new session, a free place; NO_SESSION if no place is free or
 * the path is too long. */
static size_t place_for(struct login1 *login1, const char *path) {
    size_t index = login1_session_at(login1, path);
    if (index != NO_SESSION || strlen(path) >= sizeof login1->sessions[0].path)
        return index;
    index = 0;
    while (index < AGENT_SESSIONS && login1->facts->login1.sessions[index].is_used)
        index++;
    if (index == NO_SESSION)
        return NO_SESSION;
    login1->facts->login1.sessions[index] = (struct session_facts){.is_used = true};
    login1->sessions[index] = (struct session){.call = NULL};
    strcpy(login1->sessions[index].path, path);
    return index;
}

/* Queries each session of the user in login1's list. Negative if the list is malformed, or has more than
 * AGENT_SESSIONS sessions of the user. */
static int read_sessions(struct login1 *login1, sd_bus_message *message) {
    int error = sd_bus_message_enter_container(message, 'a', "(susso)");
    if (error < 0)
        return error;
    const char *id, *user, *seat, *path;
    uint32_t uid;
    while ((error = sd_bus_message_read(message, "(susso)", &id, &uid, &user, &seat, &path)) > 0) {
        if (uid != geteuid())
            continue;
        size_t index = place_for(login1, path);
        if (index == NO_SESSION)
            return -E2BIG;
        login1->sessions[index].is_listed = true;
        login1_ask_session(login1, index);
    }
    return error;
}

static int on_sessions(sd_bus_message *message, void *data, sd_bus_error *error) {
    (void)error;
    struct login1 *login1 = data;
    login1->listing = sd_bus_slot_unref(login1->listing);
    for (size_t index = 0; index < AGENT_SESSIONS; index++)
        login1->sessions[index].is_listed = false;
    if (sd_bus_message_is_method_error(message, NULL) > 0 || read_sessions(login1, message) < 0) {
        login1_fail(login1);
        return 0;
    }
    for (size_t index = 0; index < AGENT_SESSIONS; index++) {
        if (login1->facts->login1.sessions[index].is_used && !login1->sessions[index].is_listed)
            forget_session(login1, index);
    }
    login1_check_readiness(login1);
    return 0;
}

void login1_list_sessions(struct login1 *login1) {
    static const struct bus_method list = {SERVICE, MANAGER, SERVICE ".Manager", "ListSessions"};
    if (bus_call(login1->bus, &login1->listing, &list, NULL, on_sessions, login1) < 0)
        login1_fail(login1);
}
