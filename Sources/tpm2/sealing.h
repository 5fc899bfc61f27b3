/* Objects that are sealed under the storage primary. */
#ifndef TOKENKEEP_TPM2_SEALING_H
#define TOKENKEEP_TPM2_SEALING_H

#include "device.h"

#include <sys/types.h>

/* Adds the blob to the reply. */
struct outcome sealing_seal(struct device *device, const struct request *request, uid_t uid,
                            struct reply *reply);
/* Adds the secret to the reply, if the same uid sealed it. */
struct outcome sealing_unseal(struct device *device, const struct request *request, uid_t uid,
                              struct reply *reply);

#endif
