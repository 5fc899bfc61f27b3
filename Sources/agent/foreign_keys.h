/* Class keys that other programs put into the user's keyring, as an unlock without an agent does. */
#ifndef TOKENKEEP_AGENT_FOREIGN_KEYS_H
#define TOKENKEEP_AGENT_FOREIGN_KEYS_H

#include <stdbool.h>

/* Revokes them. Those of a login that no session has confirmed end within a minute, and can be spared. */
void foreign_keys_sweep(bool spares_unconfirmed);

#endif
