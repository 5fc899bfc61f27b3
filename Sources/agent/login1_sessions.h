/* The user's sessions as login1 describes them. */
#ifndef TOKENKEEP_AGENT_LOGIN1_SESSIONS_H
#define TOKENKEEP_AGENT_LOGIN1_SESSIONS_H

#include "login1_state.h"

#define NO_SESSION AGENT_SESSIONS

/* Queries the list of sessions, and then each session of the user. */
void login1_list_sessions(struct login1 *login1);

/* Queries the properties of the session at a place. */
void login1_ask_session(struct login1 *login1, size_t index);

/* The place of the session with this path; NO_SESSION if there is none. */
size_t login1_session_at(const struct login1 *login1, const char *path);

#endif
