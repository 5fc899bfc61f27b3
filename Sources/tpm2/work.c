#define _GNU_SOURCE
#include "work.h"

#include "device.h"
#include "indices.h"
#include "sealing.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/random.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

/* The pauses between attempts, while the TPM reports temporary failures. */
#define FIRST_PAUSE_MS 5
#define LAST_PAUSE_MS  100
#define LONG_WAIT_MS   500

/* The reply that the timer's handler sends when the TPM does not answer in time. */
static struct reply silence;
static int silence_descriptor = -1;

static void on_alarm(int signal) {
    (void)signal;
    ssize_t count = write(silence_descriptor, silence.bytes, silence.length);
    _exit(count == (ssize_t)silence.length ? 0 : 4);
}

static bool start_timer(int descriptor, unsigned budget_ms) {
    reply_begin(&silence, REASON_SILENT, 0);
    silence_descriptor = descriptor;
    struct sigaction action = {.sa_handler = on_alarm};
    struct itimerval budget = {.it_value = {budget_ms / 1000, (suseconds_t)(budget_ms % 1000) * 1000}};
    return sigaction(SIGALRM, &action, NULL) == 0 && setitimer(ITIMER_REAL, &budget, NULL) == 0;
}

static void stop_timer(void) {
    (void)setitimer(ITIMER_REAL, &(struct itimerval){0}, NULL);
}

static unsigned timer_rest_ms(void) {
    struct itimerval rest;
    if (getitimer(ITIMER_REAL, &rest) != 0)
        return 0;
    return (unsigned)(rest.it_value.tv_sec * 1000 + rest.it_value.tv_usec / 1000);
}

/* Sends a reply by one write: a reply is one message of a socket, and short enough for a pipe. */
static bool send_reply(int descriptor, const struct reply *reply) {
    ssize_t count;
    do
        count = write(descriptor, reply->bytes, reply->length);
    while (count < 0 && errno == EINTR);
    return count == (ssize_t)reply->length;
}

static struct outcome add_info(struct device *device, const struct request *request, struct reply *reply) {
    struct outcome outcome = device_find_primary(device, request->name);
    uint8_t flags =
        (uint8_t)((device->is_primary_transient ? 0 : 1) | (device->is_srk_of_another_kind ? 2 : 0));
    if (outcome.reason == REASON_NONE)
        (void)(reply_add(reply, &flags, 1) && reply_add(reply, device->name, NAME_LENGTH));
    return outcome;
}

static struct outcome dispatch(struct device *device, const struct request *request, uid_t uid,
                               struct reply *reply) {
    switch (request->operation) {
    case OPERATION_INFO:
        return add_info(device, request, reply);
    case OPERATION_LIST:
        return indices_list(device, uid, reply);
    default:
        break;
    }
    struct outcome outcome = device_begin(device, request->name);
    if (outcome.reason != REASON_NONE)
        return outcome;
    switch (request->operation) {
    case OPERATION_SEAL:
        return sealing_seal(device, request, uid, reply);
    case OPERATION_UNSEAL:
        return sealing_unseal(device, request, uid, reply);
    case OPERATION_MAKE:
        return indices_make(device, request, uid, reply);
    case OPERATION_READ:
        return indices_read(device, request, uid, reply);
    case OPERATION_DESTROY:
        return indices_destroy(device, request, uid);
    case OPERATION_WRITE:
        return indices_write(device, request, uid);
    default:
        return outcome_for(REASON_REQUEST);
    }
}

/* The state of the attempts at one request. */
struct attempts {
    unsigned budget_ms, pause_ms;
    unsigned waits_since_ms; /* what was left of the budget when the wait for memory began */
    bool was_refused;
};

/* Waits a random time before the next attempt, so that two processes that fill the TPM's memory at the same
 * time do not collide again. False if too little of the budget is left. */
