/* What the two files on login1 share. */
#ifndef TOKENKEEP_AGENT_LOGIN1_H
#define TOKENKEEP_AGENT_LOGIN1_H

#include "agent.h"

#define SERVICE "org.freedesktop.login1"
#define MANAGER "/org/freedesktop/login1"
#define SESSION "org.freedesktop.login1.Session"
#define CALL_US (AGENT_CALL_S * SECOND_US)

/* Sends a call whose reply, or failure, comes to handler. Negative if it cannot be sent. */
int login1_call(struct agent *agent, sd_bus_slot **slot, const char *path, const char *interface,
                const char *member, sd_bus_message_handler_t handler, const char *argument);

/* login1 failed or is away: it is not ready, and is tried again later. */
void login1_fail(struct agent *agent);

/* Asks for all sessions of the user. */
void login1_list_sessions(struct agent *agent);

/* Asks for the properties of a session. */
void login1_ask_session(struct agent *agent, struct session *session);

/* The session of this path, or an unused place for it if is_made; NULL if there is none. */
struct session *login1_session_at(struct agent *agent, const char *path, bool is_made);

#endif
