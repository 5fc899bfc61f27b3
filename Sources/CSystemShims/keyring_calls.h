/* System calls on keys of the kernel's keyrings, for the library and the agent. */
#ifndef TOKENKEEP_KEYRING_CALLS_H
#define TOKENKEEP_KEYRING_CALLS_H

#include <errno.h>
#include <linux/keyctl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The user may view, read, search, link and set attributes. Possession of the key gives no right: a
 * program that changed its user keeps the session keyring, and could read the key through it. */
#define USER_ONLY 0x003b0000UL

/* A length, in bytes, that no text "user;UID;GID;PERMISSIONS;DESCRIPTION" about a key of TokenKeep
 * reaches. */
#define LONGEST_DESCRIPTION 512

/* A key of this length holds the serial number of an agent's key, highest byte first. */
#define SERIAL_LENGTH 4

static inline long key_control(int operation, unsigned long a, unsigned long b, unsigned long c,
                               unsigned long d) {
    return syscall(SYS_keyctl, operation, a, b, c, d);
}

/* Reads a key's description. 0 if it cannot be read. */
static inline int key_describe(unsigned long key, char text[LONGEST_DESCRIPTION]) {
    long length = key_control(KEYCTL_DESCRIBE, key, (unsigned long)text, LONGEST_DESCRIPTION - 1, 0);
    if (length <= 0 || length > LONGEST_DESCRIPTION - 1)
        return 0;
    text[length] = '\0';
    return strncmp(text, "user;", 5) == 0;
}

/* Whether this user made the key, with the permissions set below. Another user can link keys into the
 * user's keyring through an inherited session keyring, but cannot forge owner and permissions. */
static inline int key_was_made_here(const char *text) {
    unsigned int owner, permissions;
    return sscanf(text, "user;%u;%*u;%x;", &owner, &permissions) == 2 && owner == (unsigned int)geteuid() &&
           permissions == USER_ONLY;
}

/* The description within the text of key_describe. */
static inline const char *key_description(const char *text) {
    const char *last = strrchr(text, ';');
    return last != NULL ? last + 1 : "";
}

/* Makes a key in the keyring stage, completes it, and links it into the keyring target. A key of the same
 * description in target is replaced. The key ends after timeout_s seconds; 0 for no end. 0 or an errno. */
static inline int key_make(int32_t stage, int32_t target, const char *description, const void *payload,
                           size_t length, uint32_t timeout_s, int32_t *serial) {
    long key = syscall(SYS_add_key, "user", description, payload, length, stage);
    if (key < 0)
        return errno;
    unsigned long id = (unsigned long)key;
    int error = 0;
    if ((timeout_s != 0 && key_control(KEYCTL_SET_TIMEOUT, id, timeout_s, 0, 0) < 0) ||
        key_control(KEYCTL_SETPERM, id, USER_ONLY, 0, 0) < 0 ||
        key_control(KEYCTL_LINK, id, (unsigned long)target, 0, 0) < 0)
        error = errno;
    if (error != 0)
        (void)key_control(KEYCTL_REVOKE, id, 0, 0, 0);
    (void)key_control(KEYCTL_UNLINK, id, (unsigned long)stage, 0, 0);
    *serial = (int32_t)key;
    return error;
}

/* The agent's key to which a key of the user's keyring points. Both keys have the same description and were
 * made by this user. -1 if there is no such key, or if the given key does not contain a serial number. `text`
 * is the text that key_describe wrote for the given key. */
static inline long key_pointed_to(unsigned long pointer, const char *text) {
    unsigned char number[SERIAL_LENGTH];
    char target[LONGEST_DESCRIPTION];
    if (key_control(KEYCTL_READ, pointer, (unsigned long)number, sizeof number, 0) != SERIAL_LENGTH)
        return -1;
    uint32_t serial =
        (uint32_t)number[0] << 24 | (uint32_t)number[1] << 16 | (uint32_t)number[2] << 8 | number[3];
    /* Negative numbers are special names of keyrings, not serial numbers. */
    if (serial == 0 || serial > INT32_MAX || !key_describe(serial, target) || !key_was_made_here(target) ||
        strcmp(key_description(target), key_description(text)) != 0)
        return -1;
    return (long)serial;
}

#endif
