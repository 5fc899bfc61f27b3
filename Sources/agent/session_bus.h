/* The connection to the user's bus: screensavers, systemd, Secret Services that appear, and
 * org.tokenkeep.Agent1, which shows the state that was last announced. */
#ifndef TOKENKEEP_AGENT_SESSION_BUS_H
#define TOKENKEEP_AGENT_SESSION_BUS_H

#include "screensavers.h"
#include "service_manager.h"

#include <systemd/sd-event.h>

struct session_bus {
    /* NULL while there is no connection. */
    sd_bus *bus;
    struct screensavers savers;
    struct service_manager manager;
    uint64_t tried_at;
};

/* Connects if there is no connection. Tries at most once per second. */
void session_bus_connect(struct session_bus *session_bus, struct facts *facts, sd_event *event);

/* Signals to the programs of the desktop that the state has changed. */
void session_bus_announce(struct session_bus *session_bus);

void session_bus_end(struct session_bus *session_bus);

#endif
