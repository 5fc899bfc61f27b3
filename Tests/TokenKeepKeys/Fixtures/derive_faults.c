/* SPDX-License-Identifier: Apache-2.0 */
/*
 * derive_faults fork | refused | small
 * fork: a child derives although its parent has abandoned as many derivations as may be.
 * refused: the kernel starts no thread. small: a thread needs a large stack.
 * Ends with 0 if the derivation came out as it should.
 */
#define _GNU_SOURCE
#include "../../Support/check.h"
#include "CSystemShims.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { LARGE = 1024 * 1024 };

static int refuses, needs_large_stack;

/* The thread library's function, unless the test makes it fail. */
int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*body)(void *),
                   void *argument) {
    int (*real)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
    size_t size = 0;
    *(void **)&real = dlsym(RTLD_NEXT, "pthread_create");
    pthread_attr_getstacksize(attributes, &size);
    if (refuses)
        return EAGAIN;
    if (needs_large_stack && size < LARGE)
        return EINVAL;
    return real(thread, attributes, body, argument);
}

static const tokenkeep_derivation derivation = {"password", 8, "salt of 16 bytes", 16, 1, 65536};
static unsigned char derived[TOKENKEEP_DERIVED_LENGTH];

static int derive(void) {
    return tokenkeep_derive(&derivation, CHECK_PATIENCE_MS, NULL, NULL, derived);
}

/* The first look is before the derivation has begun, each other while it runs. */
static int is_cancelled_while_it_runs(const void *data) {
    int *looks = (int *)(uintptr_t)data;
    return (*looks)++ > 0;
}

/* Gives a derivation up that would last seconds. 0 if it was given up. */
static int abandon(void) {
    tokenkeep_derivation longer = derivation;
    int looks = 0;
    longer.passes = 32;
    return tokenkeep_derive(&longer, CHECK_PATIENCE_MS, is_cancelled_while_it_runs, &looks, derived) !=
           ETIMEDOUT;
}

static int in_child(void) {
    int status = 0;
    for (int i = 0; i < 4; i++)
        if (abandon() != 0)
            return 1;
    if (tokenkeep_abandoned_derivations() != 4)
        return 1;
    pid_t child = fork();
    if (child == 0) {
        alarm(CHECK_PATIENCE_S);
        _exit(derive() != 0 || tokenkeep_abandoned_derivations() != 0);
    }
    return waitpid(child, &status, 0) != child || status != 0;
}

int main(int count, char **arguments) {
    const char *mode = count > 1 ? arguments[1] : "";
    if (strcmp(mode, "fork") == 0)
        return in_child();
    refuses = strcmp(mode, "refused") == 0;
    needs_large_stack = strcmp(mode, "small") == 0;
    return derive() != (refuses ? EAGAIN : 0);
}
