/* The user's bus: the screensavers, and org.tokenkeep.Agent1. */
#define _GNU_SOURCE
#include "agent.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define OWN_NAME "org.tokenkeep.Agent1"
#define OWN_PATH "/org/tokenkeep/Agent1"
#define CALL_US  (AGENT_CALL_S * SECOND_US)
#define SAVERS   (sizeof((struct session_bus *)NULL)->savers / sizeof(struct screensaver))

/* The names and objects of the desktops' screensavers. The interface is called as the name. */
static const struct {
    const char *name, *path;
} known_savers[SAVERS] = {
    {"org.gnome.ScreenSaver", "/org/gnome/ScreenSaver"},
    {"org.freedesktop.ScreenSaver", "/org/freedesktop/ScreenSaver"},
    {"org.mate.ScreenSaver", "/org/mate/ScreenSaver"},
    {"org.cinnamon.ScreenSaver", "/org/cinnamon/ScreenSaver"},
    {"org.xfce.ScreenSaver", "/org/xfce/ScreenSaver"},
};

bool session_bus_is_active(const struct agent *agent) {
    for (size_t index = 0; index < SAVERS; index++) {
        if (agent->session_bus.savers[index].is_active)
            return true;
    }
    return false;
}

bool session_bus_has_screensaver(const struct agent *agent) {
    for (size_t index = 0; index < SAVERS; index++) {
        if (agent->session_bus.savers[index].owner[0] != '\0')
            return true;
    }
    return false;
}

/* What a screensaver says counts while login1 knows no better: lock_state.c decides. */
static void set_active(struct agent *agent, struct screensaver *saver, bool is_active) {
    bool was_locked = lock_state_word(agent) != NULL;
    saver->is_active = is_active;
    if (is_active && !was_locked && lock_state_word(agent) != NULL)
        lock_state_locked(agent);
    else
        lock_state_changed(agent);
}

static struct screensaver *saver_of(struct agent *agent, const char *name, const char *owner) {
    for (size_t index = 0; index < SAVERS; index++) {
        struct screensaver *saver = &agent->session_bus.savers[index];
        if ((name == NULL || strcmp(saver->name, name) == 0) &&
            (owner == NULL || strcmp(saver->owner, owner) == 0))
            return saver;
    }
    return NULL;
}

static int on_active_changed(sd_bus_message *message, void *data, sd_bus_error *error) {
    (void)error;
    struct agent *agent = data;
    const char *sender = sd_bus_message_get_sender(message), *name = sd_bus_message_get_interface(message);
    struct screensaver *saver = sender != NULL && name != NULL ? saver_of(agent, name, sender) : NULL;
    int is_active;
    if (saver != NULL && sd_bus_message_read(message, "b", &is_active) >= 0)
        set_active(agent, saver, is_active != 0);
    return 0;
}

static struct screensaver *saver_asked(struct agent *agent) {
    sd_bus_slot *slot = sd_bus_get_current_slot(agent->session_bus.bus);
    for (size_t index = 0; index < SAVERS; index++) {
        if (agent->session_bus.savers[index].asking == slot)
            return &agent->session_bus.savers[index];
    }
    return NULL;
}

static int on_active(sd_bus_message *message, void *data, sd_bus_error *error) {
    (void)error;
    struct agent *agent = data;
    struct screensaver *saver = saver_asked(agent);
    int is_active;
    if (saver == NULL)
        return 0;
    saver->asking = sd_bus_slot_unref(saver->asking);
    if (sd_bus_message_is_method_error(message, NULL) <= 0 &&
        sd_bus_message_read(message, "b", &is_active) >= 0)
        set_active(agent, saver, is_active != 0);
    return 0;
}

static void ask(struct agent *agent, struct screensaver *saver) {
    sd_bus_message *message = NULL;
    saver->asking = sd_bus_slot_unref(saver->asking);
    if (sd_bus_message_new_method_call(agent->session_bus.bus, &message, saver->name, saver->path,
                                       saver->name, "GetActive") >= 0)
        (void)sd_bus_call_async(agent->session_bus.bus, &saver->asking, message, on_active, agent, CALL_US);
    sd_bus_message_unref(message);
}

static void set_owner(struct agent *agent, struct screensaver *saver, const char *owner) {
    if (strlen(owner) >= sizeof saver->owner)
        owner = "";
    if (strcmp(saver->owner, owner) == 0)
        return;
    strcpy(saver->owner, owner);
    if (saver->is_active) {
        /* A locker that crashed has not unlocked the screen. */
        saver->is_active = false;
        lock_state_locked_once(agent, "active");
    }
    if (owner[0] != '\0')
        ask(agent, saver);
    lock_state_changed(agent);
}

bool session_bus_owner_changed(sd_bus_message *message, const char **name, const char **owner) {
    const char *sender = sd_bus_message_get_sender(message), *before;
    return sender != NULL && strcmp(sender, "org.freedesktop.DBus") == 0 &&
           sd_bus_message_read(message, "sss", name, &before, owner) >= 0;
}

static int on_owner_changed(sd_bus_message *message, void *data, sd_bus_error *error) {
    (void)error;
    struct agent *agent = data;
    const char *name, *owner;
    if (!session_bus_owner_changed(message, &name, &owner))
        return 0;
    struct screensaver *saver = saver_of(agent, name, NULL);
    if (saver != NULL)
        set_owner(agent, saver, owner);
    return 0;
}

