/* Runs the program tokenkeep as the user who signs in, with a time limit. */
#ifndef TOKENKEEP_PAM_HELPER_PROCESS_H
#define TOKENKEEP_PAM_HELPER_PROCESS_H

#include <pwd.h>
#include <stddef.h>
#include <stdint.h>

/* The exit codes of `tokenkeep login` (docs/login.md). */
#define HELPER_DONE           0
#define HELPER_NO_VAULT       1
#define HELPER_NOT_NOW        4
#define HELPER_WRONG_PASSWORD 5
#define HELPER_REFUSED        6
#define HELPER_DAMAGED        7

/* Results of run_helper that are not exit codes of the program. */
#define HELPER_NOT_EXECUTABLE 126
#define HELPER_NOT_FOUND      127
#define HELPER_KILLED         256
#define HELPER_TIMED_OUT      257
#define HELPER_NOT_STARTED    258
#define HELPER_NOT_ALLOWED    259 /* this process is neither root nor the user */

/* Bytes that the program reads on its standard input. Not owned. */
struct helper_input {
    const char *bytes;
    size_t length;
};

struct helper_call {
    const char *program; /* absolute */
    const char *command; /* of `tokenkeep login` */
    const char *service;
    const char *option; /* a further argument, or NULL */
    const struct passwd *user;
    const struct helper_input *inputs;
    size_t input_count;
    int64_t deadline; /* as of tokenkeep_now() */
};

/* Runs the program. Returns the program's exit code, or one of the results above. No process is left running,
 * except a process that the kernel cannot kill. Affects neither signal handlers nor other children of this
 * process. */
int run_helper(const struct helper_call *call);

#endif
