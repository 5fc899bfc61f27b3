/* tokenkeep-agent: holds the class keys of levels that the screen's lock ends (docs/screen-lock.md). */
#define _GNU_SOURCE
#include "agent.h"
#include "listener.h"
#include "timers.h"
#include "tools.h"

#include "../CSystemShims/include/CSystemShims.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/timerfd.h>
#include <systemd/sd-daemon.h>
#include <unistd.h>

/* Exit codes, the same as those of tokenkeep. */
enum { EXIT_USAGE = 2, EXIT_UNAVAILABLE = 4 };

static int fault(const char *what, int error) {
    fprintf(stderr, "tokenkeep-agent: %s: %s\n", what, strerror(error));
    return EXIT_UNAVAILABLE;
}

static int on_start_over(sd_event_source *source, uint64_t time, void *data) {
    (void)source, (void)time;
    ((struct agent *)data)->facts.is_start_over = true;
    return 0;
}

static int on_renewal(sd_event_source *source, uint64_t time, void *data) {
    (void)source, (void)time;
    facts_tell(&((struct agent *)data)->facts, EVENT_RENEWAL, WORD_NO_LOCK);
    return 0;
}

/* Handles the end of a waiting key's time. Does nothing itself: the next step sees in the facts that the time
 * has passed. */
static int on_waited(sd_event_source *source, uint64_t time, void *data) {
    (void)source, (void)time, (void)data;
    return 0;
}

static int on_sync(sd_event_source *source, uint64_t time, void *data) {
    (void)source, (void)time;
    facts_tell(&((struct agent *)data)->facts, EVENT_SYNC, WORD_NO_LOCK);
    return 0;
}

/* A timer that never fires: the kernel cancels it when the wall clock is set. */
static int arm_clock(int timer) {
    struct itimerspec never = {.it_value.tv_sec = 0x7fffffff};
    return timerfd_settime(timer, TFD_TIMER_ABSTIME | TFD_TIMER_CANCEL_ON_SET, &never, NULL);
}

static int on_clock_set(sd_event_source *source, int timer, uint32_t events, void *data) {
    (void)source, (void)events;
    /* Arming the timer again also clears its event. */
    (void)arm_clock(timer);
    facts_tell(&((struct agent *)data)->facts, EVENT_CLOCK_SET, WORD_NO_LOCK);
    return 0;
}

static int watch_clock(struct agent *agent) {
    int timer = timerfd_create(CLOCK_REALTIME, TFD_NONBLOCK | TFD_CLOEXEC);
    if (timer < 0 || arm_clock(timer) < 0)
        return -errno;
    return sd_event_add_io(agent->event, NULL, timer, EPOLLIN, on_clock_set, agent);
}

/* Follows the facts after each event of a source. */
static int on_facts(sd_event_source *source, void *data) {
    (void)source;
    agent_follow_facts(data);
    return 0;
}

static int watch_facts(struct agent *agent) {
    sd_event_source *step = NULL;
    int error = sd_event_add_post(agent->event, &step, on_facts, agent);
    if (error >= 0)
        error = sd_event_source_set_priority(step, PRIORITY_STEP);
    if (error >= 0)
        error = sd_event_source_set_floating(step, 1);
    sd_event_source_unref(step);
    return error;
}

/* Keeps the memory out of core dumps, and prevents the user's other programs from reading it. */
static int protect_memory(struct agent *agent) {
    struct rlimit none = {0, 0};
    if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0 || setrlimit(RLIMIT_CORE, &none) < 0)
        return errno;
    bool is_locked = false;
    agent->keys = held_keys_make(&is_locked);
    if (agent->keys == NULL)
        return errno;
    agent->facts.keys = agent->keys->entries;
    agent->facts.proofs = &agent->proofs;
    agent->requests.buffer = agent->keys->request;
    agent->requests.buffer_size = sizeof agent->keys->request;
    if (!is_locked)
        fprintf(stderr,
                "tokenkeep-agent: warning: the limit of locked memory is too low: keys may be swapped\n"
                "hint: raise it (LimitMEMLOCK=, ulimit -l), or encrypt the swap space\n");
    return 0;
}

static int end_by_signals(struct agent *agent) {
    static const int ends[] = {SIGTERM, SIGINT, SIGHUP};
    int error = 0;
    sigset_t signals;
    (void)sigemptyset(&signals);
    for (size_t index = 0; index < sizeof ends / sizeof ends[0]; index++)
        (void)sigaddset(&signals, ends[index]);
    (void)sigprocmask(SIG_BLOCK, &signals, NULL);
    for (size_t index = 0; error >= 0 && index < sizeof ends / sizeof ends[0]; index++)
        error = sd_event_add_signal(agent->event, NULL, ends[index], NULL, NULL);
    return error;
}

static int add_timers(struct agent *agent) {
    int error = timer_add(agent->event, &agent->renewal, SECOND_US, on_renewal, agent);
    if (error >= 0)
        error = timer_add(agent->event, &agent->waiting, SECOND_US, on_waited, agent);
    if (error >= 0)
        error = timer_add(agent->event, &agent->sync, SECOND_US, on_sync, agent);
    if (error >= 0)
        error = timer_add(agent->event, &agent->start, SECOND_US / 100, on_start_over, agent);
    if (error >= 0)
        error = timer_arm(agent->start, boot_now() + AGENT_START_MS * SECOND_US / 1000);
    return error;
}

static int run_loop(struct agent *agent) {
    struct facts *facts = &agent->facts;
    int error = sd_event_new(&agent->event);
    if (error >= 0)
        error = end_by_signals(agent);
    if (error >= 0)
        error = add_timers(agent);
    if (error >= 0)
        error = watch_clock(agent);
    if (error >= 0)
        error = watch_facts(agent);
    if (error >= 0)
        error = login1_start(&agent->login1, facts, agent->event);
    if (error < 0)
        return error;
    agent->requests.facts = facts;
    agent->requests.event = agent->event;
    (void)sd_watchdog_enabled(0, &facts->watchdog_us);
    proofs_read(&agent->proofs);
    session_bus_connect(&agent->session_bus, facts, agent->event);
    agent_follow_facts(agent);
    return sd_event_loop(agent->event);
}

static int serve(void) {
    static struct agent agent;
    if (tokenkeep_is_in_user_namespace())
        return fault("a user namespace has a keyring of its own", EPERM);
    int error = protect_memory(&agent);
    if (error != 0)
        return fault("the memory for keys cannot be locked; raise the limit that ulimit -l shows", error);
    error = agent.requests.listener = listener_open();
    if (error == -EWOULDBLOCK)
        return fault("another agent of this user runs", -error);
    if (error < 0)
        return fault("the socket in XDG_RUNTIME_DIR cannot be made", -error);
    held_keys_begin();
    error = run_loop(&agent);
    held_keys_drop_all(agent.keys);
    requests_end(&agent.requests);
    session_bus_end(&agent.session_bus);
    login1_end(&agent.login1);
    sd_event_unref(agent.event);
    return error < 0 ? fault("the event loop failed", -error) : EXIT_SUCCESS;
}

int main(int count, char *arguments[]) {
    if (count == 1)
        return serve();
    if (count == 2 && strcmp(arguments[1], "test-lock") == 0)
        return tool_test_lock();
    if (count > 3 && strcmp(arguments[1], "locker") == 0 && strcmp(arguments[2], "--") == 0)
        return tool_locker(arguments + 3);
    fprintf(stderr, "usage: tokenkeep-agent [test-lock | locker -- LOCKER…]\n");
    return EXIT_USAGE;
}
