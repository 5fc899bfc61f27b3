/* The class keys that the agent holds, in locked memory without core dumps, and as keys of the kernel. */
#ifndef TOKENKEEP_AGENT_HELD_KEYS_H
#define TOKENKEEP_AGENT_HELD_KEYS_H

#include "agent_limits.h"
#include "class_keys.h"

#include <stddef.h>
#include <stdbool.h>
#include <stdint.h>

struct held_key {
    struct class_key key;
    int is_used;
    int is_published;
    /* The serial numbers of the key in the thread's keyring, and of the key in the user's keyring that points
     * to it. */
    int32_t serial, pointer;
    /* The key's end on the boot clock, in microseconds: the kernel ends a published key; the copy of a
     * waiting key is wiped. */
    uint64_t ends_at;
    uint64_t held_at;
};

/* The held keys. They lie in a separate mapping, together with the buffer for requests. */
struct held_keys {
    struct held_key entries[AGENT_KEYS];
    uint8_t request[128];
};

/* Maps the memory for keys. Returns NULL and sets errno on failure. The mapping is left out of core dumps and
 * of child processes. `is_locked` is set if the mapping is never swapped. */
struct held_keys *held_keys_make(bool *is_locked);

/* Stores a copy of a key, in place of a key with the same name. The key waits for held_keys_publish until the
 * time ends_at. */
struct held_key *held_keys_add(struct held_keys *keys, const struct class_key *key, uint64_t now,
                               uint64_t ends_at);

/* Publishes a key to the user's processes until the time ends_at. Returns 0 or an errno. */
int held_keys_publish(struct held_key *entry, uint64_t now, uint64_t ends_at);

/* Extends a published key until the time ends_at, or publishes the key again if a step of the wall clock
 * ended it. Drops a key that some program revoked, or whose time passed while the agent did not run. */
void held_keys_renew(struct held_key *entry, uint64_t now, uint64_t ends_at);

/* Revokes a key and wipes the copy. */
void held_keys_drop(struct held_key *entry);

/* Revokes the class keys that other programs put into the user's keyring while no agent ran. Keeps the keys
 * of a login that no session has confirmed yet, because they end within a minute. */
void held_keys_begin(void);

/* Drops all keys, and revokes the class keys that other programs put into the user's keyring. */
void held_keys_drop_all(struct held_keys *keys);

/* Drops a vault's keys. */
void held_keys_drop_vault(struct held_keys *keys, const uint8_t vault_id[VAULT_ID_LENGTH]);

/* The number of keys that are published or, if `is_published` is 0, that wait. */
size_t held_keys_count(const struct held_keys *keys, int is_published);

#endif
