/* The child's side of run_helper(): async-signal-safe, because the process may have threads. */
#ifndef TOKENKEEP_PAM_HELPER_CHILD_H
#define TOKENKEEP_PAM_HELPER_CHILD_H

#include <stddef.h>
#include <sys/types.h>

#define HELPER_VARIABLES 5

/* The status byte for a program that a signal ended. None of our programs exits with this number. */
#define HELPER_CHILD_KILLED 255

/* Everything the child needs, made before the fork. Not owned, but for groups. */
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

/* Forks without a signal to the parent at the child's end. Only waitpid() with __WCLONE finds this child, so
 * that the parent's own wait() never does. */
pid_t fork_silently(void);

/* Runs the program in a group of its own, and writes its exit code to the pipe as one byte. SIGTERM kills the
 * program. */
_Noreturn void supervise(const struct helper_child *child);

#endif
