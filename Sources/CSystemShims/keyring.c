/* Keys in the kernel's user keyring (keyrings(7)). Makes the system calls directly, because libkeyutils would
 * be one more library to load at each start. */
#define _GNU_SOURCE
#include "CSystemShims.h"

#include "keyring_calls.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The usual limit of keys per user. The buffer grows if there are more. */
#define USUAL_KEYS 256

/* The maximum number of attempts to read a key that other processes replace meanwhile. */
#define READ_ATTEMPTS 8

static long key_of_user(const char *description) {
    return key_control(KEYCTL_SEARCH, (unsigned long)KEY_SPEC_USER_KEYRING, (unsigned long)"user",
                       (unsigned long)description, 0);
}

int tokenkeep_keyring_publish(const char *description, const void *payload, size_t length,
                              uint32_t timeout_s) {
    /* The key is made in this thread's keyring, and then linked into the user's keyring. Made in the user's
     * keyring directly, the key would be unusable to another login, and adding it again would drop its
     * timeout. */
    int32_t serial;
    return key_make(KEY_SPEC_THREAD_KEYRING, KEY_SPEC_USER_KEYRING, description, payload, length, timeout_s,
                    &serial);
}

/* Reads a key of the user's keyring, or the agent's key to which it points. */
static int read_key(unsigned long key, void *payload, size_t capacity, size_t *length, int *is_held) {
    char text[LONGEST_DESCRIPTION];
    if (!key_describe(key, text) || !key_was_made_here(text))
        return ENOKEY;
    long count = key_control(KEYCTL_READ, key, (unsigned long)payload, capacity, 0);
    if (count < 0)
        return errno;
    *is_held = count == SERIAL_LENGTH;
    if (*is_held) {
        long held = key_pointed_to(key, text);
        /* The agent has ended, or has replaced the key. */
        if (held < 0 ||
            (count = key_control(KEYCTL_READ, (unsigned long)held, (unsigned long)payload, capacity, 0)) < 0)
            return ENOKEY;
    }
    *length = (size_t)count;
    return *length <= capacity ? 0 : EMSGSIZE;
}

int tokenkeep_keyring_read(const char *description, void *payload, size_t capacity, size_t *length,
                           int *is_held) {
    long last = -1;
    int error = ENOKEY;
    /* An unlock in another process may replace the key after it was found, so the key is searched for
     * again. */
    for (int attempt = 0; attempt < READ_ATTEMPTS; attempt++) {
        long key = key_of_user(description);
        if (key < 0)
            return errno;
        if (key == last)
            return error;
        error = read_key((unsigned long)key, payload, capacity, length, is_held);
        if (error != ENOKEY)
            return error;
        last = key;
    }
    return error;
}

static int revoke_key(unsigned long key) {
    if (key_control(KEYCTL_REVOKE, key, 0, 0, 0) == 0 || errno == EKEYREVOKED || errno == EKEYEXPIRED ||
        errno == ENOKEY)
        return 0;
    return errno;
}

/* Revokes and unlinks a key, and the agent's key to which it points. The agent's key is revoked first,
 * because it cannot be found without the key that points to it. A key that another user linked into the
 * keyring cannot be revoked, so it is only unlinked. */
static int purge(unsigned long key, const char *text) {
    int is_own = key_was_made_here(text);
    long held = is_own ? key_pointed_to(key, text) : -1;
    int error = held < 0 ? 0 : revoke_key((unsigned long)held);
    int failure = revoke_key(key);
    if (error == 0 && is_own)
        error = failure;
    if (key_control(KEYCTL_UNLINK, key, (unsigned long)KEY_SPEC_USER_KEYRING, 0, 0) < 0 && errno != ENOENT &&
        error == 0)
        error = errno;
    return error;
}

