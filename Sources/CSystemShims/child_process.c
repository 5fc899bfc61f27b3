#define _GNU_SOURCE
#include "CSystemShims.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* Makes a pipe above the standard descriptors, whose numbers are free if this process was started without
 * them. */
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

/* The data that a new process needs to become the program. */
typedef struct start {
    const char *path, *argument;
    char *const *environment;
    int input, output, death_pipe, shows_errors;
    pid_t caller;
    volatile int error;
} start;

/* A number that shell scripts do not use for their own files. */
enum { death_pipe_number = 63 };

/* Ties the program's group to the death pipe. The caller holds the other end: when it closes, the kernel
 * kills the group. Without the death pipe only the program itself is killed. */
static void put_on_death_pipe(int death_pipe) {
    (void)fcntl(death_pipe, F_SETOWN, -getpid());
    (void)fcntl(death_pipe, F_SETSIG, SIGKILL);
    (void)fcntl(death_pipe, F_SETFL, O_ASYNC | O_NONBLOCK);
    if (death_pipe == death_pipe_number)
        (void)fcntl(death_pipe, F_SETFD, 0);
    else if (dup2(death_pipe, death_pipe_number) < 0)
        close(death_pipe_number); /* whatever has the number */
}

static int close_between(unsigned first, unsigned last) {
#ifdef SYS_close_range
    return (int)syscall(SYS_close_range, first, last, 0u);
#else
    return -1;
#endif
}

static void close_others(void) {
    if (close_between(3, death_pipe_number - 1) == 0 && close_between(death_pipe_number + 1, ~0u) == 0)
        return;
    struct rlimit limit; /* a kernel before 5.9 */
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
        limit.rlim_cur = 1024;
    for (int number = 3; (rlim_t)number < limit.rlim_cur; number++)
        if (number != death_pipe_number)
            close(number);
}

static int prepare(const start *plan) {
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0)
        return -1;
    if (getppid() != plan->caller)
        _exit(127); /* it died before that was asked for */
    if (setpgid(0, 0) != 0 || dup2(plan->input, 0) < 0 || dup2(plan->output, 1) < 0)
        return -1;
    if (!plan->shows_errors) {
        int null = open("/dev/null", O_WRONLY | O_CLOEXEC);
        if (null < 0 || (null != 2 && dup2(null, 2) < 0) || (null == 2 && fcntl(2, F_SETFD, 0) != 0))
            return -1;
    }
    if (chdir("/") != 0)
        return -1;
    put_on_death_pipe(plan->death_pipe);
    close_others();
    struct sigaction action = {.sa_handler = SIG_DFL};
    for (int number = 1; number < NSIG; number++)
        (void)sigaction(number, &action, NULL);
    sigset_t none;
    sigemptyset(&none);
    return sigprocmask(SIG_SETMASK, &none, NULL);
}

/* Runs in the new process, which shares its caller's memory until execve: only system calls are allowed. */
__attribute__((noinline, noreturn)) static void become(start *plan) {
    if (prepare(plan) == 0) {
        char *const arguments[] = {(char *)plan->path, (char *)plan->argument, NULL};
        execve(plan->path, arguments, plan->environment);
    }
    plan->error = errno;
    _exit(127);
}

/* posix_spawn(3) cannot tie the program's life to its caller's. */
static int spawn(start *plan, pid_t *process) {
    sigset_t all, before;
    sigfillset(&all);
    plan->caller = getpid();
    plan->error = 0;
    /* Blocks all signals, so that no signal handler of the caller runs in the new process. */
    pthread_sigmask(SIG_SETMASK, &all, &before);
    pid_t child = vfork();
    if (child == 0)
        become(plan);
    int error = child < 0 ? errno : plan->error;
    if (child > 0 && error != 0)
        while (waitpid(child, NULL, 0) < 0 && errno == EINTR)
            ;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    *process = child;
    return error;
}

static void close_pipe(const int ends[2]) {
    close(ends[0]);
    close(ends[1]);
}

static int make_pipes(int pipes[3][2]) {
    for (int i = 0; i < 3; i++) {
        int error = make_pipe(pipes[i]);
        if (error == 0)
            continue;
        while (i-- > 0)
            close_pipe(pipes[i]);
        return error;
    }
    return 0;
}

int tokenkeep_program_start(const char *path, const char *argument, char *const environment[],
                            int shows_errors, tokenkeep_program *program) {
    int pipes[3][2];
    int error = make_pipes(pipes);
    if (error != 0)
        return error;
    int *input = pipes[0], *output = pipes[1], *death_pipe = pipes[2];
    start plan = {.path = path,
                  .argument = argument,
                  .environment = environment,
                  .input = input[0],
                  .output = output[1],
                  .death_pipe = death_pipe[0],
                  .shows_errors = shows_errors};
    if (fcntl(input[1], F_SETFL, O_NONBLOCK) != 0 || fcntl(output[0], F_SETFL, O_NONBLOCK) != 0)
        error = errno;
    if (error == 0)
        error = spawn(&plan, &program->process);
    close(input[0]);
    close(output[1]);
    program->input = input[1];
    program->output = output[0];
    program->death_pipe = death_pipe[0];
    program->death_pipe_end = death_pipe[1];
    if (error != 0) {
        close(input[1]);
        close(output[0]);
        tokenkeep_program_let_go(program);
    }
    return error;
}

void tokenkeep_program_let_go(const tokenkeep_program *program) {
    /* Processes that the program left running on purpose are not killed. */
    (void)fcntl(program->death_pipe, F_SETFL, 0);
    close(program->death_pipe_end);
    close(program->death_pipe);
}

int tokenkeep_program_descriptor(pid_t process) {
    return (int)syscall(SYS_pidfd_open, process, 0);
}

int tokenkeep_program_wait(pid_t process, uint32_t timeout_ms, int *status) {
    enum { look_ms = 5 }; /* without a descriptor of the process: none was left, or a kernel before 5.3 */
    const int64_t deadline = tokenkeep_deadline_after(timeout_ms);
    struct pollfd end = {.fd = tokenkeep_program_descriptor(process), .events = POLLIN};
    int error = EINTR;
    while (error == EINTR) {
        /* The time is read before waitpid: however long this thread is suspended, the last check is late
         * enough. */
        int left = tokenkeep_timeout_until(deadline);
        pid_t found = waitpid(process, status, WNOHANG);
        if (found == process)
            error = 0;
        else if (found < 0 && errno != EINTR)
            error = errno; /* ECHILD: somebody else of this process waited for it */
        else if (left == 0)
            error = ETIMEDOUT;
        else
            (void)poll(&end, 1, end.fd >= 0 || left < look_ms ? left : look_ms);
    }
    if (end.fd >= 0)
        (void)close(end.fd);
    return error;
}

int tokenkeep_program_kill(pid_t process, uint32_t timeout_ms) {
    siginfo_t end;
    int status;
    /* Until the end is waited for, the process number and the group number cannot be reused. */
    if (waitid(P_PID, (id_t)process, &end, WEXITED | WNOHANG | WNOWAIT) != 0)
        return errno;
    kill(-process, SIGKILL);
    kill(process, SIGKILL); /* a program may have joined another group */
    return tokenkeep_program_wait(process, timeout_ms, &status);
}
