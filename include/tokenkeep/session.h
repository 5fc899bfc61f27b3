/* SPDX-License-Identifier: Apache-2.0 */
/* clang-format off */
/*
 * Sessions: tokens that stay fresh, in every thread and every process. The rules of tokenkeep/store.h hold here too.
 *
 *     tokenkeep_session_options options = TOKENKEEP_SESSION_OPTIONS_INIT;
 *     options.http = ask_server;
 *     tokenkeep_session_open(store, "api.example.com", NULL, &options, &session, &error);
 *     tokenkeep_session_token(session, 60, &token, &error);
 *     ... tokenkeep_token_value(token, &length) ...
 *     tokenkeep_token_free(token);
 *
 * A token is renewed before its end, by one process; the other processes wait and get the new token. The answer of
 * the server is saved before any process uses it. Only the server's refusal ends a session: no network, a locked keyring
 * or an unreadable answer does not. docs/sessions.md describes states and reasons, docs/format.md the record.
 *
 * A call ends by the session's timeout_ms. Once a refresh token was sent, neither the deadline nor tokenkeep_cancel
 * ends the call before the answer is saved.
 */
/* clang-format on */
#ifndef TOKENKEEP_SESSION_H
#define TOKENKEEP_SESSION_H

#include <tokenkeep/types.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Kinds of sessions. */
#define TOKENKEEP_SESSION_USER  1
#define TOKENKEEP_SESSION_GUEST 2

/* States of a session. */
#define TOKENKEEP_STATE_UNKNOWN     0 /* a module that may hold the session cannot be asked */
#define TOKENKEEP_STATE_LOCKED      1
#define TOKENKEEP_STATE_SIGNED_OUT  2
#define TOKENKEEP_STATE_GUEST       3
#define TOKENKEEP_STATE_USER        4
#define TOKENKEEP_STATE_NEEDS_LOGIN 5

/* Reasons why a session ended. */
#define TOKENKEEP_REASON_NONE          0
#define TOKENKEEP_REASON_LOGOUT        1
#define TOKENKEEP_REASON_REMOTE        2
#define TOKENKEEP_REASON_GUEST_EXPIRED 3
#define TOKENKEEP_REASON_EXPIRED       4
#define TOKENKEEP_REASON_REFUSED       5 /* the server refused the refresh token */
#define TOKENKEEP_REASON_ROTATION_LOST 6 /* the answer with the new refresh token was lost */
#define TOKENKEEP_REASON_REVOKED       7
#define TOKENKEEP_REASON_INTERACTION   8 /* the server wants a sign-in, a consent or a second factor */
#define TOKENKEEP_REASON_OTHER_SUBJECT 9 /* the server answered a refresh with tokens of another user */

/* What the server does with a refresh token that was used. */
#define TOKENKEEP_ROTATION_STRICT                                                                            \
    0 /* the token is dead; in options: the profile of the sign-in, else strict */
#define TOKENKEEP_ROTATION_OVERLAP 1 /* the token is valid for overlap_s seconds more */
#define TOKENKEEP_ROTATION_NONE    2 /* the token stays the same */

/* Flag of tokenkeep_session_end: nothing is sent to the server, now or later. */
#define TOKENKEEP_SESSION_LOCAL_ONLY 1

/* Purposes of a request. */
#define TOKENKEEP_PURPOSE_REFRESH 1 /* RFC 6749 section 6 */
#define TOKENKEEP_PURPOSE_REVOKE  2 /* RFC 7009 */
#define TOKENKEEP_PURPOSE_VALIDATE                                                                           \
    3 /* GET with the access token: a status from 200 to 299 accepts it, 401 refuses it */
#define TOKENKEEP_PURPOSE_EXTEND 4 /* lets the session last longer; the body is seconds=N */

/* Flag in the options of a session: tokenkeep_session_step validates every 3 minutes. */
#define TOKENKEEP_SESSION_HEARTBEAT 1

/* Results in the report of a logout. */
#define TOKENKEEP_RESULT_DONE   1
#define TOKENKEEP_RESULT_FAILED 2
#define TOKENKEEP_RESULT_QUEUED 3 /* the token waits, for 30 days at most */

/* Sends a request and fills in the answer. Returns TOKENKEEP_OK if there is an answer, TOKENKEEP_UNAVAILABLE
 * if nothing was sent, and any other status if the server may have got the request. Runs on the thread of the
 * call that needs the answer. The function must not call functions of the same session. */
