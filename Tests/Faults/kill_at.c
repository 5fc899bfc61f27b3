/*
 * Runs a command and kills it right before a system call, as strace's inject=NAME:signal=KILL:when=NUMBER
 * does. strace stops the command at each of its calls for this, which takes ten times as long as the command
 * alone; here it is stopped at the named calls only (seccomp(2)).
 *
 * Usage: kill_at [--delay NAME=MICROSECONDS] NAME NUMBER COMMAND…
 * The calls of each thread are counted by themselves, those of its children, too. --delay: each such call
 * ends so much later. Ends as the command did: by the same signal, or with its exit code.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <seccomp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { MOST_THREADS = 1024, MEANT = 1, DELAYED = 2 };

static struct {
    pid_t thread;
    long count;
} threads[MOST_THREADS];

static void die(const char *what) {
    fprintf(stderr, "kill_at: %s: %s\n", what, strerror(errno));
    exit(125);
}

/* The count of a thread; a new one is 0. */
static long *count_of(pid_t thread) {
    for (int i = 0; i < MOST_THREADS; i++) {
        if (threads[i].thread == 0)
            threads[i].thread = thread;
        if (threads[i].thread == thread)
            return &threads[i].count;
    }
    errno = ENOSPC;
    die("too many threads");
    return NULL;
}

/* A later thread may get the number again. */
static void forget(pid_t thread) {
    *count_of(thread) = 0;
}

static void stop_at(scmp_filter_ctx filter, const char *name, uint16_t why) {
    int number = seccomp_syscall_resolve_name(name);
    errno = number < 0 ? ENOSYS : -seccomp_rule_add(filter, SCMP_ACT_TRACE(why), number, 0);
    if (errno != 0)
        die(name);
}

static void run(char **command, const char *name, const char *delayed, int ready) {
    char byte;
    if (read(ready, &byte, 1) != 1)
        die("the tracer is gone");
    close(ready);
    scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ALLOW);
    if (filter == NULL)
        die("seccomp");
    stop_at(filter, name, MEANT);
    if (delayed != NULL)
        stop_at(filter, delayed, DELAYED);
    if ((errno = -seccomp_load(filter)) != 0)
        die("seccomp");
    execvp(command[0], command);
    die(command[0]);
}

static void go_on(pid_t thread, int how, int signal) {
    /* The thread may have been killed meanwhile. */
    if (ptrace(how, thread, NULL, (void *)(long)signal) < 0 && errno != ESRCH)
        die("ptrace");
}

/* A thread has stopped: kills it if this is the call, else lets it go on. */
static void handle(pid_t thread, int status, long number, long microseconds) {
    unsigned long why = 0;
    int event = status >> 16, signal = WSTOPSIG(status);
    if (event == PTRACE_EVENT_SECCOMP) {
        ptrace(PTRACE_GETEVENTMSG, thread, NULL, &why);
        if (why == MEANT && ++*count_of(thread) == number)
            kill(thread, SIGKILL);
        else
            go_on(thread, why == DELAYED ? PTRACE_SYSCALL : PTRACE_CONT, 0);
    } else if (event == PTRACE_EVENT_STOP && signal != SIGTRAP) {
        go_on(thread, PTRACE_LISTEN, 0);
    } else if (event != 0) {
        go_on(thread, PTRACE_CONT, 0);
    } else if (signal == (SIGTRAP | 0x80)) {
        const struct timespec delay = {microseconds / 1000000, microseconds % 1000000 * 1000};
        nanosleep(&delay, NULL);
        go_on(thread, PTRACE_CONT, 0);
    } else {
        go_on(thread, PTRACE_CONT, signal);
    }
}

static int follow(pid_t child, long number, long microseconds) {
    int status, last = 0;
    for (;;) {
        pid_t thread = waitpid(-1, &status, __WALL);
        if (thread < 0 && errno == EINTR)
            continue;
        if (thread < 0)
            return last;
        if (WIFSTOPPED(status)) {
            handle(thread, status, number, microseconds);
        } else {
            forget(thread);
            if (thread == child)
                last = status;
        }
    }
}

int main(int count, char **words) {
    char *delayed = NULL;
    long microseconds = 0;
    if (count > 2 && strcmp(words[1], "--delay") == 0 && (delayed = strtok(words[2], "=")) != NULL) {
        microseconds = atol(words[2] + strlen(delayed) + 1);
        words += 2;
        count -= 2;
    }
    if (count < 4 || atol(words[2]) < 1) {
        fprintf(stderr, "usage: kill_at [--delay NAME=MICROSECONDS] NAME NUMBER COMMAND...\n");
        return 125;
    }
    int ready[2];
    if (pipe(ready) < 0)
        die("pipe");
    pid_t child = fork();
    if (child < 0)
        die("fork");
    if (child == 0) {
        close(ready[1]);
        run(words + 3, words[1], delayed, ready[0]);
    }
    close(ready[0]);
    long options = PTRACE_O_TRACESECCOMP | PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACECLONE | PTRACE_O_TRACEFORK |
                   PTRACE_O_TRACEVFORK | PTRACE_O_TRACEEXEC | PTRACE_O_EXITKILL;
    if (ptrace(PTRACE_SEIZE, child, NULL, (void *)options) < 0)
        die("ptrace");
    if (write(ready[1], "", 1) != 1)
        die("pipe");
    close(ready[1]);
    int status = follow(child, atol(words[2]), microseconds);
    if (WIFSIGNALED(status))
        kill(getpid(), WTERMSIG(status));
    return WIFEXITED(status) ? WEXITSTATUS(status) : 125;
}
