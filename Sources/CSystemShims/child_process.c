#define _GNU_SOURCE
#include "CSystemShims.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/prctl.h>
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
    char *const *arguments, *const *environment;
    const tokenkeep_start_options *options;
    int streams[3]; /* TOKENKEEP_INHERITED, TOKENKEEP_NOTHING or a descriptor above 2 */
    int death_pipe; /* -1 for none */
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

/* Closes all descriptors above 2 except `kept`, which is -1 for none. */
static void close_others(int kept) {
    if (kept < 0 ? close_between(3, ~0u) == 0
                 : close_between(3, (unsigned)kept - 1) == 0 && close_between((unsigned)kept + 1, ~0u) == 0)
        return;
    struct rlimit limit; /* a kernel before 5.9 */
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
        limit.rlim_cur = 1024;
    for (int number = 3; (rlim_t)number < limit.rlim_cur; number++)
        if (number != kept)
            close(number);
}

static int set_stream(int number, int source) {
    if (source > 2)
        return dup2(source, number);
    if (source == TOKENKEEP_INHERITED)
        return 0;
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (null < 0)
        return -1;
    return null == number ? fcntl(number, F_SETFD, 0) : dup2(null, number);
}

/* No handler of the caller may run in the new process, which shares its memory. */
static void set_signals(int keeps_ignored) {
    struct sigaction action, plain = {.sa_handler = SIG_DFL};
    for (int number = 1; number < NSIG; number++)
        if (!keeps_ignored || number == SIGPIPE || number == SIGCHLD ||
            sigaction(number, NULL, &action) != 0 || action.sa_handler != SIG_IGN)
            (void)sigaction(number, &plain, NULL);
    sigset_t none;
    sigemptyset(&none);
    (void)sigprocmask(SIG_SETMASK, &none, NULL);
}

static int prepare(const start *plan) {
    const tokenkeep_start_options *options = plan->options;
    if (options->death_signal != 0) {
        if (prctl(PR_SET_PDEATHSIG, options->death_signal) != 0)
            return -1;
        if (getppid() != plan->caller)
            _exit(127); /* it died before that was asked for */
    }
    if (options->has_own_session ? setsid() < 0 : options->has_own_group && setpgid(0, 0) != 0)
        return -1;
    for (int number = 0; number < 3; number++)
        if (set_stream(number, plan->streams[number]) < 0)
            return -1;
    if (options->is_apart && chdir("/") != 0)
        return -1;
    if (plan->death_pipe >= 0)
        put_on_death_pipe(plan->death_pipe);
    if (options->is_apart)
        close_others(plan->death_pipe >= 0 ? death_pipe_number : -1);
    if (options->descriptor_limit != NULL)
        (void)setrlimit(RLIMIT_NOFILE, options->descriptor_limit);
    set_signals(options->keeps_ignored_signals);
    return 0;
}

/* Runs in the new process, which shares its caller's memory until execve: only system calls are allowed.
 * execvpe makes no other calls, and allocates on the stack alone. */
__attribute__((noinline, noreturn)) static void become(start *plan) {
    if (prepare(plan) == 0) {
        if (plan->options->searches_path)
            execvpe(plan->arguments[0], plan->arguments, plan->environment);
        else
            execve(plan->arguments[0], plan->arguments, plan->environment);
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

static void close_all(const int *descriptors, int count) {
    for (int i = 0; i < count; i++)
        if (descriptors[i] >= 0)
            close(descriptors[i]);
}

/* Makes the pipes of input, output and death pipe, as far as they are wanted. The others are -1. */
static int make_pipes(const int wanted[3], int pipes[6]) {
    int error = 0;
    for (int i = 0; i < 3; i++) {
        pipes[2 * i] = pipes[2 * i + 1] = -1;
        int ends[2];
        if (!wanted[i] || error != 0 || (error = make_pipe(ends)) != 0)
            continue;
        pipes[2 * i] = ends[0];
        pipes[2 * i + 1] = ends[1];
    }
    if (error == 0 && ((wanted[0] && fcntl(pipes[1], F_SETFL, O_NONBLOCK) != 0) ||
                       (wanted[1] && fcntl(pipes[2], F_SETFL, O_NONBLOCK) != 0)))
        error = errno;
    return error;
}

int tokenkeep_program_start(char *const arguments[], char *const environment[],
                            const tokenkeep_start_options *options, tokenkeep_program *program) {
    const int wanted[] = {options->input == TOKENKEEP_PIPE, options->output == TOKENKEEP_PIPE,
                          options->ties_group};
    int pipes[6];
    int error = make_pipes(wanted, pipes);
    start plan = {.arguments = arguments,
                  .environment = environment == NULL ? environ : environment,
                  .options = options,
                  .streams = {wanted[0] ? pipes[0] : options->input, wanted[1] ? pipes[3] : options->output,
                              options->errors},
                  .death_pipe = pipes[4]};
    if (error == 0)
        error = spawn(&plan, &program->process);
    if (error != 0) {
        close_all(pipes, 6);
        return error;
    }
    close_all(&pipes[3], 1);
    if (!options->keeps_input_reader) {
        close_all(&pipes[0], 1);
        pipes[0] = -1;
    }
    program->end = (int)syscall(SYS_pidfd_open, program->process, 0);
    program->input_reader = pipes[0];
    program->input = pipes[1];
    program->output = pipes[2];
    program->death_pipe = pipes[4];
    program->death_pipe_end = pipes[5];
    return 0;
}

void tokenkeep_program_let_go(const tokenkeep_program *program) {
    /* Processes that the program left running on purpose are not killed. */
    if (program->death_pipe >= 0)
        (void)fcntl(program->death_pipe, F_SETFL, 0);
    const int descriptors[] = {program->end,    program->input_reader,   program->input,
                               program->output, program->death_pipe_end, program->death_pipe};
    close_all(descriptors, 6);
}

int tokenkeep_program_has_ended(pid_t process) {
    siginfo_t end = {.si_pid = 0};
    if (waitid(P_PID, (id_t)process, &end, WEXITED | WNOHANG | WNOWAIT) != 0)
        return errno != EINTR;
    return end.si_pid == process;
}

void tokenkeep_program_kill(pid_t process) {
    siginfo_t end;
    /* Until the end is waited for, the process number and the group number cannot be reused. */
    if (waitid(P_PID, (id_t)process, &end, WEXITED | WNOHANG | WNOWAIT) != 0)
        return;
    kill(-process, SIGKILL);
    kill(process, SIGKILL); /* a program may have joined another group */
}
