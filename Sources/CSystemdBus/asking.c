#define _GNU_SOURCE
#include "CSystemdBus.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

static struct rlimit former_limit;

void tokenkeep_allow_descriptors(void) {
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
        return;
    rlim_t most = limit.rlim_max < 65536 ? limit.rlim_max : 65536;
    if (limit.rlim_cur >= most)
        return;
    struct rlimit raised = {most, limit.rlim_max};
    if (setrlimit(RLIMIT_NOFILE, &raised) == 0)
        former_limit = limit;
}

// Runs in the child: async-signal-safe calls alone.
static void become(const char *path, char *const environment[], int input, int output, pid_t parent) {
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    signal(SIGPIPE, SIG_DFL);
    setsid();
    // SIGINT: pinentry restores the terminal after it, which it does not after SIGTERM or SIGHUP.
    prctl(PR_SET_PDEATHSIG, SIGINT);
    if (getppid() != parent)
        _exit(127);
    int nothing = open("/dev/null", O_RDWR);
    if (dup2(input, 0) < 0 || dup2(output, 1) < 0 || (nothing >= 0 && dup2(nothing, 2) < 0))
        _exit(127);
    if (close_range(3, ~0U, 0) != 0)
        _exit(127);
    if (former_limit.rlim_max != 0)
        setrlimit(RLIMIT_NOFILE, &former_limit);
    if (chdir("/") != 0)
        _exit(127);
    char *arguments[] = {(char *)path, NULL};
    execve(path, arguments, environment);
    _exit(127);
}

int tokenkeep_asking_start(const char *path, char *const environment[], pid_t *process, int *input,
                           int *output) {
    int to[2];
    int from[2];
    if (pipe2(to, O_CLOEXEC) != 0)
        return errno;
    if (pipe2(from, O_CLOEXEC) != 0) {
        int error = errno;
        close(to[0]);
        close(to[1]);
        return error;
    }
    pid_t parent = getpid();
    pid_t child = fork();
    if (child == 0)
        become(path, environment, to[0], from[1], parent);
    int error = child < 0 ? errno : 0;
    close(to[0]);
    close(from[1]);
    if (error != 0) {
        close(to[1]);
        close(from[0]);
        return error;
    }
    *process = child;
    *input = to[1];
    *output = from[0];
    return 0;
}

int tokenkeep_is_same_file(const char *path, const char *other) {
    struct stat one;
    struct stat two;
    return stat(path, &one) == 0 && stat(other, &two) == 0 && one.st_dev == two.st_dev &&
           one.st_ino == two.st_ino;
}
