/* The source of Secret Services that appear on the user's bus. The agent has the pending writes drained then,
 * by a unit that runs `tokenkeep sync`, for the agent reads no vault. At an unlock tokenkeep-unlocked.target
 * starts the same unit. */
#ifndef TOKENKEEP_AGENT_SECRET_SERVICES_H
#define TOKENKEEP_AGENT_SECRET_SERVICES_H

#include "facts.h"

#include <systemd/sd-bus.h>

#define SYNC_UNIT "tokenkeep-sync.service"

int secret_services_watch(sd_bus *bus, struct facts *facts);

#endif