typedef tokenkeep_status (*tokenkeep_http_fn)(void *data, const tokenkeep_http_request *request,
                                              tokenkeep_http_response *response);

/* Runs when a session ends, on a thread of its own. Any status but TOKENKEEP_OK is noted as failed and stops
 * no other hook. After 10 seconds the hook counts as failed, and the logout goes on beside the hook. */
typedef tokenkeep_status (*tokenkeep_end_fn)(void *data, const char *service, const char *account,
                                             uint32_t reason);

/* The options of a session. Start from TOKENKEEP_SESSION_OPTIONS_INIT. */
typedef struct tokenkeep_session_options {
    size_t struct_size;      /* sizeof(tokenkeep_session_options) */
    const char *provider;    /* its name: see docs/signing-in.md; may be NULL */
    const char *refresh_url; /* the token endpoint, passed on in requests; may be NULL */
    const char *client_id;   /* a part of the requests' bodies; may be NULL */
    uint32_t rotation;       /* TOKENKEEP_ROTATION_... */
    uint32_t overlap_s;      /* with TOKENKEEP_ROTATION_OVERLAP */
    uint32_t accessibility;  /* the level of the session's item, for tokenkeep_session_begin; 0: its own */
    /* The level of the refresh token, stricter than that of the session: the token is then an item of its
     * own, and nothing is renewed while that level is locked. 0: the level that it has. The session's own
     * level: no such item. */
    uint32_t refresh_accessibility;
    uint32_t timeout_ms;    /* limit of each call as a whole; 0: 35000 */
    uint32_t flags;         /* TOKENKEEP_SESSION_HEARTBEAT */
    tokenkeep_http_fn http; /* NULL: libcurl, at the endpoints in the provider's file */
    void *http_data;
} tokenkeep_session_options;

#define TOKENKEEP_SESSION_OPTIONS_INIT                                                                       \
    { sizeof(tokenkeep_session_options), NULL, NULL, NULL, 0, 0, 0, 0, 0, 0, NULL, NULL }

/* Opens the session of an account; NULL for the active account of the service. The session keeps the parts of
 * the store that it needs; both are closed in any order.
 *
 * TOKENKEEP_NOT_FOUND: no account is active. TOKENKEEP_LOCKED: the name of the active account is locked.
 * TOKENKEEP_INVALID: an option, or the provider's file. TOKENKEEP_UNSUPPORTED: an unknown field or flag is
 * set.
 */
TOKENKEEP_EXPORT TOKENKEEP_CHECK_RESULT tokenkeep_status tokenkeep_session_open(
    tokenkeep_store *store, const char *service, const char *account,
    const tokenkeep_session_options *options, tokenkeep_session **session, tokenkeep_error **error);
/* Closes a handle. The session goes on. */
TOKENKEEP_EXPORT void tokenkeep_session_close(tokenkeep_session *session);

/* Begins a session with the server's token response as it came, a JSON object or a form. A present session of
 * the account is replaced by one write. The first session of a service becomes its active one.
 *
 * TOKENKEEP_INVALID: the response has no token, or a level of the options is impossible; nothing has changed.
 * TOKENKEEP_UNSUPPORTED: the server gave a DPoP token; nothing has changed. TOKENKEEP_BUSY: another process
 * is changing the session. Otherwise as tokenkeep_save: TOKENKEEP_LOCKED, TOKENKEEP_POLICY and others. */
TOKENKEEP_EXPORT TOKENKEEP_CHECK_RESULT tokenkeep_status tokenkeep_session_begin(
    tokenkeep_session *session, uint32_t kind, const void *response, size_t length, tokenkeep_error **error);
/* Begins a user's session with tokens from elsewhere. Both tokens are needed. expires_in: seconds, -1 if
 * unknown. TOKENKEEP_INVALID: a token is empty or malformed, or expires_in is less than -1. Otherwise as
 * tokenkeep_session_begin. */
TOKENKEEP_EXPORT TOKENKEEP_CHECK_RESULT tokenkeep_status tokenkeep_session_hydrate(tokenkeep_session *session,
                                                                                   const char *access_token,
                                                                                   const char *refresh_token,
                                                                                   int64_t expires_in,
                                                                                   tokenkeep_error **error);

