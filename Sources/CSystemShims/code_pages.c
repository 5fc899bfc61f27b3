#define _GNU_SOURCE
#include "CSystemShims.h"

#include <link.h>
#include <malloc.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

/* Gives back the pages of the object's segments that are not writable. Their content is that of the file, so
 * the kernel can read them again. */
static int give_back(struct dl_phdr_info *object, size_t size, void *data) {
    (void)size, (void)data;
    const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    for (int index = 0; index < object->dlpi_phnum; index++) {
        const ElfW(Phdr) *segment = &object->dlpi_phdr[index];
        if (segment->p_type != PT_LOAD || segment->p_flags & PF_W)
            continue;
        uintptr_t start = (object->dlpi_addr + segment->p_vaddr) & ~(page - 1);
        uintptr_t end = (object->dlpi_addr + segment->p_vaddr + segment->p_memsz) & ~(page - 1);
        /* The last, partial page is kept, because a writable segment may share it. */
        if (end > start)
            (void)madvise((void *)start, end - start, MADV_DONTNEED);
    }
    return 0;
}

void tokenkeep_give_back_memory(void) {
    (void)dl_iterate_phdr(give_back, NULL);
    (void)malloc_trim(0);
}
