#define _GNU_SOURCE
#include "CSystemShims.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#ifndef TOKENKEEP_MODULE_DIRECTORY
#define TOKENKEEP_MODULE_DIRECTORY "/usr/local/lib/tokenkeep/modules"
#endif

const char *tokenkeep_module_directory(void) {
    return TOKENKEEP_MODULE_DIRECTORY;
}

/* Above the standard descriptors: a program that was started without them has their numbers free. */
static int make_pipe(int ends[2]) {
    if (pipe2(ends, O_CLOEXEC) != 0)
        return errno;
    for (int i = 0; i < 2; i++) {
        if (ends[i] > 2)
            continue;
        int higher = fcntl(ends[i], F_DUPFD_CLOEXEC, 3);
        int error = errno;
        close(ends[i]);
        if (higher < 0) {
            close(ends[1 - i]);
            return error;
        }
        ends[i] = higher;
    }
    return 0;
}

static int prepare(posix_spawn_file_actions_t *actions, posix_spawnattr_t *attributes, int input, int output,
                   int shows_errors) {
    sigset_t none, all;
    sigemptyset(&none);
    sigfillset(&all);
    int error = posix_spawn_file_actions_adddup2(actions, input, 0);
    if (error == 0)
        error = posix_spawn_file_actions_adddup2(actions, output, 1);
    if (error == 0 && !shows_errors)
        error = posix_spawn_file_actions_addopen(actions, 2, "/dev/null", O_WRONLY, 0);
    if (error == 0)
        error = posix_spawn_file_actions_addchdir_np(actions, "/");
#if defined(__GLIBC_PREREQ)
#if __GLIBC_PREREQ(2, 34)
    if (error == 0)
        error = posix_spawn_file_actions_addclosefrom_np(actions, 3);
#endif
#endif
    if (error == 0)
        error = posix_spawnattr_setpgroup(attributes, 0);
    if (error == 0)
        error = posix_spawnattr_setsigmask(attributes, &none);
    if (error == 0)
        error = posix_spawnattr_setsigdefault(attributes, &all);
    if (error == 0)
        error = posix_spawnattr_setflags(attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK |
                                                         POSIX_SPAWN_SETSIGDEF);
    return error;
}

int tokenkeep_program_start(const char *path, char *const environment[], int shows_errors,
                            tokenkeep_program *program) {
    int input[2], output[2];
    int error = make_pipe(input);
    if (error != 0)
        return error;
    error = make_pipe(output);
    if (error != 0) {
        close(input[0]);
        close(input[1]);
        return error;
    }
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    posix_spawn_file_actions_init(&actions);
    posix_spawnattr_init(&attributes);
    error = prepare(&actions, &attributes, input[0], output[1], shows_errors);
    char *const arguments[] = {(char *)path, NULL};
    if (error == 0)
        error = posix_spawn(&program->process, path, &actions, &attributes, arguments, environment);
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
    close(input[0]);
    close(output[1]);
    program->input = input[1];
    program->output = output[0];
    if (error == 0 &&
        (fcntl(input[1], F_SETFL, O_NONBLOCK) != 0 || fcntl(output[0], F_SETFL, O_NONBLOCK) != 0))
        error = errno;
    if (error != 0) {
        close(input[1]);
        close(output[0]);
    }
    return error;
}

int tokenkeep_program_wait(pid_t process, uint32_t timeout_ms, int *status) {
    struct timespec end;
    clock_gettime(CLOCK_MONOTONIC, &end);
    end.tv_sec += timeout_ms / 1000;
    end.tv_nsec += (long)(timeout_ms % 1000) * 1000000;
    long pause = 50000; /* doubled up to 4 ms: a program that is done ends at once */
    for (;;) {
        pid_t found = waitpid(process, status, WNOHANG);
        if (found == process)
            return 0;
        if (found < 0 && errno != EINTR)
            return errno; /* ECHILD: somebody else of this process waited for it */
        struct timespec now;
        clock_gettime(CLOCK_MONOTONIC, &now);
        if ((now.tv_sec - end.tv_sec) * 1000000000L + now.tv_nsec - end.tv_nsec >= 0)
            return ETIMEDOUT;
        struct timespec rest = {0, pause};
        nanosleep(&rest, NULL);
        if (pause < 4000000)
            pause *= 2;
    }
}

void tokenkeep_program_kill(pid_t process) {
    siginfo_t end;
    int status;
    /* As long as nobody took note of its end, its number and that of its group can be nobody else's. */
    if (waitid(P_PID, (id_t)process, &end, WEXITED | WNOHANG | WNOWAIT) == 0) {
        kill(-process, SIGKILL);
        (void)tokenkeep_program_wait(process, 1000, &status);
    }
}
