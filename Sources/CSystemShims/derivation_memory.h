/* The memory of one derivation, in mappings that core dumps leave out. */
#ifndef TOKENKEEP_DERIVATION_MEMORY_H
#define TOKENKEEP_DERIVATION_MEMORY_H

#include "CSystemShims.h"

#include <stddef.h>
#include <stdint.h>

/* The secret input and output of a derivation. */
struct derivation_secrets {
    uint8_t password[TOKENKEEP_LONGEST_PASSWORD];
    uint8_t salt[TOKENKEEP_LONGEST_SALT];
    uint8_t derived[TOKENKEEP_DERIVED_LENGTH];
};

/* One mapping: a guard page, a stack and, above the stack, the secrets. */
struct derivation_memory {
    uint8_t *base;
    size_t length;
    uint8_t *stack;
    size_t stack_length;
    struct derivation_secrets *secrets;
};

/* Maps the memory. 0, or an errno. */
int tokenkeep_derivation_memory_map(size_t stack_length, struct derivation_memory *memory);

/* Unmaps the memory. The kernel wipes it. */
void tokenkeep_derivation_memory_unmap(const struct derivation_memory *memory);

/* Maps Argon2's blocks. A child made by fork() does not inherit them. 0, or an errno. */
int tokenkeep_derivation_blocks_map(uint8_t **blocks, size_t length);
void tokenkeep_derivation_blocks_unmap(uint8_t *blocks, size_t length);

/* Copies byte by byte. memcpy would leave up to 64 bytes in vector registers, which a core dump contains. */
void tokenkeep_copy_bytewise(void *to, const void *from, size_t length);

#endif
