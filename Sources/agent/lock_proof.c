#define _GNU_SOURCE
#include "lock_proof.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define FOLDER "tokenkeep"
#define NAME   "lock-source"
#define HINT   "hint"
#define ACTIVE "active"
/* The name of all desktops without a name. No lock of such a desktop is recorded, because it proves nothing
 * about other desktops without a name. */
#define NAMELESS "-"

static bool is_harmless(char character) {
    return isalnum((unsigned char)character) || strchr(".:_-", character) != NULL;
}

void proof_name(char *target, size_t size, const char *name) {
    size_t length = 0;
    for (; name[length] != '\0' && length < size - 1; length++)
        target[length] = is_harmless(name[length]) ? name[length] : '_';
    if (length == 0)
        target[length++] = NAMELESS[0];
    target[length] = '\0';
}

bool proof_is_nameless(const struct proof_key *key) {
    return strcmp(key->desktop, NAMELESS) == 0;
}

static bool is_name(const char *text, size_t size) {
    size_t length = strlen(text);
    if (length == 0 || length >= size)
        return false;
    for (size_t index = 0; index < length; index++) {
        if (!is_harmless(text[index]))
            return false;
    }
    return true;
}

const struct proof *proofs_find(const struct proofs *proofs, const struct proof_key *key) {
    for (size_t index = 0; index < proofs->count; index++) {
        const struct proof *proof = &proofs->entries[index];
        if (strcmp(proof->key.desktop, key->desktop) == 0 && strcmp(proof->key.type, key->type) == 0)
            return proof;
    }
    return NULL;
}

bool proofs_lack(const struct proofs *proofs, const struct proof_key *key, bool is_hint) {
    const struct proof *found = proofs_find(proofs, key);
    if (found != NULL)
        return is_hint && !found->is_hint;
    return !proof_is_nameless(key) && proofs->count < PROOFS;
}

static bool add(struct proofs *proofs, const struct proof_key *key, bool is_hint) {
    if (!proofs_lack(proofs, key, is_hint))
        return false;
    struct proof *found = (struct proof *)proofs_find(proofs, key);
    if (found != NULL)
        found->is_hint = true;
    else
        proofs->entries[proofs->count++] = (struct proof){.key = *key, .is_hint = is_hint};
    return true;
}

/* Writes the path of the user's state directory: XDG_STATE_HOME, or ~/.local/state. */
static bool state_home(char path[PATH_MAX]) {
    const char *given = secure_getenv("XDG_STATE_HOME");
    if (given != NULL && given[0] == '/')
        return snprintf(path, PATH_MAX, "%s", given) < PATH_MAX;
    const struct passwd *user = getpwuid(geteuid());
    return user != NULL && user->pw_dir != NULL && user->pw_dir[0] == '/' &&
           snprintf(path, PATH_MAX, "%s/.local/state", user->pw_dir) < PATH_MAX;
}

/* Whether the directory, or its nearest existing parent directory, belongs to the user. */
static bool is_below_own(const char *path) {
    char parent[PATH_MAX];
    struct stat status;
    if (snprintf(parent, PATH_MAX, "%s", path) >= PATH_MAX)
        return false;
    while (stat(parent[0] == '\0' ? "/" : parent, &status) != 0) {
        if (errno != ENOENT || parent[0] == '\0')
            return false;
        *strrchr(parent, '/') = '\0';
    }
    return status.st_uid == geteuid();
}

/* Makes the state directory. In a new home, at most two levels of its path are missing. Makes nothing in the
 * home of another user, who could then not use the directory. */
static void make_state_home(char path[PATH_MAX]) {
    if (!is_below_own(path))
        return;
    char *slash = strrchr(path, '/');
    *slash = '\0';
    (void)mkdir(path, 0700);
    *slash = '/';
    (void)mkdir(path, 0700);
}

/* Opens the directory of the file, which only the user may access; -1 if there is none. */
static int open_folder(bool is_made) {
    char path[PATH_MAX];
    if (!state_home(path))
        return -1;
    if (is_made)
        make_state_home(path);
    int home = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    struct stat status;
    if (home < 0)
        return -1;
    if (is_made && fstat(home, &status) == 0 && status.st_uid == geteuid())
        (void)mkdirat(home, FOLDER, 0700);
    int folder = openat(home, FOLDER, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    (void)close(home);
    if (folder >= 0 && fstat(folder, &status) == 0 && status.st_uid == geteuid() &&
        (status.st_mode & 022) == 0)
        return folder;
    if (folder >= 0)
        (void)close(folder);
    return -1;
}

static void read_line(struct proofs *proofs, char *line) {
    char *rest = NULL;
    const char *desktop = strtok_r(line, " ", &rest), *type = strtok_r(NULL, " ", &rest),
               *word = strtok_r(NULL, " ", &rest);
    struct proof_key key;
    if (word == NULL || strtok_r(NULL, " ", &rest) != NULL || !is_name(desktop, sizeof key.desktop) ||
        !is_name(type, sizeof key.type) || (strcmp(word, HINT) != 0 && strcmp(word, ACTIVE) != 0))
        return;
    strcpy(key.desktop, desktop);
    strcpy(key.type, type);
    (void)add(proofs, &key, strcmp(word, HINT) == 0);
}

void proofs_read(struct proofs *proofs) {
    proofs->count = 0;
    int folder = open_folder(false);
    if (folder < 0)
        return;
    int file = openat(folder, NAME, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    (void)close(folder);
    struct stat status;
    char text[PROOFS * 64];
    ssize_t length = -1;
    if (file >= 0 && fstat(file, &status) == 0 && S_ISREG(status.st_mode) && status.st_uid == geteuid())
        length = read(file, text, sizeof text - 1);
    if (file >= 0)
        (void)close(file);
    if (length <= 0)
        return;
    text[length] = '\0';
    char *rest = NULL;
    for (char *line = strtok_r(text, "\n", &rest); line != NULL; line = strtok_r(NULL, "\n", &rest))
        read_line(proofs, line);
}

/* Replaces the file by one rename. After a failure, the next agent lacks the new proof. */
static void write_file(const struct proofs *proofs) {
    int folder = open_folder(true);
    if (folder < 0)
        return;
    (void)unlinkat(folder, NAME ".tmp", 0);
    int file = openat(folder, NAME ".tmp", O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    bool is_written = file >= 0;
    for (size_t index = 0; is_written && index < proofs->count; index++) {
        const struct proof *proof = &proofs->entries[index];
        is_written = dprintf(file, "%s %s %s\n", proof->key.desktop, proof->key.type,
                             proof->is_hint ? HINT : ACTIVE) > 0;
    }
    if (file >= 0)
        (void)close(file);
    if (is_written)
        (void)renameat(folder, NAME ".tmp", folder, NAME);
    (void)close(folder);
}

void proofs_note(struct proofs *proofs, const struct proof_key *key, bool is_hint) {
    if (add(proofs, key, is_hint))
        write_file(proofs);
}
