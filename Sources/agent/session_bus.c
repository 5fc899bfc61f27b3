#include "session_bus.h"

#include "agent_object.h"
#include "secret_services.h"
#include "timers.h"

void session_bus_announce(struct session_bus *session_bus) {
    if (session_bus->bus != NULL)
        agent_object_announce(session_bus->bus);
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
        error = secret_services_watch(session_bus->bus, facts);
    if (error >= 0)
        error = service_manager_attach(&session_bus->manager, session_bus->bus);
    return error < 0 ? error : agent_object_add(session_bus->bus, facts);
}

void session_bus_connect(struct session_bus *session_bus, struct facts *facts, sd_event *event) {
    uint64_t now = boot_now();
    if (session_bus->bus != NULL || (session_bus->tried_at != 0 && now - session_bus->tried_at < SECOND_US))
        return;
    session_bus->tried_at = now;
    if (connect_bus(session_bus, facts, event) < 0)
        session_bus_end(session_bus);
}