/* Returns an access token that lasts min_ttl seconds, renewed if the token ends soon. A token that cannot be
 * renewed and is still valid is returned all the same; see tokenkeep_token_is_short.
 *
 * TOKENKEEP_NOT_FOUND: nobody is signed in, or the guest's token is over. TOKENKEEP_NEEDS_LOGIN: the session
 * is over. TOKENKEEP_EXPIRED: the token is over, and there is no refresh token. TOKENKEEP_BUSY: another
 * process, which the message names, is renewing the token past the deadline. TOKENKEEP_LOCKED: the record or
 * the refresh token is in a locked place. TOKENKEEP_UNAVAILABLE: the server cannot be reached, asks to wait,
 * or gave no usable answer; or the record's place cannot be reached. TOKENKEEP_DENIED: the server refuses the
 * client. TOKENKEEP_UNSUPPORTED: nothing reaches the server, or the token's type is not Bearer.
 * TOKENKEEP_CORRUPT: the record is damaged. */
TOKENKEEP_EXPORT TOKENKEEP_CHECK_RESULT tokenkeep_status tokenkeep_session_token(tokenkeep_session *session,
                                                                                 uint32_t min_ttl,
                                                                                 tokenkeep_token **token,
                                                                                 tokenkeep_error **error);
/* Renews the token now. A renewal by another process meanwhile counts. Statuses as of
 * tokenkeep_session_token; TOKENKEEP_UNSUPPORTED also if a valid session has no refresh token. */
TOKENKEEP_EXPORT TOKENKEEP_CHECK_RESULT tokenkeep_status tokenkeep_session_refresh(tokenkeep_session *session,
                                                                                   tokenkeep_token **token,
                                                                                   tokenkeep_error **error);
/* Returns a token in place of a token that the server refused with 401: the token that another process has
 * saved meanwhile, else a renewed token. Retry the server once. Statuses as of tokenkeep_session_token;
 * TOKENKEEP_EXPIRED: there is no refresh token. */
TOKENKEEP_EXPORT TOKENKEEP_CHECK_RESULT tokenkeep_status
tokenkeep_session_rejected(tokenkeep_session *session, const tokenkeep_token *refused,
                           tokenkeep_token **token, tokenkeep_error **error);

/* As tokenkeep_session_token, for a resource (an absolute URI, RFC 8707), for fewer scopes, or for both; NULL
 * for the resource or the scope of the sign-in. Each pair has an access token of its own, at most 32 are
 * kept; all are renewed with the same refresh token. tokenkeep_session_rejected knows the pair of its token.
 *
 * TOKENKEEP_INVALID: neither is given, or one is malformed. TOKENKEEP_DENIED: the server refuses the resource
 * or the scope. TOKENKEEP_UNSUPPORTED: the session has no refresh token. Otherwise as
 * tokenkeep_session_token.
 */
TOKENKEEP_EXPORT TOKENKEEP_CHECK_RESULT tokenkeep_status
tokenkeep_session_token_for(tokenkeep_session *session, const char *resource, const char *scope,
                            uint32_t min_ttl, tokenkeep_token **token, tokenkeep_error **error);
/* Asks the server whether it still accepts the access token. A token that the server refuses with 401 is
 * renewed, once.
 *
 * TOKENKEEP_DENIED: the server refuses the renewed token too, or answers 403; the session stays.
 * TOKENKEEP_UNAVAILABLE: the server does not answer, asks to wait, or has an error of its own.
 * TOKENKEEP_UNSUPPORTED: nothing reaches the server, or the provider has no endpoint for the question.
 * Otherwise as tokenkeep_session_token. */
TOKENKEEP_EXPORT TOKENKEEP_CHECK_RESULT tokenkeep_status
tokenkeep_session_validate(tokenkeep_session *session, tokenkeep_error **error);
/* Asks the server to let the session last `seconds` longer, 300 to 31536000, and saves its answer: new
 * tokens, a new expires_in, or neither. TOKENKEEP_INVALID: another time; nothing was sent. Otherwise as
 * tokenkeep_session_validate. */
TOKENKEEP_EXPORT TOKENKEEP_CHECK_RESULT tokenkeep_status tokenkeep_session_extend(tokenkeep_session *session,
                                                                                  uint32_t seconds,
                                                                                  tokenkeep_error **error);

/* The application's profile beside the tokens: a JSON object of at most 64 KiB.
 *
 * TOKENKEEP_NOT_FOUND: no profile was set, or nobody is signed in. TOKENKEEP_NEEDS_LOGIN, TOKENKEEP_EXPIRED:
 * the session is over. TOKENKEEP_LOCKED, TOKENKEEP_UNAVAILABLE: the record's place is locked or cannot be
 * reached. TOKENKEEP_CORRUPT: the record is damaged. Of the second function, which replaces the profile, also
 * TOKENKEEP_INVALID: the text is no JSON object, or is longer; and TOKENKEEP_BUSY: another process is
 * changing the session. */
