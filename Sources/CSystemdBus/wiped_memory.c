#define _GNU_SOURCE
// The program's own free and realloc, which clear memory before they release it.
//
// Flags of sd-bus (`SD_BUS_VTABLE_SENSITIVE`, `sd_bus_message_sensitive`) clear a message's body when it is
// freed, but a body that grows moves by realloc, which leaves the bytes of a secret in the old block. The
// linker gives these definitions to libsystemd and libgcrypt, too. The Swift runtime's arrays and strings are
// cleared likewise.
#include <malloc.h>
#include <stdlib.h>
#include <string.h>

void __libc_free(void *block);
void *__libc_malloc(size_t size);

// AddressSanitizer has a free and a realloc of its own.
#if !__has_feature(address_sanitizer)

void free(void *block) {
    if (block == NULL)
        return;
    explicit_bzero(block, malloc_usable_size(block));
    __libc_free(block);
}

void *realloc(void *block, size_t size) {
    if (block == NULL)
        return __libc_malloc(size);
    if (size == 0) {
        free(block);
        return NULL;
    }
    size_t present = malloc_usable_size(block);
    if (size <= present && size > present / 4)
        return block;
    void *moved = __libc_malloc(size);
    if (moved == NULL)
        return NULL;
    memcpy(moved, block, present < size ? present : size);
    free(block);
    return moved;
}

#endif
