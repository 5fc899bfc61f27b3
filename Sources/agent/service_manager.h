/* Units of the user's systemd: tokenkeep-unlocked.target, for programs that need the vault, and others. */
#ifndef TOKENKEEP_AGENT_SERVICE_MANAGER_H
#define TOKENKEEP_AGENT_SERVICE_MANAGER_H

#include <stdbool.h>
#include <systemd/sd-bus.h>

struct service_manager {
    /* NULL while there is no connection. */
    sd_bus *bus;
    /* The state of the target that systemd has not yet acknowledged. */
    bool is_pending, starts;
    sd_bus_slot *call;
};

/* A connection begins; what is pending is sent. */
int service_manager_attach(struct service_manager *manager, sd_bus *bus);

/* Starts or stops the target. Nothing waits for the service manager. If the bus does not know it yet, as in
 * the first moments of a session, the target follows once it does. */
void service_manager_set_target(struct service_manager *manager, bool starts);

/* Starts a unit. Nothing waits for the service manager, and nothing is repeated. */
void service_manager_start_unit(struct service_manager *manager, const char *unit);

/* The connection ends. */
void service_manager_end(struct service_manager *manager);

#endif
