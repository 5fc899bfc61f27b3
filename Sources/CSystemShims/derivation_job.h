/* One run of Argon2id on its own thread. */
#ifndef TOKENKEEP_DERIVATION_JOB_H
#define TOKENKEEP_DERIVATION_JOB_H

#include "derivation_memory.h"

#include <pthread.h>

struct derivation_job {
    struct derivation_memory memory;
    size_t password_length;
    size_t salt_length;
    uint32_t passes;
    uint32_t memory_kib;
    pthread_t thread;
    /* Called on the thread, as its last action. */
    void (*on_finish)(struct derivation_job *job, int error);
    /* The remaining fields belong to derivation.c, whose mutex guards them. */
    int error;
    int is_finished;
    int is_abandoned;
    struct derivation_job *next;
};

/* Copies the derivation and starts its thread. 0, or an errno. */
int tokenkeep_derivation_job_start(const tokenkeep_derivation *derivation,
                                   void (*on_finish)(struct derivation_job *job, int error),
                                   struct derivation_job **job);

/* Joins the thread, which has called on_finish, and frees the job. */
void tokenkeep_derivation_job_end(struct derivation_job *job);

#endif
