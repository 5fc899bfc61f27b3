/* Objects that are sealed under the storage primary. */
#ifndef TOKENKEEP_TPM2_SEALING_H
#define TOKENKEEP_TPM2_SEALING_H

#include "device.h"

#include <sys/types.h>

/* Seals the request's secret for the uid, and adds the blob to the reply. */
struct outcome sealing_seal(struct device *device, const struct request *request, uid_t uid,
                            struct reply *reply);
/* Unseals the request's blob, and adds the secret to the reply. Refused if another uid sealed the secret. */
struct outcome sealing_unseal(struct device *device, const struct request *request, uid_t uid,
                              struct reply *reply);

#endif
