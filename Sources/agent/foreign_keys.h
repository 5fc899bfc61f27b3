/* Class keys that other programs put into the user's keyring, for example an unlock while no agent runs. */
#ifndef TOKENKEEP_AGENT_FOREIGN_KEYS_H
#define TOKENKEEP_AGENT_FOREIGN_KEYS_H

#include <stdbool.h>

/* Revokes these keys. If `spares_unconfirmed`, keeps the keys of a login that no session has confirmed yet,
 * which end within a minute. */
void foreign_keys_sweep(bool spares_unconfirmed);

#endif
