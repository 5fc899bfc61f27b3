/* The socket of root's helper on a machine without systemd. */
#ifndef TOKENKEEP_TPM2_LISTENER_H
#define TOKENKEEP_TPM2_LISTENER_H

/* Makes the socket at path and serves its clients until SIGTERM or SIGINT. Each request has a process of its
 * own. Returns an exit code. */
int listener_run(const char *path, const char *tcti);

#endif
