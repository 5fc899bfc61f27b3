#define _GNU_SOURCE
#include "memory.h"

#include <malloc.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>

void memory_protect(void) {
    struct rlimit none = {0, 0}, locked;
    (void)prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
    (void)setrlimit(RLIMIT_CORE, &none);
    /* malloc overwrites freed memory: tss2 copies secrets to the heap, and frees the copies unwiped. */
    (void)mallopt(M_PERTURB, 0xa5);
    /* Only without a limit for locked memory: under a limit, a later allocation could fail. */
    if (getrlimit(RLIMIT_MEMLOCK, &locked) == 0 && locked.rlim_cur == RLIM_INFINITY)
        (void)mlockall(MCL_CURRENT | MCL_FUTURE);
}
