/* A connection to the TPM, its storage primary and one salted session. */
#ifndef TOKENKEEP_TPM2_DEVICE_H
#define TOKENKEEP_TPM2_DEVICE_H

#include "outcome.h"

#include <tss2/tss2_esys.h>

struct device {
    TSS2_TCTI_CONTEXT *tcti;
    ESYS_CONTEXT *esys;
    ESYS_TR primary, session;
    /* The primary lies in the TPM for this request alone. */
    bool is_primary_transient;
    /* 0x81000001 holds an object that is no storage primary for us. */
    bool is_srk_of_another_kind;
    uint8_t name[NAME_LENGTH];
};

/* Opens the TPM. `configuration`: of a TCTI, as "device:/dev/tpmrm0". */
struct outcome device_open(struct device *device, const char *configuration);
void device_close(struct device *device);

/* Finds the primary: of that name, or if `name` is NULL the one for new objects. Sends no secret. */
struct outcome device_find_primary(struct device *device, const uint8_t *name);
/* Finds the primary of that name, and begins a session that only its TPM can know. */
struct outcome device_begin(struct device *device, const uint8_t *name);
/* Flushes what the request loaded. */
void device_end(struct device *device);
/* Flushes what ended processes left in a TPM without a resource manager. With one, only our own handles are
 * seen. */
void device_flush_remains(struct device *device);

/* The parameters of the next command that are encrypted: commands differ in it. */
enum encryption { ENCRYPT_NOTHING = 0, ENCRYPT_REQUEST = 1, ENCRYPT_ANSWER = 2 };
struct outcome device_encrypt(struct device *device, enum encryption encryption);
/* The authValue of the next commands on this handle. */
struct outcome device_authorize(struct device *device, ESYS_TR handle, const uint8_t auth[AUTH_LENGTH]);
/* Forgets an object, and flushes it from the TPM. */
void device_flush(struct device *device, ESYS_TR *handle);

/* Writes the maker of the TPM as printable ASCII. Returns its length, 0 if the TPM does not tell it. */
size_t device_maker(struct device *device, char maker[MAKER_MAX]);

#endif
