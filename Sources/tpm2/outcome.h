/* The outcome of a TPM command, from its response code. */
#ifndef TOKENKEEP_TPM2_OUTCOME_H
#define TOKENKEEP_TPM2_OUTCOME_H

#include "protocol.h"

#include <tss2/tss2_tpm2_types.h>

struct outcome {
    enum reason reason;
    TSS2_RC code;
    /* Whether the same request may succeed later. */
    bool is_temporary;
    /* Whether the TPM has no room for another object or session. */
    bool lacks_memory;
};

extern const struct outcome outcome_ok;

struct outcome outcome_for(enum reason reason);
/* The outcome of a response code. `on_auth`: the reason if the code says that the authValue is wrong. An
 * attacker on the wire can forge response codes: no decision about a secret follows from a code. */
struct outcome outcome_of(TSS2_RC code, enum reason on_auth);
/* The TPM's response code without the number of the handle, parameter or session. Codes of other layers are
 * returned unchanged. */
TSS2_RC outcome_plain_code(TSS2_RC code);

#endif
