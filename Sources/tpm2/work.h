/* A request's way through the TPM. */
#ifndef TOKENKEEP_TPM2_WORK_H
#define TOKENKEEP_TPM2_WORK_H

#include "protocol.h"

#include <sys/types.h>

/* Answers a message for that uid on the descriptor, within the budget that the message names: a timer replies
 * in the place of a TPM that does not answer, and ends the process. Wipes the message. False if the reply
 * could not be sent. */
bool work_on(uint8_t *message, size_t length, uid_t uid, const char *tcti, int descriptor,
             enum reason *reason);

/* Sends a reply of one reason. */
bool work_refuse(int descriptor, enum reason reason);

#endif
