#define _GNU_SOURCE
#include "secure_environment.h"

#include <stdlib.h>
#include <unistd.h>

const char *tokenkeep_trusted_environment(const char *name)
{
    if (getuid() != geteuid() || getgid() != getegid()) return NULL;
    return secure_getenv(name);
}
