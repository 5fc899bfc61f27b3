#include "outcome.h"

#include <tss2/tss2_common.h>

const struct outcome outcome_ok = {.reason = REASON_NONE};

struct outcome outcome_for(enum reason reason) {
    return (struct outcome){.reason = reason};
}

static TSS2_RC layer_of(TSS2_RC code) {
    return code & TSS2_RC_LAYER_MASK;
}

/* Whether the TPM made the code. A resource manager passes the TPM's codes on under a layer of its own. */
static bool is_of_tpm(TSS2_RC code) {
    TSS2_RC layer = layer_of(code);
    return layer == TSS2_TPM_RC_LAYER || layer == TSS2_RESMGR_TPM_RC_LAYER || layer == TSS2_RESMGR_RC_LAYER;
}

TSS2_RC outcome_plain_code(TSS2_RC code) {
    if (!is_of_tpm(code))
        return code;
    TSS2_RC plain = code & 0xffff;
    return (plain & TPM2_RC_FMT1) != 0 ? plain & (TPM2_RC_FMT1 | 0x3f) : plain;
}

/* The outcome of a warning. All warnings are temporary, except for LOCALITY and LOCKOUT. */
static struct outcome of_warning(TSS2_RC code, TSS2_RC plain) {
    struct outcome outcome = {REASON_BUSY, code, true, false};
    switch (plain) {
    case TPM2_RC_LOCALITY:
        outcome.reason = REASON_REFUSED;
        outcome.is_temporary = false;
        break;
    case TPM2_RC_LOCKOUT:
        outcome.reason = REASON_LOCKOUT;
        outcome.is_temporary = false;
        break;
    case TPM2_RC_CONTEXT_GAP:
    case TPM2_RC_OBJECT_MEMORY:
    case TPM2_RC_SESSION_MEMORY:
    case TPM2_RC_MEMORY:
    case TPM2_RC_SESSION_HANDLES:
    case TPM2_RC_OBJECT_HANDLES:
        outcome.lacks_memory = true;
        break;
    default:
        break;
    }
    return outcome;
}

static enum reason reason_of_tpm(TSS2_RC plain, enum reason on_auth) {
    switch (plain) {
    case TPM2_RC_AUTH_FAIL:
    case TPM2_RC_BAD_AUTH:
        return on_auth;
    case TPM2_RC_INITIALIZE:
    case TPM2_RC_FAILURE:
        return REASON_FAILED;
    case TPM2_RC_NV_SPACE:
        return REASON_NO_SPACE;
    default:
        return REASON_REFUSED;
    }
}

/* The reason for a code of tss2: the connection broke (ABSENT), or tss2 rejects the answer because its form,
 * its HMAC or the name in it is wrong (ALTERED). */
static enum reason reason_of_tss2(TSS2_RC code) {
    switch (code) {
    case TSS2_TCTI_RC_IO_ERROR:
    case TSS2_TCTI_RC_NO_CONNECTION:
    case TSS2_TCTI_RC_NOT_PERMITTED:
        return REASON_ABSENT;
    default:
        return REASON_ALTERED;
    }
}

struct outcome outcome_of(TSS2_RC code, enum reason on_auth) {
    if (code == TSS2_RC_SUCCESS)
        return outcome_ok;
    TSS2_RC plain = outcome_plain_code(code);
    if (!is_of_tpm(code))
        return (struct outcome){.reason = reason_of_tss2(code), .code = code};
    if ((plain & TPM2_RC_FMT1) == 0 && (plain & 0xf00) == TPM2_RC_WARN)
        return of_warning(code, plain);
    return (struct outcome){.reason = reason_of_tpm(plain, on_auth), .code = code};
}
