/* The file that says which lock source was seen to lock which kind of desktop. */
#ifndef TOKENKEEP_AGENT_LOCK_PROOF_H
#define TOKENKEEP_AGENT_LOCK_PROOF_H

#include <stdbool.h>
#include <stddef.h>

#define PROOFS 32

/* The desktop and the type of a session, as login1 names them, made harmless: [A-Za-z0-9.:_-], "-" if empty.
 */
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

/* Copies a name of login1's, with "_" for each character that does not belong in the file. */
void proof_name(char *target, size_t size, const char *name);

/* Whether the desktop has no name. No lock of it is noted. */
bool proof_is_nameless(const struct proof_key *key);

/* Reads the file. An unreadable file counts as empty, and a malformed line is passed over. */
void proofs_read(struct proofs *proofs);

/* The proof for a kind of desktop; NULL if there is none. */
const struct proof *proofs_find(const struct proofs *proofs, const struct proof_key *key);

/* Whether it is news that a source locked a kind of desktop: what proofs_note would note. */
bool proofs_lack(const struct proofs *proofs, const struct proof_key *key, bool is_hint);

/* Notes that a source locked a kind of desktop, unless the desktop has no name. A hint takes the place of an
 * ActiveChanged. */
void proofs_note(struct proofs *proofs, const struct proof_key *key, bool is_hint);

#endif
