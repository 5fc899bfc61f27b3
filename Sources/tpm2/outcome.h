/* The meaning of a response code. */
#ifndef TOKENKEEP_TPM2_OUTCOME_H
#define TOKENKEEP_TPM2_OUTCOME_H

#include "protocol.h"

#include <tss2/tss2_tpm2_types.h>

struct outcome {
    enum reason reason;
    TSS2_RC code;
    /* The same request may succeed later. */
    bool is_temporary;
    /* The TPM has no room for another object or session. */
    bool lacks_memory;
};

extern const struct outcome outcome_ok;

struct outcome outcome_for(enum reason reason);
/* `on_auth`: the meaning of a wrong authValue in this command. Response codes may be forged: none of them
 * decides about a secret. */
struct outcome outcome_of(TSS2_RC code, enum reason on_auth);
/* The TPM's response code without the number of the handle, parameter or session; other layers' codes as they
 * are. */
TSS2_RC outcome_plain_code(TSS2_RC code);

#endif
