/* Keys in the kernel's user keyring (keyrings(7)), through system calls: libkeyutils would be one more
 * library to load at each start. */
#define _GNU_SOURCE
#include "CSystemShims.h"

#include <errno.h>
#include <linux/keyctl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The user may view, read, search, link and set attributes. Possession of the key gives no right: a
 * program that changed its user keeps the session keyring, and could read the key through it. */
#define USER_ONLY 0x003b0000UL

/* The usual limit of keys per user. The buffer grows if there are more. */
#define USUAL_KEYS 256

/* Longer than the description of any key of TokenKeep's: "user;UID;GID;PERMISSIONS;DESCRIPTION". */
#define LONGEST_DESCRIPTION 512

/* The limit of replacements of a key while it is read. */
#define READ_ATTEMPTS 8

static long control(int operation, unsigned long a, unsigned long b, unsigned long c, unsigned long d) {
    return syscall(SYS_keyctl, operation, a, b, c, d);
}

static long key_of_user(const char *description) {
    return control(KEYCTL_SEARCH, (unsigned long)KEY_SPEC_USER_KEYRING, (unsigned long)"user",
                   (unsigned long)description, 0);
}

/* Reads a key's description. 0 if it cannot be read. */
static int describe(unsigned long key, char text[LONGEST_DESCRIPTION]) {
    long length = control(KEYCTL_DESCRIBE, key, (unsigned long)text, LONGEST_DESCRIPTION - 1, 0);
    if (length <= 0 || length > LONGEST_DESCRIPTION - 1)
        return 0;
    text[length] = '\0';
    return strncmp(text, "user;", 5) == 0;
}

/* Whether this user made the key, with the permissions set below. Another user can link keys into the
 * user's keyring through an inherited session keyring, but cannot forge owner and permissions. */
static int was_made_here(const char *text) {
    unsigned int owner, permissions;
    return sscanf(text, "user;%u;%*u;%x;", &owner, &permissions) == 2 && owner == (unsigned int)geteuid() &&
           permissions == USER_ONLY;
}

int tokenkeep_keyring_publish(const char *description, const void *payload, size_t length,
                              uint32_t timeout_s) {
    /* The key is made in this thread's keyring, completed, and then linked into the user's keyring. Made
     * in the user's keyring directly, the key would be unusable to another login, and adding it again
     * would drop its timeout. */
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

static int read_key(unsigned long key, void *payload, size_t capacity, size_t *length) {
    char text[LONGEST_DESCRIPTION];
    if (!describe(key, text) || !was_made_here(text))
        return ENOKEY;
    long count = control(KEYCTL_READ, key, (unsigned long)payload, capacity, 0);
    if (count < 0)
        return errno;
    *length = (size_t)count;
    return *length <= capacity ? 0 : EMSGSIZE;
}

int tokenkeep_keyring_read(const char *description, void *payload, size_t capacity, size_t *length) {
    long last = -1;
    int error = ENOKEY;
    /* An unlock meanwhile replaces the key, and the found key is gone then. */
    for (int attempt = 0; attempt < READ_ATTEMPTS; attempt++) {
        long key = key_of_user(description);
        if (key < 0)
            return errno;
        if (key == last)
            return error;
        error = read_key((unsigned long)key, payload, capacity, length);
        if (error != ENOKEY)
            return error;
        last = key;
    }
    return error;
}

/* A key linked in by another user cannot be revoked. It is unlinked from the keyring, and nothing reads
 * it. */
static int purge(unsigned long key, int is_own) {
    int error = 0;
    if (control(KEYCTL_REVOKE, key, 0, 0, 0) < 0 && errno != EKEYREVOKED && errno != EKEYEXPIRED && is_own)
        error = errno;
    if (control(KEYCTL_UNLINK, key, (unsigned long)KEY_SPEC_USER_KEYRING, 0, 0) < 0 && errno != ENOENT &&
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
        long size = control(KEYCTL_READ, (unsigned long)KEY_SPEC_USER_KEYRING, (unsigned long)keys,
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

/* The start of the description within text, if it has this prefix; else NULL. */
static const char *with_prefix(const char *text, const char *prefix) {
    const char *last = strrchr(text, ';');
    return last != NULL && strncmp(last + 1, prefix, strlen(prefix)) == 0 ? last + 1 : NULL;
}

int tokenkeep_keyring_purge(const char *prefix, int *was_read) {
    size_t count = 0;
    int32_t *keys = keys_of_user(&count);
    *was_read = keys != NULL;
    if (keys == NULL)
        return errno;
    int error = 0;
    for (size_t index = 0; index < count; index++) {
        char text[LONGEST_DESCRIPTION];
        if (!describe((unsigned long)keys[index], text) || with_prefix(text, prefix) == NULL)
            continue;
        int failure = purge((unsigned long)keys[index], was_made_here(text));
        if (error == 0)
            error = failure;
    }
    free(keys);
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
        if (!describe((unsigned long)keys[index], text) || !was_made_here(text))
            continue;
        const char *description = with_prefix(text, prefix);
        if (description != NULL)
            body(description, data);
    }
    free(keys);
    return 0;
}

/* The kernel refuses an owner whose number the namespace lacks with EINVAL, before it looks at rights. The
 * initial namespace has every number below (uid_t)-1. */
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
