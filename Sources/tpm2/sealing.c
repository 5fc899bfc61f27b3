#include "sealing.h"

#include <string.h>
#include <tss2/tss2_mu.h>

/* The sealed data: the uid, then the secret. */
#define SEALED_LENGTH (4 + SECRET_LENGTH)

/* The template of sealed data: an authValue, no policy and no PCR, so that an update of the firmware does not
 * prevent the unseal. */
static const TPM2B_PUBLIC sealed_template = {
    .publicArea =
        {
            .type = TPM2_ALG_KEYEDHASH,
            .nameAlg = TPM2_ALG_SHA256,
            .objectAttributes =
                TPMA_OBJECT_FIXEDTPM | TPMA_OBJECT_FIXEDPARENT | TPMA_OBJECT_USERWITHAUTH | TPMA_OBJECT_NODA,
            .parameters.keyedHashDetail.scheme.scheme = TPM2_ALG_NULL,
        },
};

static bool add_blob(struct reply *reply, const TPM2B_PUBLIC *public, const TPM2B_PRIVATE *private) {
    uint8_t blob[BLOB_MAX];
    size_t length = 0;
    return Tss2_MU_TPM2B_PUBLIC_Marshal(public, blob, sizeof blob, &length) == TSS2_RC_SUCCESS &&
           Tss2_MU_TPM2B_PRIVATE_Marshal(private, blob, sizeof blob, &length) == TSS2_RC_SUCCESS &&
           reply_add(reply, blob, length);
}

struct outcome sealing_seal(struct device *device, const struct request *request, uid_t uid,
                            struct reply *reply) {
    struct outcome outcome = device_encrypt(device, ENCRYPT_REQUEST | ENCRYPT_ANSWER);
    if (outcome.reason != REASON_NONE)
        return outcome;
    TPM2B_SENSITIVE_CREATE sensitive = {
        .sensitive = {.userAuth.size = AUTH_LENGTH, .data.size = SEALED_LENGTH}};
    memcpy(sensitive.sensitive.userAuth.buffer, request->auth, AUTH_LENGTH);
    number_write(sensitive.sensitive.data.buffer, uid);
    memcpy(sensitive.sensitive.data.buffer + 4, request->data, SECRET_LENGTH);
    TPM2B_DATA no_data = {0};
    TPML_PCR_SELECTION no_pcr = {0};
    TPM2B_PRIVATE *private = NULL;
    TPM2B_PUBLIC *public = NULL;
    TSS2_RC code =
        Esys_Create(device->esys, device->primary, device->session, ESYS_TR_NONE, ESYS_TR_NONE, &sensitive,
                    &sealed_template, &no_data, &no_pcr, &private, &public, NULL, NULL, NULL);
    explicit_bzero(&sensitive, sizeof sensitive);
    outcome = outcome_of(code, REASON_REFUSED);
    if (code == TSS2_RC_SUCCESS && !add_blob(reply, public, private))
        outcome = outcome_for(REASON_ALTERED);
    Esys_Free(private);
    Esys_Free(public);
    return outcome;
}

/* Reads a blob. False unless its public area is that of sealed_template, and no byte is left over. */
static bool read_blob(const struct request *request, TPM2B_PUBLIC *public, TPM2B_PRIVATE *private) {
    size_t offset = 0;
    /* tss2 unmarshals only into an empty destination. */
    memset(public, 0, sizeof *public);
    memset(private, 0, sizeof *private);
    const TPMT_PUBLIC *expected = &sealed_template.publicArea, *found = &public->publicArea;
    return Tss2_MU_TPM2B_PUBLIC_Unmarshal(request->data, request->data_length, &offset, public) ==
               TSS2_RC_SUCCESS &&
           Tss2_MU_TPM2B_PRIVATE_Unmarshal(request->data, request->data_length, &offset, private) ==
               TSS2_RC_SUCCESS &&
           offset == request->data_length && found->type == expected->type &&
           found->nameAlg == expected->nameAlg && found->objectAttributes == expected->objectAttributes &&
           found->authPolicy.size == 0 && found->parameters.keyedHashDetail.scheme.scheme == TPM2_ALG_NULL;
}

static struct outcome load(struct device *device, const struct request *request, ESYS_TR *object) {
    TPM2B_PUBLIC public;
    TPM2B_PRIVATE private;
    if (!read_blob(request, &public, &private))
        return outcome_for(REASON_BLOB);
    struct outcome outcome = device_encrypt(device, ENCRYPT_REQUEST | ENCRYPT_ANSWER);
    if (outcome.reason != REASON_NONE)
        return outcome;
    TSS2_RC code = Esys_Load(device->esys, device->primary, device->session, ESYS_TR_NONE, ESYS_TR_NONE,
                             &private, &public, object);
    if (code != TSS2_RC_SUCCESS)
        *object = ESYS_TR_NONE;
    outcome = outcome_of(code, REASON_REFUSED);
    /* The primary's key does not decrypt the blob, or its decrypted content is malformed. */
    switch (outcome_plain_code(code)) {
    case TPM2_RC_INTEGRITY:
    case TPM2_RC_BINDING:
    case TPM2_RC_SIZE:
    case TPM2_RC_ATTRIBUTES:
    case TPM2_RC_INSUFFICIENT:
    case TPM2_RC_KEY:
        outcome.reason = REASON_BLOB;
        break;
    default:
        break;
    }
    return outcome;
}

static struct outcome add_secret(struct reply *reply, const TPM2B_SENSITIVE_DATA *data, uid_t uid) {
    if (data->size != SEALED_LENGTH)
        return outcome_for(REASON_BLOB);
    if (number_read(data->buffer) != uid)
        return outcome_for(REASON_UID);
    return reply_add(reply, data->buffer + 4, SECRET_LENGTH) ? outcome_ok : outcome_for(REASON_ALTERED);
}

static struct outcome unseal(struct device *device, const struct request *request, ESYS_TR object, uid_t uid,
                             struct reply *reply) {
    struct outcome outcome = device_authorize(device, object, request->auth);
    if (outcome.reason == REASON_NONE)
        outcome = device_encrypt(device, ENCRYPT_ANSWER);
    if (outcome.reason != REASON_NONE)
        return outcome;
    TPM2B_SENSITIVE_DATA *data = NULL;
    TSS2_RC code = Esys_Unseal(device->esys, object, device->session, ESYS_TR_NONE, ESYS_TR_NONE, &data);
    if (code != TSS2_RC_SUCCESS)
        return outcome_of(code, REASON_AUTH);
    outcome = add_secret(reply, data, uid);
    explicit_bzero(data, sizeof *data);
    Esys_Free(data);
    return outcome;
}

struct outcome sealing_unseal(struct device *device, const struct request *request, uid_t uid,
                              struct reply *reply) {
    ESYS_TR object = ESYS_TR_NONE;
    struct outcome outcome = load(device, request, &object);
    if (outcome.reason == REASON_NONE)
        outcome = unseal(device, request, object, uid, reply);
    device_flush(device, &object);
    return outcome;
}
