#define _GNU_SOURCE
#include "CSystemdBus.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

static void become(const char *path, char *const arguments[], char *const environment[], int signal_number,
                   pid_t parent, int report) {
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    signal(SIGPIPE, SIG_DFL);
    if (signal_number != 0)
        prctl(PR_SET_PDEATHSIG, signal_number);
    if (getppid() == parent)
        execvpe(path, arguments, environment);
    int error = errno;
    ssize_t written = write(report, &error, sizeof error);
    _exit(written == (ssize_t)sizeof error ? 127 : 126);
}

int tokenkeep_companion_start(const char *path, char *const arguments[], char *const environment[],
                              int signal_number, pid_t *process) {
    int report[2];
    if (pipe2(report, O_CLOEXEC) != 0)
        return errno;
    pid_t parent = getpid();
    pid_t child = fork();
    if (child == 0)
        become(path, arguments, environment, signal_number, parent, report[1]);
    int error = child < 0 ? errno : 0;
    close(report[1]);
    // The pipe closes when the program is executed.
    if (error == 0 && read(report[0], &error, sizeof error) == (ssize_t)sizeof error)
        waitpid(child, NULL, 0);
    close(report[0]);
    *process = child;
    return error;
}

void tokenkeep_inherit(int descriptor, int is_inherited) {
    fcntl(descriptor, F_SETFD, is_inherited ? 0 : FD_CLOEXEC);
}

int tokenkeep_text_file(const char *text, size_t length) {
    int file = memfd_create("tokenkeep-bus.conf", 0);
    if (file < 0)
        return -1;
    if (write(file, text, length) != (ssize_t)length || lseek(file, 0, SEEK_SET) != 0) {
        close(file);
        return -1;
    }
    return file;
}

int tokenkeep_exit_code(int status) {
    if (WIFEXITED(status))
        return WEXITSTATUS(status);
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : 70;
}