/* The keys of the user's keyring, to be freed by the caller; NULL and errno if they cannot be read. */
static int32_t *keys_of_user(size_t *count) {
    size_t room = USUAL_KEYS;
    for (;;) {
        int32_t *keys = malloc(room * sizeof *keys);
        if (keys == NULL)
            return NULL;
        long size = key_control(KEYCTL_READ, (unsigned long)KEY_SPEC_USER_KEYRING, (unsigned long)keys,
                                room * sizeof *keys, 0);
        if (size >= 0 && (size_t)size <= room * sizeof *keys) {
            *count = (size_t)size / sizeof *keys;
            return keys;
        }
        int error = errno;
        free(keys);
        errno = error;
        if (size < 0)
            return NULL;
        room = (size_t)size / sizeof *keys + USUAL_KEYS;
    }
}

/* The description within text if it begins with this prefix; otherwise NULL. */
static const char *with_prefix(const char *text, const char *prefix) {
    const char *last = strrchr(text, ';');
    return last != NULL && strncmp(last + 1, prefix, strlen(prefix)) == 0 ? last + 1 : NULL;
}

int tokenkeep_keyring_purge(const char *prefix, const char *kept, int *was_read) {
    size_t count = 0;
    int32_t *keys = keys_of_user(&count);
    *was_read = keys != NULL;
    if (keys == NULL)
        return errno;
    int error = 0;
    for (size_t index = 0; index < count; index++) {
        char text[LONGEST_DESCRIPTION];
        if (!key_describe((unsigned long)keys[index], text))
            continue;
        const char *description = with_prefix(text, prefix);
        if (description == NULL || (kept != NULL && strcmp(description, kept) == 0))
            continue;
        int failure = purge((unsigned long)keys[index], text);
        if (error == 0)
            error = failure;
    }
    free(keys);
    return error;
}

/* Finds each key by its description. keys_of_user() would be slower, because every key of the user is then
 * described by a system call. */
int tokenkeep_keyring_remove(const char *description) {
    int error = 0;
    for (int attempt = 0; attempt < READ_ATTEMPTS; attempt++) {
        long key = key_of_user(description);
        if (key < 0)
            return error;
        char text[LONGEST_DESCRIPTION];
        if (!key_describe((unsigned long)key, text))
            text[0] = '\0';
        error = purge((unsigned long)key, text);
        /* If this user made the purged key, stop, so that a key that another process publishes now stays. If
         * another user made it, search again, because it may have hidden this user's key. */
        if (error == 0 && key_was_made_here(text))
            return 0;
    }
    return error;
}

int tokenkeep_keyring_each(const char *prefix, void (*body)(const char *description, void *data),
                           void *data) {
    size_t count = 0;
    int32_t *keys = keys_of_user(&count);
    if (keys == NULL)
        return errno;
    for (size_t index = 0; index < count; index++) {
        char text[LONGEST_DESCRIPTION];
        if (!key_describe((unsigned long)keys[index], text) || !key_was_made_here(text))
            continue;
        const char *description = with_prefix(text, prefix);
        if (description != NULL)
            body(description, data);
    }
    free(keys);
    return 0;
}

/* Whether this user namespace lacks some uids. The kernel refuses to set an owner whose uid the namespace
 * lacks with EINVAL, before it checks rights. The initial namespace has every uid below (uid_t)-1. */
static int lacks_numbers(void) {
    int file = memfd_create("tokenkeep-numbers", MFD_CLOEXEC);
    if (file < 0)
        return 0;
    int is_lacking = fchown(file, (uid_t)-2, (gid_t)-1) != 0 && errno == EINVAL;
    (void)close(file);
    return is_lacking;
}

int tokenkeep_is_in_user_namespace(void) {
    /* The initial namespace maps every number to itself. */
    unsigned long inside, outside, count;
    FILE *map = fopen("/proc/self/uid_map", "re");
    if (map == NULL)
        return lacks_numbers();
    int fields = fscanf(map, "%lu %lu %lu", &inside, &outside, &count);
    (void)fclose(map);
    return fields != 3 || inside != 0 || outside != 0 || count != 4294967295UL;
}
