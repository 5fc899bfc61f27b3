#define _GNU_SOURCE
#include "helper_child.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* The first descriptor above those that are moved into their places. */
#define FIRST_SPARE 10

/* The supervisor's pipe for the exit code. */
#define STATUS_DESCRIPTOR 3

/* On 32-bit machines, the system calls without "32" take uids and gids of 16 bits. */
#ifdef SYS_setresuid32
#define SET_GROUPS SYS_setgroups32
#define SET_GROUP  SYS_setresgid32
#define SET_USER   SYS_setresuid32
#else
#define SET_GROUPS SYS_setgroups
#define SET_GROUP  SYS_setresgid
#define SET_USER   SYS_setresuid
#endif

static pid_t fork_with(unsigned long end_signal) {
#if defined(__s390__)
    return (pid_t)syscall(SYS_clone, 0UL, end_signal, 0UL, 0UL, 0UL);
#else
    return (pid_t)syscall(SYS_clone, end_signal, 0UL, 0UL, 0UL, 0UL);
#endif
}

pid_t fork_silently(void) {
    return fork_with(0);
}

/* Resets all signals. The parent's handlers must not run here, and if SIGCHLD stayed ignored, the program's
 * end could not be waited for. */
static void reset_signals(void) {
    struct sigaction standard = {.sa_handler = SIG_DFL};
    for (int number = 1; number < NSIG; number++)
        (void)sigaction(number, &standard, NULL);
    sigset_t none;
    (void)sigemptyset(&none);
    (void)sigprocmask(SIG_SETMASK, &none, NULL);
}

static void close_from(unsigned int first) {
#ifdef SYS_close_range
    if (syscall(SYS_close_range, first, ~0U, 0U) == 0)
        return;
#endif
    struct rlimit limit;
    rlim_t end = getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < 65536 ? limit.rlim_cur : 65536;
    for (rlim_t number = first; number < end; number++)
        (void)close((int)number);
}

/* Keeps only the standard descriptors and the status pipe open. The program's output is discarded. */
static int arrange_descriptors(const struct helper_child *child) {
    int input = fcntl(child->input, F_DUPFD, FIRST_SPARE);
    int status = fcntl(child->status, F_DUPFD, FIRST_SPARE);
    if (input < 0 || status < 0)
        return -1;
    /* Without /dev/null, the program's output goes to the socket, so close the socket for writes. */
    (void)shutdown(input, SHUT_WR);
    int nothing = open("/dev/null", O_WRONLY);
    int sink = nothing < 0 ? input : fcntl(nothing, F_DUPFD, FIRST_SPARE);
    if (dup2(input, STDIN_FILENO) < 0 || dup2(sink, STDOUT_FILENO) < 0 || dup2(sink, STDERR_FILENO) < 0 ||
        dup2(status, STATUS_DESCRIPTOR) < 0 || fcntl(STATUS_DESCRIPTOR, F_SETFD, FD_CLOEXEC) < 0)
        return -1;
    close_from(STATUS_DESCRIPTOR + 1);
    return 0;
}

/* Changes the user by system calls. The C library's functions would also wait for threads of the parent,
 * which the fork did not copy. */
static int become_user(const struct helper_child *child) {
    if (!child->becomes_user)
        return 0;
    if (syscall(SET_GROUPS, child->group_count, child->groups) != 0 ||
        syscall(SET_GROUP, child->group, child->group, child->group) != 0)
        return -1;
    return syscall(SET_USER, child->user, child->user, child->user) == 0 ? 0 : -1;
}

static _Noreturn void execute(const struct helper_child *child) {
    struct rlimit none = {0, 0};
    if (become_user(child) != 0)
        _exit(126);
    /* Set the signal after the change of user, because the change clears it. */
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    (void)setrlimit(RLIMIT_CORE, &none);
    (void)umask(077);
    (void)!chdir("/");
    (void)execve(child->program, (char *const *)child->arguments, child->environment);
    _exit(errno == ENOENT ? 127 : 126);
}

static void kill_group(int number) {
    (void)number;
    (void)kill(0, SIGKILL);
}

static volatile pid_t program;

/* Kills the program alone, so that the supervisor reaps it. */
static void kill_program(int number) {
    if (program > 0)
        (void)kill(program, SIGKILL);
    else
        kill_group(number);
}

_Noreturn void supervise(const struct helper_child *child) {
    reset_signals();
    if (setpgid(0, 0) != 0)
        _exit(0);
    /* Until the descriptors are arranged, the status descriptor may be a file of the host. */
    if (arrange_descriptors(child) != 0)
        _exit(0);
    /* If the parent is killed, this process ends itself and the program. */
    struct sigaction ending = {.sa_handler = kill_group};
    (void)sigaction(SIGALRM, &ending, NULL);
    struct sigaction ending_program = {.sa_handler = kill_program};
    (void)sigaction(SIGTERM, &ending_program, NULL);
    (void)alarm(child->seconds);
    program = fork_with(SIGCHLD);
    if (program == 0)
        execute(child);
    int status = 0;
    pid_t ended = -1;
    if (program > 0)
        do
            ended = waitpid(program, &status, 0);
        while (ended < 0 && errno == EINTR);
    unsigned char code = 126;
    if (ended > 0)
        code = WIFEXITED(status) ? (unsigned char)WEXITSTATUS(status) : HELPER_CHILD_KILLED;
    (void)!write(STATUS_DESCRIPTOR, &code, 1);
    _exit(0);
}
