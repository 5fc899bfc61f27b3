/* The file that records which lock source has reported a lock of which kind of desktop. */
#ifndef TOKENKEEP_AGENT_LOCK_PROOF_H
#define TOKENKEEP_AGENT_LOCK_PROOF_H

#include <stdbool.h>
#include <stddef.h>

#define PROOFS 32

/* The desktop and the type of a session, as login1 names them. Other characters than [A-Za-z0-9.:_-] are
 * replaced; an empty name becomes "-". */
struct proof_key {
    char desktop[32];
    char type[12];
};

struct proof {
    struct proof_key key;
    bool is_hint;
};

struct proofs {
    struct proof entries[PROOFS];
    size_t count;
};

/* Copies a name from login1, with "_" in place of each character that the file may not contain. */
void proof_name(char *target, size_t size, const char *name);

/* Whether the desktop has no name, so that its locks are not recorded. */
bool proof_is_nameless(const struct proof_key *key);

/* Reads the file. An unreadable file counts as empty, and malformed lines are ignored. */
void proofs_read(struct proofs *proofs);

/* The proof for a kind of desktop; NULL if there is none. */
const struct proof *proofs_find(const struct proofs *proofs, const struct proof_key *key);

/* Whether proofs_note would change the file, because the file does not say yet that this source locks this
 * kind of desktop. */
bool proofs_lack(const struct proofs *proofs, const struct proof_key *key, bool is_hint);

/* Records that a source locked a kind of desktop, unless the desktop has no name. A proof by LockedHint
 * replaces a proof by ActiveChanged. */
void proofs_note(struct proofs *proofs, const struct proof_key *key, bool is_hint);

#endif
