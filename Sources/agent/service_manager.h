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

/* Uses a new connection, and sends the pending call, if there is one. */
int service_manager_attach(struct service_manager *manager, sd_bus *bus);

/* Starts or stops the target without waiting for the service manager. If the service manager is not on the
 * bus yet, as at the beginning of a session, the call is sent once it is. */
void service_manager_set_target(struct service_manager *manager, bool starts);

/* Starts a unit without waiting for the service manager. A failed call is not repeated. */
void service_manager_start_unit(struct service_manager *manager, const char *unit);

/* Stops using a connection that ends. */
void service_manager_end(struct service_manager *manager);

#endif
