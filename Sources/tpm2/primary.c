/* The storage primary, and the session that is salted with its key. */
#include "device.h"

#include <string.h>

#define SRK_HANDLE 0x81000001

/* The TCG's template of the ECC storage root key, SRK (TPM v2.0 Provisioning Guidance, 7.5.1). The key
 * follows from the template: if another program makes the SRK persistent later, its key is the same. */
static const TPM2B_PUBLIC srk_template = {
    .publicArea =
        {
            .type = TPM2_ALG_ECC,
            .nameAlg = TPM2_ALG_SHA256,
            .objectAttributes = TPMA_OBJECT_FIXEDTPM | TPMA_OBJECT_FIXEDPARENT |
                                TPMA_OBJECT_SENSITIVEDATAORIGIN | TPMA_OBJECT_USERWITHAUTH |
                                TPMA_OBJECT_NODA | TPMA_OBJECT_RESTRICTED | TPMA_OBJECT_DECRYPT,
            .parameters.eccDetail =
                {
                    .symmetric = {.algorithm = TPM2_ALG_AES, .keyBits.aes = 128, .mode.aes = TPM2_ALG_CFB},
                    .scheme.scheme = TPM2_ALG_NULL,
                    .curveID = TPM2_ECC_NIST_P256,
                    .kdf.scheme = TPM2_ALG_NULL,
                },
            .unique.ecc = {.x.size = 32, .y.size = 32},
        },
};

static struct outcome read_name(struct device *device) {
    TPM2B_NAME *name = NULL;
    TSS2_RC code = Esys_TR_GetName(device->esys, device->primary, &name);
    if (code != TSS2_RC_SUCCESS)
        return outcome_of(code, REASON_REFUSED);
    bool is_sha256 = name->size == NAME_LENGTH && name->name[0] == 0x00 && name->name[1] == TPM2_ALG_SHA256;
    if (is_sha256)
        memcpy(device->name, name->name, NAME_LENGTH);
    Esys_Free(name);
    return is_sha256 ? outcome_ok : outcome_for(REASON_REFUSED);
}

/* Whether objects can be sealed under this key. The key must have the attribute noDA: without noDA, wrong
 * guesses at other objects would lock the key for hours. */
static bool is_storage_primary(const TPMT_PUBLIC *key) {
    const TPMA_OBJECT needed = TPMA_OBJECT_FIXEDTPM | TPMA_OBJECT_FIXEDPARENT | TPMA_OBJECT_USERWITHAUTH |
                               TPMA_OBJECT_NODA | TPMA_OBJECT_RESTRICTED | TPMA_OBJECT_DECRYPT;
    return (key->type == TPM2_ALG_ECC || key->type == TPM2_ALG_RSA) && key->nameAlg == TPM2_ALG_SHA256 &&
           (key->objectAttributes & needed) == needed &&
           (key->objectAttributes & TPMA_OBJECT_SIGN_ENCRYPT) == 0;
}

/* Uses the persistent SRK as primary. REASON_OTHER: there is no persistent SRK, or the object at its handle
 * is of another kind. */
static struct outcome use_persistent(struct device *device) {
    TSS2_RC code = Esys_TR_FromTPMPublic(device->esys, SRK_HANDLE, ESYS_TR_NONE, ESYS_TR_NONE, ESYS_TR_NONE,
                                         &device->primary);
    if (outcome_plain_code(code) == TPM2_RC_HANDLE)
        return outcome_for(REASON_OTHER);
    if (code != TSS2_RC_SUCCESS)
        return outcome_of(code, REASON_REFUSED);
    TPM2B_PUBLIC *public = NULL;
    code = Esys_ReadPublic(device->esys, device->primary, ESYS_TR_NONE, ESYS_TR_NONE, ESYS_TR_NONE, &public,
                           NULL, NULL);
    if (code != TSS2_RC_SUCCESS)
        return outcome_of(code, REASON_REFUSED);
    device->is_srk_of_another_kind = !is_storage_primary(&public->publicArea);
    Esys_Free(public);
    return device->is_srk_of_another_kind ? outcome_for(REASON_OTHER) : read_name(device);
}

static struct outcome create(struct device *device) {
    TPM2B_SENSITIVE_CREATE nothing = {0};
    TPM2B_DATA no_data = {0};
    TPML_PCR_SELECTION no_pcr = {0};
    TSS2_RC code = Esys_CreatePrimary(device->esys, ESYS_TR_RH_OWNER, ESYS_TR_PASSWORD, ESYS_TR_NONE,
                                      ESYS_TR_NONE, &nothing, &srk_template, &no_data, &no_pcr,
                                      &device->primary, NULL, NULL, NULL, NULL);
    if (code != TSS2_RC_SUCCESS) {
        device->primary = ESYS_TR_NONE;
        return outcome_of(code, REASON_OWNER_PASSWORD);
    }
    device->is_primary_transient = true;
    return read_name(device);
}

static bool is_named(const struct device *device, const uint8_t *name) {
    return name == NULL || memcmp(device->name, name, NAME_LENGTH) == 0;
}

struct outcome device_find_primary(struct device *device, const uint8_t *name) {
    struct outcome outcome = use_persistent(device);
    if (outcome.reason == REASON_NONE && is_named(device, name))
        return outcome;
    if (outcome.reason != REASON_NONE && outcome.reason != REASON_OTHER)
        return outcome;
    /* The object may be older than the persistent SRK: it was sealed under a transient primary, which the
     * template creates again. */
    bool is_srk_there = outcome.reason == REASON_NONE;
    device_end(device);
    outcome = create(device);
    if (outcome.reason == REASON_OWNER_PASSWORD && is_srk_there)
        return outcome_for(REASON_OTHER);
    if (outcome.reason == REASON_NONE && !is_named(device, name))
        return outcome_for(REASON_OTHER);
    return outcome;
}

struct outcome device_begin(struct device *device, const uint8_t *name) {
    static const TPMT_SYM_DEF cipher = {
        .algorithm = TPM2_ALG_AES, .keyBits.aes = 128, .mode.aes = TPM2_ALG_CFB};
    struct outcome outcome = device_find_primary(device, name);
    if (outcome.reason != REASON_NONE)
        return outcome;
    TSS2_RC code =
        Esys_StartAuthSession(device->esys, device->primary, ESYS_TR_NONE, ESYS_TR_NONE, ESYS_TR_NONE,
                              ESYS_TR_NONE, NULL, TPM2_SE_HMAC, &cipher, TPM2_ALG_SHA256, &device->session);
    if (code != TSS2_RC_SUCCESS)
        device->session = ESYS_TR_NONE;
    return outcome_of(code, REASON_REFUSED);
}
