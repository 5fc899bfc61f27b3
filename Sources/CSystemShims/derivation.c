#define _GNU_SOURCE
#include "CSystemShims.h"
#include "waiting.h"
#include "derivation_job.h"
#include "fork_handlers.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>

/* Argon2id cannot be interrupted. So a thread derives, and the caller waits for the thread. A caller that
 * gives up abandons the job; a later derivation frees it. */

enum { MAXIMUM_ABANDONED = 4 };

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t finished = PTHREAD_COND_INITIALIZER;
static struct derivation_job *abandoned;
static int abandoned_count;

void tokenkeep_derivations_before_fork(void) {
    pthread_mutex_lock(&mutex);
}

void tokenkeep_derivations_after_fork_in_parent(void) {
    pthread_mutex_unlock(&mutex);
}

/* Forgets the jobs, because their threads do not exist in the child. */
void tokenkeep_derivations_after_fork_in_child(void) {
    abandoned = NULL;
    abandoned_count = 0;
    finished = (pthread_cond_t)PTHREAD_COND_INITIALIZER;
    pthread_mutex_unlock(&mutex);
}

/* Runs on the job's thread. The job may be freed as soon as the mutex is released. */
static void note_finish(struct derivation_job *job, int error) {
    pthread_mutex_lock(&mutex);
    if (job->is_abandoned)
        explicit_bzero(job->memory.secrets, sizeof *job->memory.secrets);
    job->error = error;
    job->is_finished = 1;
    pthread_cond_broadcast(&finished);
    pthread_mutex_unlock(&mutex);
}

/* Frees the abandoned jobs that have finished. The caller must hold the mutex. */
static void free_finished(void) {
    struct derivation_job **place = &abandoned;
    while (*place != NULL) {
        struct derivation_job *job = *place;
        if (!job->is_finished) {
            place = &job->next;
            continue;
        }
        *place = job->next;
        abandoned_count--;
        tokenkeep_derivation_job_end(job);
    }
}

/* Waits while too many abandoned jobs run. Returns 0 or ETIMEDOUT. */
static int wait_for_room(const struct tokenkeep_limit *limit) {
    pthread_mutex_lock(&mutex);
    free_finished();
    while (abandoned_count >= MAXIMUM_ABANDONED && !tokenkeep_is_over(limit)) {
        tokenkeep_condition_wait_a_while(&finished, &mutex, limit);
        free_finished();
    }
    int error = abandoned_count < MAXIMUM_ABANDONED && !tokenkeep_is_over(limit) ? 0 : ETIMEDOUT;
    pthread_mutex_unlock(&mutex);
    return error;
}

/* Waits for the job. Returns whether the job finished in time; otherwise abandons the job. */
static int finishes(struct derivation_job *job, const struct tokenkeep_limit *limit) {
    pthread_mutex_lock(&mutex);
    while (!job->is_finished && !tokenkeep_is_over(limit))
        tokenkeep_condition_wait_a_while(&finished, &mutex, limit);
    int is_finished = job->is_finished;
    if (!is_finished) {
        job->is_abandoned = 1;
        job->next = abandoned;
        abandoned = job;
        abandoned_count++;
    }
    pthread_mutex_unlock(&mutex);
    return is_finished;
}

int tokenkeep_derive(const tokenkeep_derivation *derivation, uint32_t timeout_ms,
                     tokenkeep_is_cancelled is_cancelled, const void *data, void *derived) {
    const struct tokenkeep_limit limit = {tokenkeep_deadline_after(timeout_ms), is_cancelled, data};
    struct derivation_job *job = NULL;
    if (derivation->password_length > TOKENKEEP_LONGEST_PASSWORD ||
        derivation->salt_length > TOKENKEEP_LONGEST_SALT)
        return EINVAL;
    int error = wait_for_room(&limit);
    if (error == 0)
        error = tokenkeep_derivation_job_start(derivation, note_finish, &job);
    if (error != 0)
        return error;
    if (!finishes(job, &limit))
        return ETIMEDOUT;
    error = job->error;
    if (error == 0)
        tokenkeep_copy_bytewise(derived, job->memory.secrets->derived, TOKENKEEP_DERIVED_LENGTH);
    tokenkeep_derivation_job_end(job);
    return error;
}

int tokenkeep_abandoned_derivations(void) {
    pthread_mutex_lock(&mutex);
    free_finished();
    int count = abandoned_count;
    pthread_mutex_unlock(&mutex);
    return count;
}
