/* Carries out one request: from the message over the TPM to the reply. */
#ifndef TOKENKEEP_TPM2_WORK_H
#define TOKENKEEP_TPM2_WORK_H

#include "protocol.h"

#include <sys/types.h>

/* Carries out the request in the message for that uid, and sends the reply to the descriptor within the
 * budget that the message names. If the TPM does not answer in time, a timer sends the reply and ends the
 * process. Wipes the message. False if the reply could not be sent. */
bool work_on(uint8_t *message, size_t length, uid_t uid, const char *tcti, int descriptor,
             enum reason *reason);

/* Sends a reply with the reason of a refusal. */
bool work_refuse(int descriptor, enum reason reason);

#endif