static bool pause_within_budget(struct attempts *attempts) {
    if (timer_rest_ms() <= 2 * attempts->pause_ms)
        return false;
    uint16_t random = 0;
    if (getrandom(&random, sizeof random, GRND_NONBLOCK) < 0)
        random = UINT16_MAX / 2;
    long pause_us = 1000L * attempts->pause_ms;
    struct timespec pause = {0, 1000 * (pause_us / 2 + pause_us * random / UINT16_MAX)};
    (void)nanosleep(&pause, NULL);
    attempts->pause_ms = attempts->pause_ms * 2 < LAST_PAUSE_MS ? attempts->pause_ms * 2 : LAST_PAUSE_MS;
    return true;
}

static bool is_refusal(const struct outcome *outcome) {
    return outcome->reason == REASON_AUTH || outcome->reason == REASON_REFUSED;
}

/* Whether the same request may succeed in another attempt. A TPM without a resource manager may have given
 * this request's handle to another process, whose object has another authValue: a refusal counts if it comes
 * twice in a row, the second time after a long pause, in which the processes that flush each other's objects
 * have gone on. */
static bool may_succeed(struct attempts *attempts, const struct outcome *outcome) {
    bool was_refused = attempts->was_refused;
    attempts->was_refused = is_refusal(outcome);
    if (!attempts->was_refused || was_refused)
        return outcome->is_temporary;
    attempts->pause_ms = LAST_PAUSE_MS;
    return true;
}

/* Whether the processes whose objects fill the TPM's memory have probably ended without flushing them: a
 * running process needs the memory for milliseconds only. If a flush made too little room, the wait begins
 * anew: the objects may have been those of running processes. */
static bool has_waited_long(const struct attempts *attempts) {
    unsigned long_ms = attempts->budget_ms / 2 < LONG_WAIT_MS ? attempts->budget_ms / 2 : LONG_WAIT_MS;
    return attempts->waits_since_ms - timer_rest_ms() >= long_ms;
}

/* Repeats the request until it succeeds, fails for good, or the budget ends. Each attempt begins anew with
 * its own session, and uses nothing of an earlier attempt. */
static struct outcome attempt_until_done(struct device *device, const struct request *request, uid_t uid,
                                         struct reply *reply) {
    struct attempts attempts = {
        .budget_ms = request->budget_ms, .pause_ms = FIRST_PAUSE_MS, .waits_since_ms = request->budget_ms};
    for (;;) {
        reply_begin(reply, REASON_NONE, 0);
        struct outcome outcome = dispatch(device, request, uid, reply);
        device_end(device);
        if (!may_succeed(&attempts, &outcome))
            return outcome;
        if (!pause_within_budget(&attempts)) {
            /* A refusal that came once may have been meant for another process. */
            if (is_refusal(&outcome))
                outcome.reason = REASON_BUSY;
            return outcome;
        }
        if (outcome.lacks_memory && has_waited_long(&attempts)) {
            device_flush_remains(device);
            attempts.waits_since_ms = timer_rest_ms();
        }
    }
}

static enum reason work(const struct request *request, uid_t uid, const char *tcti, struct reply *reply) {
    struct device device;
    struct outcome outcome = device_open(&device, tcti);
    char maker[MAKER_MAX];
    size_t maker_length = 0;
    if (outcome.reason == REASON_NONE) {
        outcome = attempt_until_done(&device, request, uid, reply);
        if (request->operation == OPERATION_INFO)
            maker_length = device_maker(&device, maker);
        device_close(&device);
    }
    if (outcome.reason != REASON_NONE)
        reply_begin(reply, outcome.reason, outcome.code);
    (void)reply_add(reply, maker, maker_length);
    return outcome.reason;
}

bool work_refuse(int descriptor, enum reason reason) {
    struct reply reply;
    reply_begin(&reply, reason, 0);
    return send_reply(descriptor, &reply);
}

bool work_on(uint8_t *message, size_t length, uid_t uid, const char *tcti, int descriptor,
             enum reason *reason) {
    struct request request;
    static struct reply reply;
    *reason = REASON_REQUEST;
    if (request_read(message, length, &request) && start_timer(descriptor, request.budget_ms))
        *reason = work(&request, uid, tcti, &reply);
    else
        reply_begin(&reply, REASON_REQUEST, 0);
    stop_timer();
    bool is_sent = send_reply(descriptor, &reply);
    explicit_bzero(message, length);
    explicit_bzero(&reply, sizeof reply);
    return is_sent;
}
