#define _GNU_SOURCE
#include "tools.h"

#include "../CSystemShims/include/CSystemShims.h"
#include "timers.h"

#include <errno.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <systemd/sd-bus.h>
#include <unistd.h>

#define SERVICE "org.freedesktop.login1"
#define SESSION "org.freedesktop.login1.Session"
/* Exit codes, the same as those of tokenkeep, and as those of a shell for a program that cannot be run. */
enum { UNAVAILABLE = 4, CANNOT_RUN = 126, NOT_FOUND = 127 };
/* The time, in seconds, within which the desktop must lock the screen after the request. */
#define LOCKING_S 10
/* The time limit of the whole trial, in seconds, in case a bus hangs. */
#define TRIAL_S  30
#define AGENT_MS 500
#define POLL_US  100000

extern char **environ;

/* A connection to login1 and the path of the caller's session there. Each call ends within AGENT_CALL_S. */
static int open_session(sd_bus **bus, char path[160]) {
    int error = sd_bus_open_system(bus);
    if (error < 0)
        return error;
    (void)sd_bus_set_method_call_timeout(*bus, AGENT_CALL_S * SECOND_US);
    const char *id = getenv("XDG_SESSION_ID"), *found = NULL;
    sd_bus_message *reply = NULL;
    strcpy(path, "/org/freedesktop/login1/session/auto");
    if (id != NULL &&
        sd_bus_call_method(*bus, SERVICE, "/org/freedesktop/login1", SERVICE ".Manager", "GetSession", NULL,
                           &reply, "s", id) >= 0 &&
        sd_bus_message_read(reply, "o", &found) >= 0 && strlen(found) < 160)
        strcpy(path, found);
    sd_bus_message_unref(reply);
    return 0;
}

static int set_hint(bool is_locked) {
    sd_bus *bus = NULL;
    char path[160];
    int error = open_session(&bus, path);
    if (error >= 0)
        error =
            sd_bus_call_method(bus, SERVICE, path, SESSION, "SetLockedHint", NULL, NULL, "b", (int)is_locked);
    sd_bus_flush_close_unref(bus);
    if (error < 0)
        fprintf(stderr, "tokenkeep: login1 does not take the hint that the screen is %s: %s\n",
                is_locked ? "locked" : "open", strerror(-error));
    return error;
}

int tool_locker(char *const command[]) {
    /* Start the locker before any call on the bus, because a bus that hangs must not leave the screen
     * unlocked. The locker inherits everything, so posix_spawnp needs no options. */
    pid_t process;
    int error = posix_spawnp(&process, command[0], NULL, NULL, command, environ);
    if (error != 0) {
        fprintf(stderr, "tokenkeep: %s cannot be run: %s\n", command[0], strerror(error));
        return error == ENOENT ? NOT_FOUND : CANNOT_RUN;
    }
    (void)set_hint(true);
    int status;
    while (waitpid(process, &status, 0) < 0) {
        if (errno != EINTR)
            return UNAVAILABLE;
    }
    /* Clear the hint only if the locker succeeded, because a locker that failed has not unlocked the
     * screen. */
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
        return set_hint(false) < 0 ? UNAVAILABLE : 0;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/* The word of the agent's lock source; empty if no agent answers. */
static void ask_agent(char word[64]) {
    static const uint8_t request[] = {'T', 'K', 'A', '1', 1};
    uint8_t reply[64];
    size_t length = 0;
    word[0] = '\0';
    if (tokenkeep_agent_ask(request, sizeof request, AGENT_MS, reply, sizeof reply, &length) != 0 ||
        length < 9)
        return;
    memcpy(word, reply + 9, length - 9);
    word[length - 9] = '\0';
}

static const char advice[] =
    "tokenkeep: no locker told login1 or a screensaver service that it locked the screen\n"
    "hint: let the locker run by tokenkeep, which tells login1:\n"
    "  sway, swayidle:  swayidle -w lock 'tokenkeep lock --screen -- swaylock'\n"
    "  Hyprland:        lock_cmd = tokenkeep lock --screen -- hyprlock   (hypridle.conf)\n"
    "  i3, xss-lock:    xss-lock -- tokenkeep lock --screen -- i3lock -n\n"
    "then try again: tokenkeep agent test-lock\n";

int tool_test_lock(void) {
    char word[64], path[160];
    (void)alarm(TRIAL_S);
    ask_agent(word);
    if (word[0] == '\0') {
        fprintf(stderr, "tokenkeep: no agent answers\nhint: start it: systemctl --user start "
                        "tokenkeep-agent.socket, or tokenkeep agent run\n");
        return UNAVAILABLE;
    }
    if (strcmp(word, "nameless") == 0) {
        fprintf(stderr, "tokenkeep: this desktop has no name, under which its lock could be noted\n"
                        "hint: give pam_systemd.so the option desktop=NAME, and log in again\n");
        return UNAVAILABLE;
    }
    sd_bus *bus = NULL;
    int error = open_session(&bus, path);
    if (error >= 0)
        error = sd_bus_call_method(bus, SERVICE, path, SESSION, "Lock", NULL, NULL, NULL);
    sd_bus_flush_close_unref(bus);
    if (error < 0) {
        fprintf(stderr, "tokenkeep: login1 does not lock this session: %s\n", strerror(-error));
        return UNAVAILABLE;
    }
    for (uint64_t end = boot_now() + LOCKING_S * SECOND_US; boot_now() < end; (void)usleep(POLL_US)) {
        ask_agent(word);
        if (strcmp(word, "hint") == 0 || strcmp(word, "active") == 0) {
            printf("the agent saw the lock by %s\n",
                   word[0] == 'h' ? "login1's LockedHint" : "a screensaver service");
            return 0;
        }
    }
    fputs(advice, stderr);
    return UNAVAILABLE;
}
