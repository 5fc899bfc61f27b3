#include "session_bus.h"

#include "timers.h"

#include <string.h>

#define OWN_NAME       "org.tokenkeep.Agent1"
#define OWN_PATH       "/org/tokenkeep/Agent1"
#define SECRET_SERVICE "org.freedesktop.secrets"

static int read_property(sd_bus *bus, const char *path, const char *interface, const char *property,
                         sd_bus_message *reply, void *data, sd_bus_error *error) {
    (void)bus, (void)path, (void)interface, (void)error;
    const struct facts *facts = data;
    if (strcmp(property, "Locked") == 0)
        return sd_bus_message_append(reply, "b", (int)facts->is_shown_locked);
    return sd_bus_message_append(reply, "s", lock_word_text(facts->shown_word));
}

/* The interface. Its change signals contain no values: a program that receives a signal queries the property,
 * and gets the present state. */
static const sd_bus_vtable interface[] = {
    SD_BUS_VTABLE_START(0),
    SD_BUS_PROPERTY("Locked", "b", read_property, 0, 0),
    SD_BUS_PROPERTY("LockSource", "s", read_property, 0, 0),
    SD_BUS_SIGNAL("Changed", "", 0),
    SD_BUS_VTABLE_END,
};

static int add_object(sd_bus *bus, struct facts *facts) {
    int error = sd_bus_add_object_vtable(bus, NULL, OWN_PATH, OWN_NAME, interface, facts);
    return error < 0 ? error : sd_bus_request_name_async(bus, NULL, OWN_NAME, 0, NULL, NULL);
}

static int on_secret_service(sd_bus_message *message, void *data, sd_bus_error *error) {
    (void)error;
    const char *name, *owner;
    if (bus_read_owner(message, &name, &owner) && owner[0] != '\0')
        facts_tell(data, EVENT_SECRET_SERVICE, WORD_NO_LOCK);
    return 0;
}

void session_bus_announce(struct session_bus *session_bus) {
    if (session_bus->bus != NULL)
        (void)sd_bus_emit_signal(session_bus->bus, OWN_PATH, OWN_NAME, "Changed", "");
}

void session_bus_end(struct session_bus *session_bus) {
    screensavers_end(&session_bus->savers);
    service_manager_end(&session_bus->manager);
    session_bus->bus = sd_bus_close_unref(session_bus->bus);
}

static int on_disconnected(sd_bus_message *message, void *data, sd_bus_error *error) {
    (void)message, (void)error;
    session_bus_end(data);
    return 0;
}

static int connect_bus(struct session_bus *session_bus, struct facts *facts, sd_event *event) {
    int error = sd_bus_open_user(&session_bus->bus);
    if (error >= 0)
        error = sd_bus_attach_event(session_bus->bus, event, PRIORITY_BUS);
    if (error >= 0)
        error = bus_watch_end(session_bus->bus, on_disconnected, session_bus);
    if (error >= 0)
        error = screensavers_watch(&session_bus->savers, session_bus->bus, facts);
    if (error >= 0)
        error = bus_watch_owner(session_bus->bus, SECRET_SERVICE, on_secret_service, facts);
    if (error >= 0)
        error = service_manager_attach(&session_bus->manager, session_bus->bus);
    return error < 0 ? error : add_object(session_bus->bus, facts);
}

void session_bus_connect(struct session_bus *session_bus, struct facts *facts, sd_event *event) {
    uint64_t now = boot_now();
    if (session_bus->bus != NULL || (session_bus->tried_at != 0 && now - session_bus->tried_at < SECOND_US))
        return;
    session_bus->tried_at = now;
    if (connect_bus(session_bus, facts, event) < 0)
        session_bus_end(session_bus);
}
