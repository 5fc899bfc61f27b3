/* The four NV indices of a uid: their numbers follow from the uid, and their public areas name the uid. */
#ifndef TOKENKEEP_TPM2_INDICES_H
#define TOKENKEEP_TPM2_INDICES_H

#include "device.h"

#include <sys/types.h>

/* Defines a free index with the request's data and adds its number to the reply. After a failure the index is
 * not defined. */
struct outcome indices_make(struct device *device, const struct request *request, uid_t uid,
                            struct reply *reply);
/* Adds the index's data to the reply. */
struct outcome indices_read(struct device *device, const struct request *request, uid_t uid,
                            struct reply *reply);
/* Replaces the data of an anchor, which has the same length. */
struct outcome indices_write(struct device *device, const struct request *request, uid_t uid);
/* Undefines the index: the TPM forgets its data. */
struct outcome indices_destroy(struct device *device, const struct request *request, uid_t uid);
/* Adds all indices of the uid to the reply. Needs no primary. */
struct outcome indices_list(struct device *device, uid_t uid, struct reply *reply);

#endif
