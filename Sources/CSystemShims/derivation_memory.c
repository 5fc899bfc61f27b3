#define _GNU_SOURCE
#include "derivation_memory.h"

#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

/* NULL and errno if there is no memory, or if a core dump would contain the memory. */
static uint8_t *map_undumped(size_t length) {
    uint8_t *base = mmap(NULL, length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (base == MAP_FAILED)
        return NULL;
    if (madvise(base, length, MADV_DONTDUMP) == 0)
        return base;
    int error = errno;
    munmap(base, length);
    errno = error;
    return NULL;
}

int tokenkeep_derivation_memory_map(size_t stack_length, struct derivation_memory *memory) {
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    const size_t secrets = (sizeof *memory->secrets + page - 1) / page * page;
    memory->length = page + stack_length + secrets;
    memory->base = map_undumped(memory->length);
    if (memory->base == NULL)
        return errno;
    memory->stack = memory->base + page;
    memory->stack_length = stack_length;
    memory->secrets = (struct derivation_secrets *)(memory->stack + stack_length);
    if (mprotect(memory->base, page, PROT_NONE) != 0) {
        int error = errno;
        tokenkeep_derivation_memory_unmap(memory);
        return error;
    }
    /* Failures of mlock and madvise are ignored. WIPEONFORK does not cover the stack: glibc writes to its
     * upper end in a child. */
    (void)mlock(memory->stack, stack_length + secrets);
    (void)madvise(memory->secrets, secrets, MADV_WIPEONFORK);
    return 0;
}

void tokenkeep_derivation_memory_unmap(const struct derivation_memory *memory) {
    munmap(memory->base, memory->length);
}

int tokenkeep_derivation_blocks_map(uint8_t **blocks, size_t length) {
    uint8_t *base = map_undumped(length);
    if (base == NULL)
        return errno;
    if (madvise(base, length, MADV_DONTFORK) != 0) {
        int error = errno;
        munmap(base, length);
        return error;
    }
    /* The blocks are read in random order, so huge pages reduce the time of a derivation to a fifth. */
    (void)madvise(base, length, MADV_HUGEPAGE);
    /* Lock each page at its first use. mlock would map all pages at once, and no other thread of the host
     * could map memory meanwhile. */
    (void)mlock2(base, length, MLOCK_ONFAULT);
    *blocks = base;
    return 0;
}

void tokenkeep_copy_bytewise(void *to, const void *from, size_t length) {
    volatile uint8_t *target = to;
    const volatile uint8_t *source = from;
    for (size_t i = 0; i < length; i++)
        target[i] = source[i];
}

void tokenkeep_derivation_blocks_unmap(uint8_t *blocks, size_t length) {
    munmap(blocks, length);
}
