/* tokenkeep-agent: holds the class keys of levels that the screen's lock ends (docs/screen-lock.md). */
#define _GNU_SOURCE
#include "agent.h"

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

/* Exit codes as those of tokenkeep. */
enum { EXIT_USAGE = 2, EXIT_UNAVAILABLE = 4 };

static int fault(const char *what, int error) {
    fprintf(stderr, "tokenkeep-agent: %s: %s\n", what, strerror(error));
    return EXIT_UNAVAILABLE;
}

static int on_start_time(sd_event_source *source, uint64_t time, void *data) {
    (void)source, (void)time;
    return requests_serve(data);
}

#ifdef TOKENKEEP_AGENT_TEST
/* The tests tell the agent of a step of the clock, and do not set the machine's. */
static int on_clock_step(sd_event_source *source, const struct signalfd_siginfo *info, void *data) {
    (void)source, (void)info;
    lock_state_clock_step(data);
    return 0;
}

static int watch_clock(struct agent *agent) {
    return sd_event_add_signal(agent->event, NULL, SIGUSR1, on_clock_step, agent);
}
#else
/* A timer that never fires: the kernel cancels it when the wall clock is set. */
static int arm_clock(int timer) {
    struct itimerspec never = {.it_value.tv_sec = 0x7fffffff};
    return timerfd_settime(timer, TFD_TIMER_ABSTIME | TFD_TIMER_CANCEL_ON_SET, &never, NULL);
}

static int on_clock_step(sd_event_source *source, int timer, uint32_t events, void *data) {
    (void)source, (void)events;
    /* Arming it anew also clears the event. */
    (void)arm_clock(timer);
    lock_state_clock_step(data);
    return 0;
}

static int watch_clock(struct agent *agent) {
    int timer = timerfd_create(CLOCK_REALTIME, TFD_NONBLOCK | TFD_CLOEXEC);
    if (timer < 0 || arm_clock(timer) < 0)
        return -errno;
    return sd_event_add_io(agent->event, NULL, timer, EPOLLIN, on_clock_step, agent);
}
#endif

/* Neither core dumps nor other programs of the user see the memory. */
static int protect_memory(struct agent *agent) {
    struct rlimit none = {0, 0};
    if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0 || setrlimit(RLIMIT_CORE, &none) < 0)
        return errno;
    bool is_locked = false;
    agent->keys = held_keys_make(&is_locked);
    if (agent->keys == NULL)
        return errno;
    if (!is_locked)
        fprintf(stderr,
                "tokenkeep-agent: warning: the limit of locked memory is too low: keys may be swapped\n"
                "hint: raise it (LimitMEMLOCK=, ulimit -l), or encrypt the swap space\n");
    return 0;
}

static int run_loop(struct agent *agent) {
    sigset_t signals;
    (void)sigemptyset(&signals);
    (void)sigaddset(&signals, SIGTERM);
    (void)sigaddset(&signals, SIGINT);
    (void)sigaddset(&signals, SIGHUP);
#ifdef TOKENKEEP_AGENT_TEST
    (void)sigaddset(&signals, SIGUSR1);
#endif
    (void)sigprocmask(SIG_BLOCK, &signals, NULL);
    (void)sd_watchdog_enabled(0, &agent->watchdog_us);
    int error = sd_event_new(&agent->event);
    for (int number = 0; error >= 0 && number < 3; number++) {
        static const int ends[] = {SIGTERM, SIGINT, SIGHUP};
        error = sd_event_add_signal(agent->event, NULL, ends[number], NULL, NULL);
    }
    if (error >= 0)
        error = lock_state_start(agent);
    if (error >= 0)
        error = draining_start(agent);
    if (error >= 0)
        error = watch_clock(agent);
    if (error >= 0)
        error = login1_start(agent);
    if (error >= 0)
        error = sd_event_add_time(agent->event, &agent->start, CLOCK_BOOTTIME,
                                  agent_now() + AGENT_START_MS * SECOND_US / 1000, SECOND_US / 100,
                                  on_start_time, agent);
    if (error < 0)
        return error;
    session_bus_start(agent);
    return sd_event_loop(agent->event);
}

static int serve(void) {
    static struct agent agent;
    if (tokenkeep_is_in_user_namespace())
        return fault("a user namespace has a keyring of its own", EPERM);
    int error = protect_memory(&agent);
    if (error != 0)
        return fault("the memory for keys cannot be locked; raise the limit that ulimit -l shows", error);
    error = requests_listen(&agent);
    if (error == -EWOULDBLOCK)
        return fault("another agent of this user runs", -error);
    if (error < 0)
        return fault("the socket in XDG_RUNTIME_DIR cannot be made", -error);
    held_keys_begin();
    error = run_loop(&agent);
    held_keys_drop_all(agent.keys);
    requests_end(&agent);
    session_bus_end(&agent);
    login1_end(&agent);
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
