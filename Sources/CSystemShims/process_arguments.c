#include "CSystemShims.h"

static char **arguments;

/* glibc passes main's arguments to constructors. Swift's CommandLine reads /proc, which may be missing. */
__attribute__((constructor)) static void keep_arguments(int count, char **values) {
    (void)count;
    arguments = values;
}

char *const *tokenkeep_process_arguments(void) {
    return arguments;
}
