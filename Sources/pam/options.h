/* The words after pam_tokenkeep.so in a line of a PAM service. */
#ifndef TOKENKEEP_PAM_OPTIONS_H
#define TOKENKEEP_PAM_OPTIONS_H

#include <security/pam_modules.h>

struct options {
    const char *helper;  /* absolute path; NULL for the installed program */
    const char *only_if; /* names of services with commas; NULL for every service */
    int timeout_s;
    int is_debugging;
    int creates; /* a vault without a password gets the login's when the session begins */
};

/* Logs and passes over an option that is unknown or malformed. The options point into argv. */
struct options read_options(pam_handle_t *pamh, int argc, const char **argv);

/* Whether only_if names the service, or is not given. */
int applies_to(const struct options *options, const char *service);

#endif
