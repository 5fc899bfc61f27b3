#define _GNU_SOURCE
#include "CSystemShims.h"

#include <link.h>
#include <malloc.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

/* The pages are clean copies of a file. The kernel maps those that run again from its cache. */
static int give_back(struct dl_phdr_info *object, size_t size, void *data) {
    (void)size, (void)data;
    const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    for (int index = 0; index < object->dlpi_phnum; index++) {
        const ElfW(Phdr) *segment = &object->dlpi_phdr[index];
        if (segment->p_type != PT_LOAD || (segment->p_flags & (PF_X | PF_W)) != PF_X)
            continue;
        uintptr_t start = (object->dlpi_addr + segment->p_vaddr) & ~(page - 1);
        uintptr_t end = (object->dlpi_addr + segment->p_vaddr + segment->p_memsz + page - 1) & ~(page - 1);
        (void)madvise((void *)start, end - start, MADV_DONTNEED);
    }
    return 0;
}

void tokenkeep_give_back_memory(void) {
    (void)dl_iterate_phdr(give_back, NULL);
    (void)malloc_trim(0);
}