TOKENKEEP_EXPORT TOKENKEEP_CHECK_RESULT tokenkeep_status tokenkeep_session_profile(tokenkeep_session *session,
                                                                                   tokenkeep_item **profile,
                                                                                   tokenkeep_error **error);
TOKENKEEP_EXPORT TOKENKEEP_CHECK_RESULT tokenkeep_status tokenkeep_session_set_profile(
    tokenkeep_session *session, const char *json, size_t length, tokenkeep_error **error);

/* The state of the session. Asks no server. A locked place and a place that does not answer are states
 * (TOKENKEEP_STATE_LOCKED, _UNKNOWN) and no failures. TOKENKEEP_CORRUPT: the record is damaged. */
TOKENKEEP_EXPORT TOKENKEEP_CHECK_RESULT tokenkeep_status
tokenkeep_session_state(tokenkeep_session *session, tokenkeep_session_info **info, tokenkeep_error **error);
/* The state if it differs from the last answer of this function on this handle; the first call returns the
 * present state. A change by a program without TokenKeep is seen at the next call. TOKENKEEP_NOT_FOUND:
 * nothing has changed. TOKENKEEP_IO: the system allows no more watches. Otherwise as tokenkeep_session_state.
 */
TOKENKEEP_EXPORT TOKENKEEP_CHECK_RESULT tokenkeep_status tokenkeep_session_next(tokenkeep_session *session,
                                                                                tokenkeep_session_info **info,
                                                                                tokenkeep_error **error);
/* A descriptor that becomes readable (poll(2)) after a change, by any process: then call
 * tokenkeep_session_next until the call returns TOKENKEEP_NOT_FOUND. Owned by the session: do not close the
 * descriptor. -1 if the system allows no more descriptors or watches. */
TOKENKEEP_EXPORT int tokenkeep_session_fd(tokenkeep_session *session);
/* Does what is due now: renews a token that ends soon, clears a guest whose time is over, saves tokens that
 * wait for their place to open, validates with TOKENKEEP_SESSION_HEARTBEAT, revokes the tokens of earlier
 * logouts. next_ms receives the milliseconds until the next step; call the function sooner after a suspension
 * of the machine.
 *
 * A locked place, a server that cannot be reached or refuses the client, and a busy session are no failures:
 * the next step tries again. TOKENKEEP_NOT_FOUND, TOKENKEEP_NEEDS_LOGIN, TOKENKEEP_EXPIRED: the session is
 * over. TOKENKEEP_UNSUPPORTED: a renewal is due, and nothing reaches the server. */
TOKENKEEP_EXPORT TOKENKEEP_CHECK_RESULT tokenkeep_status tokenkeep_session_step(tokenkeep_session *session,
                                                                                uint32_t *next_ms,
                                                                                tokenkeep_error **error);
/* The sessions of a service, or of all services for NULL. Reads no token. Locked names and damaged notes are
 * no failures: tokenkeep_session_infos_problem tells of them.
 *
 * TOKENKEEP_CORRUPT, TOKENKEEP_DENIED, TOKENKEEP_IO: the vault cannot be read. TOKENKEEP_UNSUPPORTED: a later
 * version wrote the vault. TOKENKEEP_LOCKED: another program has replaced the vault's keys.
 * TOKENKEEP_INVALID: the service is malformed. TOKENKEEP_FORKED: the process is a child made by fork(). */
TOKENKEEP_EXPORT TOKENKEEP_CHECK_RESULT tokenkeep_status tokenkeep_session_list(
    tokenkeep_store *store, const char *service, tokenkeep_session_infos **infos, tokenkeep_error **error);
/* Makes an account the active account of its service. TOKENKEEP_NOT_FOUND: nobody is signed in as the
 * account. TOKENKEEP_CORRUPT: the note of the session is damaged. */
TOKENKEEP_EXPORT TOKENKEEP_CHECK_RESULT tokenkeep_status tokenkeep_session_switch(tokenkeep_store *store,
                                                                                  const char *service,
                                                                                  const char *account,
                                                                                  tokenkeep_error **error);

/* Ends the session for every process, also offline and while everything is locked; then runs the hooks; then
 * revokes the token at the server, or queues the token. report may be NULL. Ending an ended session is
 * TOKENKEEP_OK. TOKENKEEP_IO, TOKENKEEP_BUSY: the end could not be noted; the session is as before. */
