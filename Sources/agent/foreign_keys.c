#include "foreign_keys.h"

#include "../CSystemShims/include/CSystemShims.h"
#include "../CSystemShims/keyring_calls.h"
#include "class_keys.h"

/* The number of class keys that one round of a sweep revokes, and the maximum number of rounds. */
#define SWEPT_KEYS 64
#define ROUNDS     1000

struct swept {
    char descriptions[SWEPT_KEYS][DESCRIPTION_LENGTH];
    size_t count, to_skip;
};

/* Collects the descriptions "tokenkeep:VAULTID:PURPOSE:…" whose purpose is one of the agent's. */
static void collect(const char *description, void *data) {
    struct swept *swept = data;
    const char *purpose = description + sizeof "tokenkeep:" + 2 * VAULT_ID_LENGTH;
    if (swept->count == SWEPT_KEYS || strlen(description) >= DESCRIPTION_LENGTH ||
        strlen(description) < sizeof "tokenkeep:" + 2 * VAULT_ID_LENGTH + 2 || purpose[1] != ':' ||
        !class_keys_takes((uint8_t)(purpose[0] - '0')))
        return;
    if (swept->to_skip > 0)
        swept->to_skip--;
    else
        strcpy(swept->descriptions[swept->count++], description);
}

/* Whether a login unlocked the vault of a key for one minute only, because the login's session has not begun
 * yet. */
static int is_unconfirmed(const char *description) {
    char mark[DESCRIPTION_LENGTH];
    int length = (int)sizeof "tokenkeep:" + 2 * VAULT_ID_LENGTH;
    (void)snprintf(mark, sizeof mark, "%.*slogin", length, description);
    return key_control(KEYCTL_SEARCH, (unsigned long)KEY_SPEC_USER_KEYRING, (unsigned long)"user",
                       (unsigned long)mark, 0) >= 0;
}

void foreign_keys_sweep(bool spares_unconfirmed) {
    struct swept swept;
    size_t left = 0;
    for (int round = 0; round < ROUNDS; round++) {
        swept = (struct swept){.to_skip = left};
        (void)tokenkeep_keyring_each("tokenkeep:", collect, &swept);
        /* The next round skips the keys that this round leaves. */
        for (size_t index = 0; index < swept.count; index++) {
            const char *description = swept.descriptions[index];
            if ((spares_unconfirmed && is_unconfirmed(description)) ||
                tokenkeep_keyring_remove(description) != 0)
                left++;
        }
        if (swept.count < SWEPT_KEYS)
            return;
    }
}
