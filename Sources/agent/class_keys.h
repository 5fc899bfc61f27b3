/* Class keys in requests, and their descriptions in the kernel. */
#ifndef TOKENKEEP_AGENT_CLASS_KEYS_H
#define TOKENKEEP_AGENT_CLASS_KEYS_H

#include <stdbool.h>
#include <stdint.h>

#define VAULT_ID_LENGTH 16
#define KEY_ID_LENGTH   8
#define KEY_LENGTH      32

/* The name of a class key and the key, in the order of the request's bytes. */
struct class_key {
    uint8_t vault_id[VAULT_ID_LENGTH];
    uint8_t purpose;
    uint8_t key_id[KEY_ID_LENGTH];
    uint8_t key[KEY_LENGTH];
};

/* A length, in bytes, that no description of a class key in the kernel reaches. */
#define DESCRIPTION_LENGTH 80

/* Whether the agent holds class keys of this purpose, that is, whether the screen's lock ends their level. */
static inline bool class_keys_takes(uint8_t purpose) {
    return purpose == 1 || purpose == 3 || purpose == 5;
}

#endif
