#define _GNU_SOURCE
#include "owner.h"

#include <ctype.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SUBUID_FILE "/etc/subuid"

/* Reads a decimal number that a colon or the end of the line follows. Returns the text after the colon, or
 * the end of the line; NULL if there is no such number. */
static const char *read_number(const char *text, unsigned long *number) {
    char *end;
    if (!isdigit((unsigned char)*text))
        return NULL;
    *number = strtoul(text, &end, 10);
    return *end == ':' ? end + 1 : *end == '\n' || *end == '\0' ? end : NULL;
}

/* The uid of the user to whom a range of /etc/subuid belongs: `name` is a number or a name. For an unknown
 * name, the first uid of the range. */
static uid_t user_of(const char *name, unsigned long first) {
    unsigned long number;
    const char *end = read_number(name, &number);
    if (end != NULL && *end == '\0')
        return (uid_t)number;
    const struct passwd *entry = getpwnam(name);
    return entry != NULL ? entry->pw_uid : (uid_t)first;
}

uid_t owner_of(uid_t uid) {
    char line[256];
    uid_t owner = uid;
    FILE *file = fopen(SUBUID_FILE, "re");
    if (file == NULL)
        return uid;
    while (owner == uid && fgets(line, sizeof line, file) != NULL) {
        char *colon = strchr(line, ':');
        unsigned long first, count;
        const char *rest = colon != NULL ? read_number(colon + 1, &first) : NULL;
        if (rest == NULL || read_number(rest, &count) == NULL || uid < first || uid - first >= count)
            continue;
        *colon = '\0';
        owner = user_of(line, first);
    }
    (void)fclose(file);
    return owner;
}
