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

/* Parses the options, which point into argv. Logs and ignores an option that is unknown or malformed. */
struct options read_options(pam_handle_t *pamh, int argc, const char **argv);

/* Whether the option only_if is missing or names this service. */
int applies_to(const struct options *options, const char *service);

#endif