TOKENKEEP_EXPORT TOKENKEEP_CHECK_RESULT tokenkeep_status tokenkeep_session_end(
    tokenkeep_session *session, uint32_t flags, tokenkeep_session_report **report, tokenkeep_error **error);
/* Revokes the tokens of earlier logouts that still wait, with the http functions of the store's open
 * sessions: the function of the token's account, else a function of the same service, else libcurl at the
 * endpoints of the session's provider. The sessions must stay open during the call. sent and left, which may
 * be NULL, receive the numbers of tokens that were revoked and that still wait.
 *
 * TOKENKEEP_UNSUPPORTED: nothing reaches the server of a token. TOKENKEEP_LOCKED, TOKENKEEP_UNAVAILABLE,
 * TOKENKEEP_CORRUPT: a token, or the list of tokens, cannot be read; all other tokens were sent. */
TOKENKEEP_EXPORT TOKENKEEP_CHECK_RESULT tokenkeep_status tokenkeep_session_flush(tokenkeep_store *store,
                                                                                 size_t *sent, size_t *left,
                                                                                 tokenkeep_error **error);
/* Adds a hook that runs when this handle ends the session: lower orders first. data must outlive the handle
 * and a hook that runs beyond its 10 seconds. TOKENKEEP_INVALID: the name is longer than 255 bytes, or an
 * argument is NULL. */
TOKENKEEP_EXPORT TOKENKEEP_CHECK_RESULT tokenkeep_status
tokenkeep_session_on_end(tokenkeep_session *session, const char *name, uint32_t order, tokenkeep_end_fn hook,
                         void *data, tokenkeep_error **error);

/* An access token. The value is in guarded memory; a NUL follows the value. */
TOKENKEEP_EXPORT const char *tokenkeep_token_value(const tokenkeep_token *token, size_t *length);
TOKENKEEP_EXPORT const char *tokenkeep_token_type(const tokenkeep_token *token);  /* "Bearer" */
TOKENKEEP_EXPORT const char *tokenkeep_token_scope(const tokenkeep_token *token); /* NULL: unknown */
/* Seconds left when the token was returned; -1 if unknown. */
TOKENKEEP_EXPORT int64_t tokenkeep_token_expires_in(const tokenkeep_token *token);
TOKENKEEP_EXPORT uint64_t tokenkeep_token_generation(const tokenkeep_token *token);
/* Whether the token ends sooner than min_ttl, because no longer token could be had. */
TOKENKEEP_EXPORT int tokenkeep_token_is_short(const tokenkeep_token *token);
TOKENKEEP_EXPORT void tokenkeep_token_free(tokenkeep_token *token);

/* A session without its tokens. Times are Unix seconds, 0 if unknown. */
TOKENKEEP_EXPORT const char *tokenkeep_session_info_service(const tokenkeep_session_info *info);
TOKENKEEP_EXPORT const char *tokenkeep_session_info_account(const tokenkeep_session_info *info);
TOKENKEEP_EXPORT const char *
tokenkeep_session_info_provider(const tokenkeep_session_info *info);                           /* or NULL */
TOKENKEEP_EXPORT const char *tokenkeep_session_info_scope(const tokenkeep_session_info *info); /* or NULL */
TOKENKEEP_EXPORT uint32_t tokenkeep_session_info_state(const tokenkeep_session_info *info);
TOKENKEEP_EXPORT uint32_t tokenkeep_session_info_reason(const tokenkeep_session_info *info);
TOKENKEEP_EXPORT int tokenkeep_session_info_is_active(const tokenkeep_session_info *info);
TOKENKEEP_EXPORT int tokenkeep_session_info_can_renew(const tokenkeep_session_info *info);
TOKENKEEP_EXPORT int64_t tokenkeep_session_info_expires_at(const tokenkeep_session_info *info);
/* When the server last accepted a token of the session. */
TOKENKEEP_EXPORT int64_t tokenkeep_session_info_validated_at(const tokenkeep_session_info *info);
TOKENKEEP_EXPORT int64_t tokenkeep_session_info_cool_down_until(const tokenkeep_session_info *info);
TOKENKEEP_EXPORT uint64_t tokenkeep_session_info_generation(const tokenkeep_session_info *info);
/* Frees the result of tokenkeep_session_state. */
TOKENKEEP_EXPORT void tokenkeep_session_info_free(tokenkeep_session_info *info);

