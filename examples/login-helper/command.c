#define _GNU_SOURCE
#include "command.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#ifndef PATIENCE_US
#define PATIENCE_US 5000000
#endif

extern char **environ;

static void stop_feeding(struct command *command) {
    if (command->item == NULL)
        return;
    command->feeding = sd_event_source_disable_unref(command->feeding);
    close(command->input);
    tokenkeep_item_free(command->item);
    command->item = NULL;
}

/* A command need not read its input: a pipe without a reader is no failure. */
static int on_writable(sd_event_source *source, int descriptor, uint32_t events, void *data) {
    (void)source, (void)events;
    struct command *command = data;
    size_t length;
    const char *bytes = tokenkeep_item_secret(command->item, &length);
    ssize_t count = write(descriptor, bytes + command->written, length - command->written);
    if (count > 0)
        command->written += (size_t)count;
    if (command->written == length || (count < 0 && errno != EAGAIN && errno != EINTR))
        stop_feeding(command);
    return 0;
}

static int on_patience(sd_event_source *source, uint64_t time, void *data) {
    (void)source, (void)time;
    struct command *command = data;
    if (command->process > 0)
        kill(-command->process, SIGKILL);
    return 0;
}

static int on_exit(sd_event_source *source, const siginfo_t *info, void *data) {
    (void)source;
    struct command *command = data;
    int code = info->si_code == CLD_EXITED ? info->si_status : 128 + info->si_status;
    command->process = 0;
    command->child = sd_event_source_disable_unref(command->child);
    command->ending = sd_event_source_disable_unref(command->ending);
    stop_feeding(command);
    command->ended(command->data, code);
    return 0;
}

static int spawn(struct command *command, char **words, int input) {
    sigset_t none, all;
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigemptyset(&none);
    sigfillset(&all);
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setsigdefault(&attributes, &all);
    posix_spawnattr_setflags(&attributes,
                             POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, input, STDIN_FILENO);
    int error = posix_spawnp(&command->process, words[0], &actions, &attributes, words, environ);
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
    return error;
}

/* Watches the process and its input. A process that cannot be watched is killed. */
static int watch(struct command *command) {
    int error =
        sd_event_add_io(command->event, &command->feeding, command->input, EPOLLOUT, on_writable, command);
    if (error >= 0)
        error =
            sd_event_add_child(command->event, &command->child, command->process, WEXITED, on_exit, command);
    if (error >= 0)
        return 0;
    kill(-command->process, SIGKILL);
    waitpid(command->process, NULL, 0);
    return -error;
}

int command_start(struct command *command, sd_event *event, char **words, tokenkeep_item *item) {
    int ends[2], error = 0;
    command->process = 0;
    command->event = event;
    if (pipe2(ends, O_CLOEXEC) != 0) {
        error = errno;
        tokenkeep_item_free(item);
        return error;
    }
    command->item = item;
    command->input = ends[1];
    command->written = 0;
    error = spawn(command, words, ends[0]);
    close(ends[0]);
    if (error == 0) {
        fcntl(ends[1], F_SETFL, O_NONBLOCK);
        error = watch(command);
    }
    if (error != 0) {
        command->process = 0;
        stop_feeding(command);
    }
    return error;
}

void command_stop(struct command *command) {
    if (command->process <= 0 || command->ending != NULL)
        return;
    kill(-command->process, SIGTERM);
    /* One that is stopped could not end. */
    kill(-command->process, SIGCONT);
    if (sd_event_add_time_relative(command->event, &command->ending, CLOCK_MONOTONIC, PATIENCE_US, 0,
                                   on_patience, command) < 0)
        kill(-command->process, SIGKILL);
}
