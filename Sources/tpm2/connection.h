/* One connection of root's helper. */
#ifndef TOKENKEEP_TPM2_CONNECTION_H
#define TOKENKEEP_TPM2_CONNECTION_H

#include "protocol.h"

#include <sys/types.h>

/* Requests of one owner (owner.h) at a time, and the connections of all. */
#define REQUESTS_OF_UID 4
#define CONNECTIONS     32

/* The uid of the process that connected. False if it cannot be told: the peer is of another user namespace.
 */
bool connection_peer(int connection, uid_t *uid);
/* Receives the request of that uid, and answers it. Returns the reason of the reply. */
enum reason connection_serve(int connection, uid_t uid, const char *tcti);
/* Serves the connection as an instance of systemd's unit. `locks`: a device or file whose byte locks count
 * the requests of a uid; NULL counts none. */
int connection_run(int connection, const char *tcti, const char *locks);

/* Reports a refusal of the uid. */
void connection_log(uid_t uid, enum reason reason);

#endif