/* A list of sessions. The results of _at and _problem belong to the list. */
TOKENKEEP_EXPORT size_t tokenkeep_session_infos_count(const tokenkeep_session_infos *infos);
TOKENKEEP_EXPORT const tokenkeep_session_info *
tokenkeep_session_infos_at(const tokenkeep_session_infos *infos, size_t index);
/* The error that left the list incomplete, or NULL. */
TOKENKEEP_EXPORT const tokenkeep_error *tokenkeep_session_infos_problem(const tokenkeep_session_infos *infos);
TOKENKEEP_EXPORT void tokenkeep_session_infos_free(tokenkeep_session_infos *infos);

/* The report of a logout: a name and a result for each hook, and "revocation" last if a token was to be
 * revoked. */
TOKENKEEP_EXPORT size_t tokenkeep_session_report_count(const tokenkeep_session_report *report);
TOKENKEEP_EXPORT const char *tokenkeep_session_report_name(const tokenkeep_session_report *report,
                                                           size_t index);
TOKENKEEP_EXPORT uint32_t tokenkeep_session_report_result(const tokenkeep_session_report *report,
                                                          size_t index);
TOKENKEEP_EXPORT void tokenkeep_session_report_free(tokenkeep_session_report *report);

/* A request, valid during the call of tokenkeep_http_fn. */
TOKENKEEP_EXPORT uint32_t tokenkeep_http_request_purpose(const tokenkeep_http_request *request);
TOKENKEEP_EXPORT const char *tokenkeep_http_request_service(const tokenkeep_http_request *request);
TOKENKEEP_EXPORT const char *tokenkeep_http_request_account(const tokenkeep_http_request *request);
TOKENKEEP_EXPORT const char *
tokenkeep_http_request_method(const tokenkeep_http_request *request); /* "POST" or "GET" */
TOKENKEEP_EXPORT const char *tokenkeep_http_request_url(const tokenkeep_http_request *request); /* or NULL */
TOKENKEEP_EXPORT size_t tokenkeep_http_request_header_count(const tokenkeep_http_request *request);
/* 1 and the header at index; 0 if there is none. The value of Authorization is in guarded memory. */
TOKENKEEP_EXPORT int tokenkeep_http_request_header_at(const tokenkeep_http_request *request, size_t index,
                                                      const char **name, const char **value);
/* The body, a form (application/x-www-form-urlencoded), empty to validate, in guarded memory; a NUL follows
 * the body. */
TOKENKEEP_EXPORT const void *tokenkeep_http_request_body(const tokenkeep_http_request *request,
                                                         size_t *length);
/* The token that the request is about, for servers that want another body. A NUL follows the token. */
TOKENKEEP_EXPORT const char *tokenkeep_http_request_token(const tokenkeep_http_request *request,
                                                          size_t *length);

/* The answer: its HTTP status, its headers (Date and Retry-After count) and its body, in as many parts as it
 * comes. */
TOKENKEEP_EXPORT void tokenkeep_http_response_status(tokenkeep_http_response *response, uint32_t status);
TOKENKEEP_EXPORT void tokenkeep_http_response_header(tokenkeep_http_response *response, const char *name,
                                                     const char *value);
TOKENKEEP_EXPORT void tokenkeep_http_response_append(tokenkeep_http_response *response, const void *bytes,
                                                     size_t length);

/* Copies the id of this user on this machine, a random UUID of 36 characters, and a NUL. The id is made at
 * the first use and kept through every logout. For the requests of guests: the id identifies the user to the
 * server. TOKENKEEP_IO: the id could not be saved. */
TOKENKEEP_EXPORT TOKENKEEP_CHECK_RESULT tokenkeep_status tokenkeep_device_id(tokenkeep_store *store,
                                                                             char id[37],
                                                                             tokenkeep_error **error);

/* Copies a claim of a JSON Web Token, a text or a whole number, with a NUL. The signature is NOT verified.
 * TOKENKEEP_UNSUPPORTED: the token is opaque. TOKENKEEP_NOT_FOUND: the token has no such claim.
 * TOKENKEEP_INVALID: the value and its NUL need more than capacity bytes. */
TOKENKEEP_EXPORT TOKENKEEP_CHECK_RESULT tokenkeep_status
tokenkeep_jwt_claim_unverified(const char *jwt, size_t length, const char *name, char *value, size_t capacity,
                               size_t *value_length, tokenkeep_error **error);

#ifdef __cplusplus
}
#endif

#endif
