/* Units of the user's systemd: tokenkeep-unlocked.target, for programs that need the vault, and others. */
#include "agent.h"

#include <string.h>

#define SYSTEMD "org.freedesktop.systemd1"
#define TARGET  "tokenkeep-unlocked.target"
#define CALL_US (AGENT_CALL_S * SECOND_US)

/* Makes a call to start or stop a unit. systemd is not started for it. */
static int make_call(sd_bus *bus, const char *unit, bool starts, sd_bus_message **message) {
    int error = sd_bus_message_new_method_call(bus, message, SYSTEMD, "/org/freedesktop/systemd1",
                                               SYSTEMD ".Manager", starts ? "StartUnit" : "StopUnit");
    if (error >= 0)
        error = sd_bus_message_set_auto_start(*message, 0);
    return error < 0 ? error : sd_bus_message_append(*message, "ss", unit, "replace");
}

void service_manager_start_unit(struct agent *agent, const char *unit) {
    sd_bus_message *message = NULL;
    session_bus_start(agent);
    if (agent->session_bus.bus == NULL)
        return;
    if (make_call(agent->session_bus.bus, unit, true, &message) >= 0 &&
        sd_bus_message_set_expect_reply(message, 0) >= 0)
        (void)sd_bus_send(agent->session_bus.bus, message, NULL);
    sd_bus_message_unref(message);
}

static int on_reply(sd_bus_message *message, void *data, sd_bus_error *error) {
    (void)error;
    struct service_manager *manager = &((struct agent *)data)->session_bus.manager;
    manager->call = sd_bus_slot_unref(manager->call);
    if (sd_bus_message_is_method_error(message, NULL) <= 0)
        manager->is_pending = false;
    return 0;
}

static void send_pending(struct agent *agent) {
    struct service_manager *manager = &agent->session_bus.manager;
    sd_bus_message *message = NULL;
    if (!manager->is_pending || agent->session_bus.bus == NULL)
        return;
    /* A reply to an earlier call says nothing of this one. */
    manager->call = sd_bus_slot_unref(manager->call);
    if (make_call(agent->session_bus.bus, TARGET, manager->starts, &message) >= 0)
        (void)sd_bus_call_async(agent->session_bus.bus, &manager->call, message, on_reply, agent, CALL_US);
    sd_bus_message_unref(message);
}

/* systemd joins the bus after it has started it: calls until then fail. */
static int on_owner_changed(sd_bus_message *message, void *data, sd_bus_error *error) {
    (void)error;
    const char *name, *owner;
    if (session_bus_owner_changed(message, &name, &owner) && strcmp(name, SYSTEMD) == 0 && owner[0] != '\0')
        send_pending(data);
    return 0;
}

void service_manager_set_target(struct agent *agent, bool starts) {
    struct service_manager *manager = &agent->session_bus.manager;
    manager->is_pending = true;
    manager->starts = starts;
    /* A new connection sends what is pending. */
    if (agent->session_bus.bus == NULL)
        session_bus_start(agent);
    else
        send_pending(agent);
}

int service_manager_start(struct agent *agent) {
    int error = sd_bus_add_match_async(agent->session_bus.bus, NULL, OWNER_RULE "'" SYSTEMD "'",
                                       on_owner_changed, NULL, agent);
    if (error >= 0)
        send_pending(agent);
    return error;
}

void service_manager_end(struct agent *agent) {
    struct service_manager *manager = &agent->session_bus.manager;
    manager->call = sd_bus_slot_unref(manager->call);
}
