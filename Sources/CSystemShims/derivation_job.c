#define _GNU_SOURCE
#include "derivation_job.h"

#include <argon2.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

/* A host's thread-local variables lie on the stack too. If they need more than STACK, the thread gets
 * LARGE_STACK. */
enum { STACK = 256 * 1024, LARGE_STACK = 8 * 1024 * 1024 };

/* The stack space, in bytes, that explicit_bzero needs below this frame, and that is therefore not wiped.
 * libargon2's own blocks lie deeper in the stack. */
enum { WIPING_FRAME = 1024 };

static int argon2id(struct derivation_job *job) {
    struct derivation_secrets *secrets = job->memory.secrets;
    argon2_context context = {
        .out = secrets->derived,
        .outlen = sizeof secrets->derived,
        .pwd = secrets->password,
        .pwdlen = (uint32_t)job->password_length,
        .salt = secrets->salt,
        .saltlen = (uint32_t)job->salt_length,
        .t_cost = job->passes,
        .m_cost = job->memory_kib,
        .lanes = 1,
        .threads = 1,
        .version = ARGON2_VERSION_13,
        .allocate_cbk = tokenkeep_derivation_blocks_map,
        .free_cbk = tokenkeep_derivation_blocks_unmap,
    };
    int result = argon2id_ctx(&context);
    if (result == ARGON2_MEMORY_ALLOCATION_ERROR)
        return ENOMEM;
    return result == ARGON2_OK ? 0 : EINVAL;
}

/* libargon2 wipes its blocks, but not the frames of its functions. */
__attribute__((noinline)) static void wipe_stack(const struct derivation_job *job) {
    uint8_t *end = (uint8_t *)__builtin_frame_address(0) - WIPING_FRAME;
    explicit_bzero(job->memory.stack, (size_t)(end - job->memory.stack));
}

static void *derive(void *argument) {
    struct derivation_job *job = argument;
    int error = argon2id(job);
    explicit_bzero(job->memory.secrets->password, sizeof job->memory.secrets->password);
    wipe_stack(job);
    job->on_finish(job, error);
    return NULL;
}

/* Starts the thread with all signals blocked, so that it runs no signal handler of the host. */
static int start_thread(struct derivation_job *job) {
    pthread_attr_t attributes;
    sigset_t all, previous;
    sigfillset(&all);
    pthread_attr_init(&attributes);
    int error = pthread_attr_setstack(&attributes, job->memory.stack, job->memory.stack_length);
    if (error == 0) {
        pthread_sigmask(SIG_SETMASK, &all, &previous);
        error = pthread_create(&job->thread, &attributes, derive, job);
        pthread_sigmask(SIG_SETMASK, &previous, NULL);
    }
    pthread_attr_destroy(&attributes);
    return error;
}

static int start(struct derivation_job *job, const tokenkeep_derivation *derivation, size_t stack_length) {
    int error = tokenkeep_derivation_memory_map(stack_length, &job->memory);
    if (error != 0)
        return error;
    tokenkeep_copy_bytewise(job->memory.secrets->password, derivation->password, derivation->password_length);
    tokenkeep_copy_bytewise(job->memory.secrets->salt, derivation->salt, derivation->salt_length);
    error = start_thread(job);
    if (error != 0)
        tokenkeep_derivation_memory_unmap(&job->memory);
    return error;
}

int tokenkeep_derivation_job_start(const tokenkeep_derivation *derivation,
                                   void (*on_finish)(struct derivation_job *job, int error),
                                   struct derivation_job **started) {
    struct derivation_job *job = calloc(1, sizeof *job);
    if (job == NULL)
        return ENOMEM;
    job->password_length = derivation->password_length;
    job->salt_length = derivation->salt_length;
    job->passes = derivation->passes;
    job->memory_kib = derivation->memory_kib;
    job->on_finish = on_finish;
    int error = start(job, derivation, STACK);
    if (error == EINVAL)
        error = start(job, derivation, LARGE_STACK);
    if (error != 0)
        free(job);
    else
        *started = job;
    return error;
}

void tokenkeep_derivation_job_end(struct derivation_job *job) {
    pthread_join(job->thread, NULL);
    tokenkeep_derivation_memory_unmap(&job->memory);
    free(job);
}
