/* tokenkeep-unlocked.target at the user's systemd, for programs that need the vault. */
#include "agent.h"

#include <string.h>

#define SYSTEMD "org.freedesktop.systemd1"
#define TARGET  "tokenkeep-unlocked.target"
#define CALL_US (AGENT_CALL_S * SECOND_US)

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
    if (sd_bus_message_new_method_call(agent->session_bus.bus, &message, SYSTEMD, "/org/freedesktop/systemd1",
                                       SYSTEMD ".Manager", manager->starts ? "StartUnit" : "StopUnit") >= 0 &&
        sd_bus_message_set_auto_start(message, 0) >= 0 &&
        sd_bus_message_append(message, "ss", TARGET, "replace") >= 0)
        (void)sd_bus_call_async(agent->session_bus.bus, &manager->call, message, on_reply, agent, CALL_US);
    sd_bus_message_unref(message);
}

/* systemd joins the bus after it has started it: calls until then fail. */
static int on_owner_changed(sd_bus_message *message, void *data, sd_bus_error *error) {
    (void)error;
    const char *name, *before, *after;
    if (session_bus_is_from_bus(message) &&
        sd_bus_message_read(message, "sss", &name, &before, &after) >= 0 && strcmp(name, SYSTEMD) == 0 &&
        after[0] != '\0')
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