static int on_owner(sd_bus_message *message, void *data, sd_bus_error *error) {
    (void)error;
    struct agent *agent = data;
    struct screensaver *saver = saver_asked(agent);
    const char *owner;
    if (saver == NULL)
        return 0;
    saver->asking = sd_bus_slot_unref(saver->asking);
    if (sd_bus_message_is_method_error(message, NULL) <= 0 && sd_bus_message_read(message, "s", &owner) >= 0)
        set_owner(agent, saver, owner);
    return 0;
}

static int find_owner(struct agent *agent, struct screensaver *saver) {
    sd_bus_message *message = NULL;
    int error =
        sd_bus_message_new_method_call(agent->session_bus.bus, &message, "org.freedesktop.DBus",
                                       "/org/freedesktop/DBus", "org.freedesktop.DBus", "GetNameOwner");
    if (error >= 0)
        error = sd_bus_message_append(message, "s", saver->name);
    if (error >= 0)
        error = sd_bus_call_async(agent->session_bus.bus, &saver->asking, message, on_owner, agent, CALL_US);
    sd_bus_message_unref(message);
    return error;
}

static int read_property(sd_bus *bus, const char *path, const char *interface, const char *property,
                         sd_bus_message *reply, void *data, sd_bus_error *error) {
    (void)bus, (void)path, (void)interface, (void)error;
    const struct agent *agent = data;
    if (strcmp(property, "Locked") == 0)
        return sd_bus_message_append(reply, "b", lock_state_word(agent) != NULL);
    return sd_bus_message_append(reply, "s", lock_state_source(agent));
}

/* Without values: who hears the signal asks, and is answered with the present state. */
static const sd_bus_vtable interface[] = {
    SD_BUS_VTABLE_START(0),
    SD_BUS_PROPERTY("Locked", "b", read_property, 0, 0),
    SD_BUS_PROPERTY("LockSource", "s", read_property, 0, 0),
    SD_BUS_SIGNAL("Changed", "", 0),
    SD_BUS_VTABLE_END,
};

void session_bus_announce(struct agent *agent) {
    if (agent->session_bus.bus != NULL)
        (void)sd_bus_emit_signal(agent->session_bus.bus, OWN_PATH, OWN_NAME, "Changed", "");
}

void session_bus_end(struct agent *agent) {
    struct session_bus *session_bus = &agent->session_bus;
    bool was_active = session_bus_is_active(agent);
    for (size_t index = 0; index < SAVERS; index++) {
        struct screensaver *saver = &session_bus->savers[index];
        saver->asking = sd_bus_slot_unref(saver->asking);
        saver->owner[0] = '\0';
        saver->is_active = false;
    }
    service_manager_end(agent);
    session_bus->bus = sd_bus_close_unref(session_bus->bus);
    if (was_active)
        lock_state_locked_once(agent, "active");
}

static int on_disconnected(sd_bus_message *message, void *data, sd_bus_error *error) {
    (void)message, (void)error;
    session_bus_end(data);
    return 0;
}

static int connect_bus(struct agent *agent) {
    struct session_bus *session_bus = &agent->session_bus;
    int error = sd_bus_open_user(&session_bus->bus);
    if (error < 0)
        return error;
    sd_bus *bus = session_bus->bus;
    error = sd_bus_attach_event(bus, agent->event, PRIORITY_BUS);
    if (error >= 0)
        error = sd_bus_match_signal_async(bus, NULL, NULL, "/org/freedesktop/DBus/Local",
                                          "org.freedesktop.DBus.Local", "Disconnected", on_disconnected, NULL,
                                          agent);
    for (size_t index = 0; error >= 0 && index < SAVERS; index++) {
        const char *name = session_bus->savers[index].name;
        char rule[256];
        (void)snprintf(rule, sizeof rule, OWNER_RULE "'%s'", name);
        error = sd_bus_add_match_async(bus, NULL, rule, on_owner_changed, NULL, agent);
        if (error >= 0)
            error = sd_bus_match_signal_async(bus, NULL, NULL, NULL, name, "ActiveChanged", on_active_changed,
                                              NULL, agent);
        if (error >= 0)
            error = find_owner(agent, &session_bus->savers[index]);
    }
    if (error >= 0)
        error = draining_watch(agent);
    if (error >= 0)
        error = sd_bus_add_object_vtable(bus, NULL, OWN_PATH, OWN_NAME, interface, agent);
    if (error >= 0)
        error = service_manager_start(agent);
    return error < 0 ? error : sd_bus_request_name_async(bus, NULL, OWN_NAME, 0, NULL, NULL);
}

void session_bus_start(struct agent *agent) {
    struct session_bus *session_bus = &agent->session_bus;
    uint64_t now = agent_now();
    if (session_bus->bus != NULL || (session_bus->tried_at != 0 && now - session_bus->tried_at < SECOND_US))
        return;
    session_bus->tried_at = now;
    for (size_t index = 0; index < SAVERS; index++) {
        session_bus->savers[index].name = known_savers[index].name;
        session_bus->savers[index].path = known_savers[index].path;
    }
    if (connect_bus(agent) < 0)
        session_bus_end(agent);
}
