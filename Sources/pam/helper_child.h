/* The child's side of run_helper(): async-signal-safe, because the process may have threads. */
#ifndef TOKENKEEP_PAM_HELPER_CHILD_H
#define TOKENKEEP_PAM_HELPER_CHILD_H

#include <stddef.h>
#include <sys/types.h>

#define HELPER_VARIABLES 5

/* The status byte for a program that a signal ended. None of our programs exits with this number. */
#define HELPER_CHILD_KILLED 255

/* The data that the child needs, prepared before the fork. Only `groups` is owned. */
struct helper_child {
    const char *program;
    const char *const *arguments;
    char *const *environment;
    uid_t user;
    gid_t group;
    gid_t *groups;
    size_t group_count;
    int becomes_user;
    int input, status; /* descriptors: the program's standard input, and the pipe for its exit code */
    unsigned int seconds;
};

/* Forks so that the parent gets no signal at the child's end. Only waitpid() with __WCLONE finds this child,
 * so the host's own calls of wait() do not. */
pid_t fork_silently(void);

/* Runs the program in a separate process group, and writes the program's exit code to the pipe as one byte.
 * SIGTERM to this process kills the program. */
_Noreturn void supervise(const struct helper_child *child);

#endif
