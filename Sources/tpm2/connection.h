/* One connection of root's helper. */
#ifndef TOKENKEEP_TPM2_CONNECTION_H
#define TOKENKEEP_TPM2_CONNECTION_H

#include "protocol.h"

#include <sys/types.h>

/* The limits of requests of one owner (owner.h) at a time, and of connections of all owners. */
#define REQUESTS_OF_UID 4
#define CONNECTIONS     32

/* The uid of the process that connected. False if the uid is unknown, because the peer is in another user
 * namespace. */
bool connection_peer(int connection, uid_t *uid);
/* Receives a request of that uid, and replies. Returns the reason in the reply. */
enum reason connection_serve(int connection, uid_t uid, const char *tcti);
/* Serves the connection as an instance of systemd's unit. `locks`: a device or file whose byte locks count
 * the requests of each owner; NULL for no limit. */
int connection_run(int connection, const char *tcti, const char *locks);

/* Writes a line to standard error: a request of the uid was refused, for that reason. */
void connection_log(uid_t uid, enum reason reason);

#endif
