/* org.tokenkeep.Agent1 on the user's bus: the state that was last announced. */
#ifndef TOKENKEEP_AGENT_OBJECT_H
#define TOKENKEEP_AGENT_OBJECT_H

#include "facts.h"

#include <systemd/sd-bus.h>

int agent_object_add(sd_bus *bus, struct facts *facts);

/* Sends the signal that the state is another. */
void agent_object_announce(sd_bus *bus);

#endif
