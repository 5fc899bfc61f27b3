/* The user to whom a uid belongs. */
#ifndef TOKENKEEP_TPM2_OWNER_H
#define TOKENKEEP_TPM2_OWNER_H

#include <sys/types.h>

/* The user whose subordinate uids (/etc/subuid, subuid(5)) include the uid, for example one of a container;
 * else the uid itself. A range whose user is unknown counts as a user of its own. */
uid_t owner_of(uid_t uid);

#endif
