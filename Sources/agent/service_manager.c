#include "service_manager.h"

#include "bus_calls.h"

#include <string.h>

#define SYSTEMD "org.freedesktop.systemd1"
#define TARGET  "tokenkeep-unlocked.target"

/* Makes a call to start or stop a unit. The call does not make the bus start systemd. */
static int make_call(sd_bus *bus, const char *unit, bool starts, sd_bus_message **message) {
    int error = sd_bus_message_new_method_call(bus, message, SYSTEMD, "/org/freedesktop/systemd1",
                                               SYSTEMD ".Manager", starts ? "StartUnit" : "StopUnit");
    if (error >= 0)
        error = sd_bus_message_set_auto_start(*message, 0);
    return error < 0 ? error : sd_bus_message_append(*message, "ss", unit, "replace");
}

void service_manager_start_unit(struct service_manager *manager, const char *unit) {
    sd_bus_message *message = NULL;
    if (manager->bus == NULL)
        return;
    if (make_call(manager->bus, unit, true, &message) >= 0 &&
        sd_bus_message_set_expect_reply(message, 0) >= 0)
        (void)sd_bus_send(manager->bus, message, NULL);
    sd_bus_message_unref(message);
}

static int on_reply(sd_bus_message *message, void *data, sd_bus_error *error) {
    (void)error;
    struct service_manager *manager = data;
    manager->call = sd_bus_slot_unref(manager->call);
    if (sd_bus_message_is_method_error(message, NULL) <= 0)
        manager->is_pending = false;
    return 0;
}

static void send_pending(struct service_manager *manager) {
    sd_bus_message *message = NULL;
    if (!manager->is_pending || manager->bus == NULL)
        return;
    /* Cancel the earlier call, because its reply would be mistaken for the reply to this call. */
    manager->call = sd_bus_slot_unref(manager->call);
    int error = make_call(manager->bus, TARGET, manager->starts, &message);
    (void)bus_send_call(manager->bus, &manager->call, message, error, on_reply, manager);
}

/* Sends the pending call when systemd gets its bus name. systemd joins the bus only after it has started the
 * bus, and calls fail until then. */
static int on_owner_changed(sd_bus_message *message, void *data, sd_bus_error *error) {
    (void)error;
    const char *name, *owner;
    if (bus_read_owner(message, &name, &owner) && strcmp(name, SYSTEMD) == 0 && owner[0] != '\0')
        send_pending(data);
    return 0;
}

void service_manager_set_target(struct service_manager *manager, bool starts) {
    manager->is_pending = true;
    manager->starts = starts;
    send_pending(manager);
}

int service_manager_attach(struct service_manager *manager, sd_bus *bus) {
    manager->bus = bus;
    int error = bus_watch_owner(bus, SYSTEMD, on_owner_changed, manager);
    if (error >= 0)
        send_pending(manager);
    return error;
}

void service_manager_end(struct service_manager *manager) {
    manager->call = sd_bus_slot_unref(manager->call);
    manager->bus = NULL;
}
