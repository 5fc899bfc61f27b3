#include "device.h"

#include <string.h>
#include <tss2/tss2_tctildr.h>

/* The first transient handle. tss2's own macro shifts a bit into the sign of a signed number. */
#define TRANSIENT_FIRST 0x80000000u

struct outcome device_open(struct device *device, const char *configuration) {
    *device = (struct device){.primary = ESYS_TR_NONE, .session = ESYS_TR_NONE};
    if (Tss2_TctiLdr_Initialize(configuration, &device->tcti) != TSS2_RC_SUCCESS)
        return outcome_for(REASON_ABSENT);
    TSS2_RC code = Esys_Initialize(&device->esys, device->tcti, NULL);
    if (code != TSS2_RC_SUCCESS)
        device_close(device);
    return outcome_of(code, REASON_REFUSED);
}

void device_close(struct device *device) {
    Esys_Finalize(&device->esys);
    Tss2_TctiLdr_Finalize(&device->tcti);
}

void device_flush(struct device *device, ESYS_TR *handle) {
    if (*handle != ESYS_TR_NONE && Esys_FlushContext(device->esys, *handle) != TSS2_RC_SUCCESS)
        (void)Esys_TR_Close(device->esys, handle);
    *handle = ESYS_TR_NONE;
}

void device_end(struct device *device) {
    device_flush(device, &device->session);
    if (device->is_primary_transient)
        device_flush(device, &device->primary);
    else if (device->primary != ESYS_TR_NONE)
        (void)Esys_TR_Close(device->esys, &device->primary);
    device->primary = ESYS_TR_NONE;
    device->is_primary_transient = false;
}

static void flush_from(struct device *device, TPM2_HANDLE first) {
    TPMS_CAPABILITY_DATA *found = NULL;
    if (Esys_GetCapability(device->esys, ESYS_TR_NONE, ESYS_TR_NONE, ESYS_TR_NONE, TPM2_CAP_HANDLES, first,
                           TPM2_MAX_CAP_HANDLES, NULL, &found) != TSS2_RC_SUCCESS)
        return;
    const TPML_HANDLE *handles = &found->data.handles;
    for (UINT32 index = 0; index < handles->count && index < TPM2_MAX_CAP_HANDLES; index++) {
        ESYS_TR handle = ESYS_TR_NONE;
        if (Esys_TR_FromTPMPublic(device->esys, handles->handle[index], ESYS_TR_NONE, ESYS_TR_NONE,
                                  ESYS_TR_NONE, &handle) == TSS2_RC_SUCCESS)
            device_flush(device, &handle);
    }
    Esys_Free(found);
}

void device_flush_remains(struct device *device) {
    flush_from(device, TRANSIENT_FIRST);
    flush_from(device, TPM2_LOADED_SESSION_FIRST);
}

struct outcome device_encrypt(struct device *device, enum encryption encryption) {
    TPMA_SESSION attributes = TPMA_SESSION_CONTINUESESSION |
                              ((encryption & ENCRYPT_REQUEST) != 0 ? TPMA_SESSION_DECRYPT : 0) |
                              ((encryption & ENCRYPT_ANSWER) != 0 ? TPMA_SESSION_ENCRYPT : 0);
    return outcome_of(Esys_TRSess_SetAttributes(device->esys, device->session, attributes, 0xff),
                      REASON_REFUSED);
}

struct outcome device_authorize(struct device *device, ESYS_TR handle, const uint8_t auth[AUTH_LENGTH]) {
    TPM2B_AUTH value = {.size = AUTH_LENGTH};
    memcpy(value.buffer, auth, AUTH_LENGTH);
    TSS2_RC code = Esys_TR_SetAuth(device->esys, handle, &value);
    explicit_bzero(&value, sizeof value);
    return outcome_of(code, REASON_REFUSED);
}

/* Appends the four characters that a text property of the TPM holds. */
static size_t add_property(const TPML_TAGGED_TPM_PROPERTY *properties, TPM2_PT property,
                           char maker[MAKER_MAX], size_t length) {
    for (UINT32 index = 0; index < properties->count && index < TPM2_MAX_TPM_PROPERTIES; index++) {
        if (properties->tpmProperty[index].property != property)
            continue;
        for (int shift = 24; shift >= 0 && length < MAKER_MAX; shift -= 8) {
            char character = (char)(properties->tpmProperty[index].value >> shift);
            /* TPMs fill up a short text with NUL or spaces: at most one space is kept. */
            if (character > ' ' && character < 0x7f)
                maker[length++] = character;
            else if (length > 0 && maker[length - 1] != ' ')
                maker[length++] = ' ';
        }
    }
    return length;
}

size_t device_maker(struct device *device, char maker[MAKER_MAX]) {
    TPMS_CAPABILITY_DATA *found = NULL;
    if (Esys_GetCapability(device->esys, ESYS_TR_NONE, ESYS_TR_NONE, ESYS_TR_NONE, TPM2_CAP_TPM_PROPERTIES,
                           TPM2_PT_MANUFACTURER, 6, NULL, &found) != TSS2_RC_SUCCESS)
        return 0;
    const TPML_TAGGED_TPM_PROPERTY *properties = &found->data.tpmProperties;
    size_t length = add_property(properties, TPM2_PT_MANUFACTURER, maker, 0);
    if (length > 0 && length < MAKER_MAX && maker[length - 1] != ' ')
        maker[length++] = ' ';
    for (TPM2_PT property = TPM2_PT_VENDOR_STRING_1; property <= TPM2_PT_VENDOR_STRING_4; property++)
        length = add_property(properties, property, maker, length);
    while (length > 0 && maker[length - 1] == ' ')
        length--;
    Esys_Free(found);
    return length;
}
