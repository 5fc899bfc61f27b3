#define _GNU_SOURCE
#include "held_keys.h"

#include "../CSystemShims/include/CSystemShims.h"
#include "../CSystemShims/keyring_calls.h"
#include "foreign_keys.h"

#include <stdlib.h>
#include <sys/mman.h>

struct held_keys *held_keys_make(bool *is_locked) {
    size_t length = sizeof(struct held_keys);
    void *memory = mmap(NULL, length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        return NULL;
    *is_locked = mlock(memory, length) == 0;
    if (madvise(memory, length, MADV_DONTDUMP) == 0 && madvise(memory, length, MADV_DONTFORK) == 0)
        return memory;
    int error = errno;
    (void)munmap(memory, length);
    errno = error;
    return NULL;
}

static char *append_hexadecimal(char *end, const uint8_t *bytes, size_t length) {
    for (size_t index = 0; index < length; index++)
        end += sprintf(end, "%02x", bytes[index]);
    return end;
}

static void describe(const struct class_key *key, char text[DESCRIPTION_LENGTH]) {
    char *end = text + sprintf(text, "tokenkeep:");
    end = append_hexadecimal(end, key->vault_id, VAULT_ID_LENGTH);
    end += sprintf(end, ":%u:", key->purpose);
    append_hexadecimal(end, key->key_id, KEY_ID_LENGTH);
}

static int is_same_name(const struct class_key *left, const struct class_key *right) {
    return memcmp(left, right, offsetof(struct class_key, key)) == 0;
}

static void revoke_serial(int32_t serial) {
    if (serial != 0)
        (void)key_control(KEYCTL_REVOKE, (unsigned long)serial, 0, 0, 0);
}

static void unlink_from(int32_t serial, int32_t keyring) {
    if (serial != 0)
        (void)key_control(KEYCTL_UNLINK, (unsigned long)serial, (unsigned long)keyring, 0, 0);
}

/* Revokes the key itself first, and then the key that points to it, because other programs read the key
 * itself. */
static void unpublish(struct held_key *entry) {
    revoke_serial(entry->serial);
    unlink_from(entry->serial, KEY_SPEC_THREAD_KEYRING);
    revoke_serial(entry->pointer);
    unlink_from(entry->pointer, KEY_SPEC_USER_KEYRING);
    entry->serial = entry->pointer = 0;
    entry->is_published = 0;
}

void held_keys_drop(struct held_key *entry) {
    unpublish(entry);
    explicit_bzero(entry, sizeof *entry);
}

/* The entry for a key: the entry with the same name; if there is none, an unused entry; if all entries are
 * used, the entry that has been held for the longest time. */
static struct held_key *entry_for(struct held_keys *keys, const struct class_key *key) {
    struct held_key *found = &keys->entries[0];
    for (size_t index = 0; index < AGENT_KEYS; index++) {
        struct held_key *entry = &keys->entries[index];
        if (entry->is_used && is_same_name(&entry->key, key))
            return entry;
        if (found->is_used && (!entry->is_used || entry->held_at < found->held_at))
            found = entry;
    }
    return found;
}

struct held_key *held_keys_add(struct held_keys *keys, const struct class_key *key, uint64_t now,
                               uint64_t ends_at) {
    struct held_key *entry = entry_for(keys, key);
    if (entry->is_used)
        held_keys_drop(entry);
    entry->key = *key;
    entry->is_used = 1;
    entry->held_at = now;
    entry->ends_at = ends_at;
    return entry;
}

/* The whole seconds until a time, for the kernel's timeout of a key. At least 1, because 0 would mean no
 * timeout. */
static uint32_t seconds_until(uint64_t now, uint64_t ends_at) {
    return ends_at <= now ? 1 : (uint32_t)((ends_at - now + SECOND_US - 1) / SECOND_US);
}

int held_keys_publish(struct held_key *entry, uint64_t now, uint64_t ends_at) {
    uint32_t seconds = seconds_until(now, ends_at);
    char text[DESCRIPTION_LENGTH];
    describe(&entry->key, text);
    /* Makes the key in the process's keyring. In the thread's keyring, a key of this name would be updated
     * instead. */
    int error = key_make(KEY_SPEC_PROCESS_KEYRING, KEY_SPEC_THREAD_KEYRING, text, entry->key.key, KEY_LENGTH,
                         seconds, &entry->serial);
    if (error == 0) {
        uint32_t serial = (uint32_t)entry->serial;
        uint8_t number[SERIAL_LENGTH] = {(uint8_t)(serial >> 24), (uint8_t)(serial >> 16),
                                         (uint8_t)(serial >> 8), (uint8_t)serial};
        error = key_make(KEY_SPEC_PROCESS_KEYRING, KEY_SPEC_USER_KEYRING, text, number, sizeof number,
                         seconds, &entry->pointer);
    }
    entry->is_published = error == 0;
    entry->ends_at = ends_at;
    if (error != 0)
        unpublish(entry);
    return error;
}

/* Renews a key that the kernel still has. 0 or an errno. */
static int renew(int32_t serial, uint32_t seconds) {
    return key_control(KEYCTL_SET_TIMEOUT, (unsigned long)serial, seconds, 0, 0) < 0 ? errno : 0;
}

/* Whether the user's keyring still has the key that contains the serial number. A program may have unlinked
 * that key, or replaced it by another key. */
static int is_linked(const struct held_key *entry) {
    char text[DESCRIPTION_LENGTH];
    describe(&entry->key, text);
    long found = key_control(KEYCTL_SEARCH, (unsigned long)KEY_SPEC_USER_KEYRING, (unsigned long)"user",
                             (unsigned long)text, 0);
    return found == entry->pointer;
}

void held_keys_renew(struct held_key *entry, uint64_t now, uint64_t ends_at) {
    uint32_t seconds = seconds_until(now, ends_at);
    int error = renew(entry->serial, seconds);
    if (error == 0 && is_linked(entry) && renew(entry->pointer, seconds) == 0) {
        entry->ends_at = ends_at;
        return;
    }
    /* If the kernel ended the key before its time on the boot clock, the wall clock was set forward, so
     * publish the key again. In all other cases the key counts as revoked, and a revoked key is never
     * published again. */
    if (error == EKEYEXPIRED && now < entry->ends_at) {
        unpublish(entry);
        if (held_keys_publish(entry, now, ends_at) == 0)
            return;
    }
    held_keys_drop(entry);
}

void held_keys_begin(void) {
    foreign_keys_sweep(true);
}

void held_keys_drop_all(struct held_keys *keys) {
    for (size_t index = 0; index < AGENT_KEYS; index++) {
        if (keys->entries[index].is_used)
            held_keys_drop(&keys->entries[index]);
    }
    foreign_keys_sweep(false);
}

void held_keys_drop_vault(struct held_keys *keys, const uint8_t vault_id[VAULT_ID_LENGTH]) {
    for (size_t index = 0; index < AGENT_KEYS; index++) {
        struct held_key *entry = &keys->entries[index];
        if (entry->is_used && memcmp(entry->key.vault_id, vault_id, VAULT_ID_LENGTH) == 0)
            held_keys_drop(entry);
    }
}

size_t held_keys_count(const struct held_keys *keys, int is_published) {
    size_t count = 0;
    for (size_t index = 0; index < AGENT_KEYS; index++)
        count += keys->entries[index].is_used && keys->entries[index].is_published == is_published;
    return count;
}
