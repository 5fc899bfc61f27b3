/* The user's sessions as login1 describes them. */
#define _GNU_SOURCE
#include "login1.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

size_t login1_graphical_sessions(const struct agent *agent) {
    size_t count = 0;
    for (size_t index = 0; index < AGENT_SESSIONS; index++)
        count += agent->login1.sessions[index].is_used && agent->login1.sessions[index].is_graphical;
    return count;
}

static void forget_session(struct session *session) {
    sd_bus_slot_unref(session->call);
    *session = (struct session){.is_used = false};
}

/* Ready once login1 has answered for each session. */
static void check_readiness(struct agent *agent) {
    struct login1 *login1 = &agent->login1;
    if (login1->listing != NULL || login1->owner[0] == '\0')
        return;
    for (size_t index = 0; index < AGENT_SESSIONS; index++) {
        if (login1->sessions[index].is_used && !login1->sessions[index].is_known)
            return;
    }
    if (!login1->is_ready) {
        login1->is_ready = true;
        login1->is_gone = false;
        login1->failures = 0;
        (void)sd_event_source_set_enabled(login1->lost, SD_EVENT_OFF);
        (void)requests_serve(agent);
    }
    lock_state_changed(agent);
}

/* A session as GetAll describes it. */
struct description {
    const char *class, *type, *desktop, *state;
    uint32_t uid;
    int is_locked, has_hint;
};

/* Reads one property of a known name; 1 if its type is right. */
static int read_property(sd_bus_message *message, const char *name, struct description *description) {
    static const struct {
        const char *name;
        size_t offset;
    } texts[] = {
        {"Class", offsetof(struct description, class)},
        {"Type", offsetof(struct description, type)},
        {"Desktop", offsetof(struct description, desktop)},
        {"State", offsetof(struct description, state)},
    };
    for (size_t index = 0; index < sizeof texts / sizeof texts[0]; index++) {
        if (strcmp(name, texts[index].name) == 0)
            return sd_bus_message_read(message, "v", "s", (char *)description + texts[index].offset);
    }
    if (strcmp(name, "LockedHint") == 0) {
        description->has_hint = 1;
        return sd_bus_message_read(message, "v", "b", &description->is_locked);
    }
    if (strcmp(name, "User") == 0) {
        const char *path;
        return sd_bus_message_read(message, "v", "(uo)", &description->uid, &path);
    }
    return sd_bus_message_skip(message, "v");
}

static int read_properties(sd_bus_message *message, struct description *description) {
    int error = sd_bus_message_enter_container(message, 'a', "{sv}");
    if (error < 0)
        return error;
    while ((error = sd_bus_message_enter_container(message, 'e', "sv")) > 0) {
        const char *name;
        error = sd_bus_message_read(message, "s", &name);
        if (error >= 0)
            error = read_property(message, name, description);
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

/* Takes over what login1 said. Returns whether it locks the screen, and did not before. */
static bool take(struct session *session, const struct description *description) {
    bool was_locked = session->is_graphical && session->is_locked;
    session->is_bad = description->class == NULL || description->type == NULL || !description->has_hint;
    if (session->is_bad)
        return true;
    /* A session that ends keeps its last hint. */
    session->is_graphical = description->uid == geteuid() && strcmp(description->class, "user") == 0 &&
                            is_graphical_type(description->type) &&
                            (description->state == NULL || strcmp(description->state, "closing") != 0);
    session->is_locked = description->is_locked != 0;
    proof_name(session->kind.desktop, sizeof session->kind.desktop,
               description->desktop != NULL ? description->desktop : "");
    proof_name(session->kind.type, sizeof session->kind.type, description->type);
    return session->is_graphical && session->is_locked && !was_locked;
}

/* The session whose call is answered. */
static struct session *session_of_call(struct agent *agent, sd_bus_slot *call) {
    for (size_t index = 0; index < AGENT_SESSIONS; index++) {
        if (agent->login1.sessions[index].is_used && agent->login1.sessions[index].call == call)
            return &agent->login1.sessions[index];
    }
    return NULL;
}

static int on_properties(sd_bus_message *message, void *data, sd_bus_error *error) {
    (void)error;
    struct agent *agent = data;
    struct session *session = session_of_call(agent, sd_bus_get_current_slot(agent->login1.bus));
    if (session == NULL)
        return 0;
    session->call = sd_bus_slot_unref(session->call);
    const sd_bus_error *failure = sd_bus_message_get_error(message);
    if (failure != NULL) {
        if (sd_bus_error_has_name(failure, SD_BUS_ERROR_UNKNOWN_OBJECT))
            forget_session(session);
        else
            login1_fail(agent);
        check_readiness(agent);
        return 0;
    }
    struct description description = {.uid = UINT32_MAX};
    session->is_known = true;
    bool locks;
    if (read_properties(message, &description) < 0)
        locks = session->is_bad = true;
    else
        locks = take(session, &description);
    if (locks)
        lock_state_locked(agent);
    check_readiness(agent);
    return 0;
}

void login1_ask_session(struct agent *agent, struct session *session) {
    if (login1_call(agent, &session->call, session->path, "org.freedesktop.DBus.Properties", "GetAll",
                    on_properties, SESSION) < 0)
        login1_fail(agent);
}

struct session *login1_session_at(struct agent *agent, const char *path, bool is_made) {
    struct session *unused = NULL;
    for (size_t index = 0; index < AGENT_SESSIONS; index++) {
        struct session *session = &agent->login1.sessions[index];
        if (session->is_used && strcmp(session->path, path) == 0)
            return session;
        if (!session->is_used && unused == NULL)
            unused = session;
    }
    if (!is_made || unused == NULL || strlen(path) >= sizeof unused->path)
        return NULL;
    *unused = (struct session){.is_used = true};
    strcpy(unused->path, path);
    return unused;
}

/* Asks for each session of the user. Negative if the list is malformed, or longer than the agent's. */
static int read_sessions(struct agent *agent, sd_bus_message *message) {
    int error = sd_bus_message_enter_container(message, 'a', "(susso)");
    if (error < 0)
        return error;
    const char *id, *user, *seat, *path;
    uint32_t uid;
    while ((error = sd_bus_message_read(message, "(susso)", &id, &uid, &user, &seat, &path)) > 0) {
        if (uid != geteuid())
            continue;
        struct session *session = login1_session_at(agent, path, true);
        if (session == NULL)
            return -E2BIG;
        session->is_listed = true;
        login1_ask_session(agent, session);
    }
    return error;
}

static int on_sessions(sd_bus_message *message, void *data, sd_bus_error *error) {
    (void)error;
    struct agent *agent = data;
    struct login1 *login1 = &agent->login1;
    login1->listing = sd_bus_slot_unref(login1->listing);
    for (size_t index = 0; index < AGENT_SESSIONS; index++)
        login1->sessions[index].is_listed = false;
    if (sd_bus_message_is_method_error(message, NULL) > 0 || read_sessions(agent, message) < 0) {
        login1_fail(agent);
        return 0;
    }
    for (size_t index = 0; index < AGENT_SESSIONS; index++) {
        if (login1->sessions[index].is_used && !login1->sessions[index].is_listed)
            forget_session(&login1->sessions[index]);
    }
    check_readiness(agent);
    return 0;
}

void login1_list_sessions(struct agent *agent) {
    if (login1_call(agent, &agent->login1.listing, MANAGER, SERVICE ".Manager", "ListSessions", on_sessions,
                    NULL) < 0)
        login1_fail(agent);
}
