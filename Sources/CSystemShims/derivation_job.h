/* One run of Argon2id on a thread of its own. */
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
    /* Called at the end of the thread's work, on the thread. */
    void (*on_finish)(struct derivation_job *job, int error);
    /* The rest belongs to derivation.c, which guards it with its mutex. */
    int error;
    int is_finished;
    int is_abandoned;
    struct derivation_job *next;
};

/* Copies the derivation and starts its thread. 0, or an errno. */
int tokenkeep_derivation_job_start(const tokenkeep_derivation *derivation,
                                   void (*on_finish)(struct derivation_job *job, int error),
                                   struct derivation_job **job);

/* Waits for the thread, which has called on_finish, and frees everything that the job had. */
void tokenkeep_derivation_job_end(struct derivation_job *job);

#endif
