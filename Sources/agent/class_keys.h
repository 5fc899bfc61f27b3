/* Class keys as requests bring them, and their names in the kernel. */
#ifndef TOKENKEEP_AGENT_CLASS_KEYS_H
#define TOKENKEEP_AGENT_CLASS_KEYS_H

#include <stdbool.h>
#include <stdint.h>

#define VAULT_ID_LENGTH 16
#define KEY_ID_LENGTH   8
#define KEY_LENGTH      32

/* The name of a class key and the key, in the order of the request that brings them. */
struct class_key {
    uint8_t vault_id[VAULT_ID_LENGTH];
    uint8_t purpose;
    uint8_t key_id[KEY_ID_LENGTH];
    uint8_t key[KEY_LENGTH];
};

/* Longer than the description of a class key in the kernel. */
#define DESCRIPTION_LENGTH 80

/* Whether class keys of this purpose are the agent's: those of levels that the screen's lock ends. */
static inline bool class_keys_takes(uint8_t purpose) {
    return purpose == 1 || purpose == 3 || purpose == 5;
}

#endif
