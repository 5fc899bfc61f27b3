/* Keys in the kernel's user keyring (keyrings(7)), by the system calls themselves: libkeyutils would be one
 * more library to load at each start. */
#define _GNU_SOURCE
#include "CSystemShims.h"

#include <errno.h>
#include <linux/keyctl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The user may view, read, search, link and set attributes. Whoever possesses the key gets nothing by that: a
 * program that changed its user keeps the session keyring, and would read the key through it. */
#define USER_ONLY 0x003b0000UL

/* More keys than a user may have. */
#define MAXIMUM_KEYS 4096

static long control(int operation, unsigned long a, unsigned long b, unsigned long c, unsigned long d) {
    return syscall(SYS_keyctl, operation, a, b, c, d);
}

static long key_of_user(const char *description) {
    return control(KEYCTL_SEARCH, (unsigned long)KEY_SPEC_USER_KEYRING, (unsigned long)"user",
                   (unsigned long)description, 0);
}

int tokenkeep_keyring_publish(const char *description, const void *payload, size_t length,
                              uint32_t timeout_s) {
    /* Made where this thread possesses it, finished, and only then linked where others find it. Added to the
     * user's keyring directly it would be unusable to another login, and adding it again would drop its
     * timeout. */
    long key = syscall(SYS_add_key, "user", description, payload, length, KEY_SPEC_THREAD_KEYRING);
    if (key < 0)
        return errno;
    unsigned long id = (unsigned long)key;
    int error = 0;
    if ((timeout_s != 0 && control(KEYCTL_SET_TIMEOUT, id, timeout_s, 0, 0) < 0) ||
        control(KEYCTL_SETPERM, id, USER_ONLY, 0, 0) < 0 ||
        control(KEYCTL_LINK, id, (unsigned long)KEY_SPEC_USER_KEYRING, 0, 0) < 0)
        error = errno;
    if (error != 0)
        (void)control(KEYCTL_REVOKE, id, 0, 0, 0);
    (void)control(KEYCTL_UNLINK, id, (unsigned long)KEY_SPEC_THREAD_KEYRING, 0, 0);
    return error;
}

int tokenkeep_keyring_read(const char *description, void *payload, size_t length) {
    long key = key_of_user(description);
    if (key < 0)
        return errno;
    long count = control(KEYCTL_READ, (unsigned long)key, (unsigned long)payload, length, 0);
    if (count < 0)
        return errno;
    return (size_t)count == length ? 0 : EMSGSIZE;
}

static int purge(unsigned long key) {
    int error = 0;
    if (control(KEYCTL_REVOKE, key, 0, 0, 0) < 0 && errno != EKEYREVOKED && errno != EKEYEXPIRED)
        error = errno;
    if (control(KEYCTL_UNLINK, key, (unsigned long)KEY_SPEC_USER_KEYRING, 0, 0) < 0 && errno != ENOENT &&
        error == 0)
        error = errno;
    return error;
}

/* Whether a key's description, "user;UID;GID;PERMISSIONS;DESCRIPTION", is that of a key of ours. */
static int begins_with(unsigned long key, const char *prefix) {
    char text[512];
    long length = control(KEYCTL_DESCRIBE, key, (unsigned long)text, sizeof text - 1, 0);
    if (length <= 0 || (size_t)length > sizeof text - 1)
        return 0;
    text[length] = '\0';
    const char *last = strrchr(text, ';');
    return strncmp(text, "user;", 5) == 0 && last != NULL && strncmp(last + 1, prefix, strlen(prefix)) == 0;
}

int tokenkeep_keyring_purge(const char *prefix) {
    int32_t *keys = malloc(MAXIMUM_KEYS * sizeof *keys);
    if (keys == NULL)
        return ENOMEM;
    long size = control(KEYCTL_READ, (unsigned long)KEY_SPEC_USER_KEYRING, (unsigned long)keys,
                        MAXIMUM_KEYS * sizeof *keys, 0);
    int error = size < 0 ? errno : 0;
    size_t count = size < 0 ? 0 : (size_t)size / sizeof *keys;
    if (count > MAXIMUM_KEYS)
        count = MAXIMUM_KEYS;
    for (size_t index = 0; index < count; index++) {
        unsigned long key = (unsigned long)keys[index];
        if (!begins_with(key, prefix))
            continue;
        int failure = purge(key);
        if (error == 0)
            error = failure;
    }
    free(keys);
    return error;
}

int tokenkeep_is_in_user_namespace(void) {
    /* The first namespace maps every number to itself. */
    unsigned long inside, outside, count;
    FILE *map = fopen("/proc/self/uid_map", "re");
    if (map == NULL)
        return 0;
    int fields = fscanf(map, "%lu %lu %lu", &inside, &outside, &count);
    (void)fclose(map);
    return fields != 3 || inside != 0 || outside != 0 || count != 4294967295UL;
}
