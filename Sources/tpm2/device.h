/* A connection to the TPM, its storage primary and one salted session. */
#ifndef TOKENKEEP_TPM2_DEVICE_H
#define TOKENKEEP_TPM2_DEVICE_H

#include "outcome.h"

#include <tss2/tss2_esys.h>

struct device {
    TSS2_TCTI_CONTEXT *tcti;
    ESYS_CONTEXT *esys;
    ESYS_TR primary, session;
    /* Whether the primary was created for this request, and is flushed after the request. */
    bool is_primary_transient;
    /* Whether the persistent handle 0x81000001 has an object under which this program does not seal. */
    bool is_srk_of_another_kind;
    uint8_t name[NAME_LENGTH];
};

/* Opens the TPM. `configuration`: the TCTI (a way to a TPM in tss2), for example "device:/dev/tpmrm0". */
struct outcome device_open(struct device *device, const char *configuration);
void device_close(struct device *device);

/* Finds the primary of that name; for NULL, the primary under which new objects are sealed. Sends no secret.
 */
struct outcome device_find_primary(struct device *device, const uint8_t *name);
/* Finds the primary of that name, and begins a session whose key only the TPM with this primary can compute.
 */
struct outcome device_begin(struct device *device, const uint8_t *name);
/* Flushes the session and the transient primary of the request from the TPM. */
void device_end(struct device *device);
/* Flushes the objects and sessions that ended processes left in a TPM without a resource manager. A resource
 * manager shows only the handles of this connection. */
void device_flush_remains(struct device *device);

/* The side of the next command whose first parameter is encrypted. */
enum encryption { ENCRYPT_NOTHING = 0, ENCRYPT_REQUEST = 1, ENCRYPT_ANSWER = 2 };
struct outcome device_encrypt(struct device *device, enum encryption encryption);
/* Sets the authValue that the next commands on this handle prove. */
struct outcome device_authorize(struct device *device, ESYS_TR handle, const uint8_t auth[AUTH_LENGTH]);
/* Flushes an object from the TPM, and clears the handle. */
void device_flush(struct device *device, ESYS_TR *handle);

/* Writes the name of the TPM's maker as printable ASCII. Returns its length; 0 if the TPM does not tell. */
size_t device_maker(struct device *device, char maker[MAKER_MAX]);

#endif
