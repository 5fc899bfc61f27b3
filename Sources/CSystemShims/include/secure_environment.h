#ifndef TOKENKEEP_SECURE_ENVIRONMENT_H
#define TOKENKEEP_SECURE_ENVIRONMENT_H

/* The value of an environment variable, or NULL where it is not set or the environment cannot be trusted: in a
 * set-user-id or set-group-id program, or one with file capabilities. */
const char *tokenkeep_trusted_environment(const char *name);

#endif
