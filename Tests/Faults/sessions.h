/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TOKENKEEP_FAULTS_SESSIONS_H
#define TOKENKEEP_FAULTS_SESSIONS_H

#include <tokenkeep.h>

tokenkeep_status begin_session(tokenkeep_store *store, const char *account, tokenkeep_error **error);
/* Prints the account's access token, renewed if it is over. */
tokenkeep_status print_token(tokenkeep_store *store, const char *account, tokenkeep_error **error);
tokenkeep_status end_session(tokenkeep_store *store, const char *account, tokenkeep_error **error);

#endif
