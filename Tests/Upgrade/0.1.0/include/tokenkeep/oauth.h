/* SPDX-License-Identifier: Apache-2.0 */
/* clang-format off */
/*
 * Signing in: a program gets the tokens of a new session from its server. The rules of tokenkeep/store.h hold here too.
 *
 *     tokenkeep_login_options options = TOKENKEEP_LOGIN_OPTIONS_INIT;
 *     options.provider = "gitlab";
 *     options.show = show;
 *     tokenkeep_login(store, "gitlab.com", "ann", &options, &session, &error);
 *     ... tokenkeep_session_token(session, 60, &token, &error) ...
 *
 * The provider is a file, which names the server's endpoints and the client's id: docs/signing-in.md. The requests are
 * libcurl's, which is loaded with the first one.
 */
/* clang-format on */
#ifndef TOKENKEEP_OAUTH_H
#define TOKENKEEP_OAUTH_H

#include <tokenkeep/types.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Ways of signing in, and kinds of steps. */
#define TOKENKEEP_LOGIN_CHOOSE                                                                               \
    0 /* device over ssh or without a display, if the server has it, else browser or paste */
#define TOKENKEEP_LOGIN_BROWSER                                                                              \
    1                            /* the browser here, which comes back to a port of this machine (RFC 8252) */
#define TOKENKEEP_LOGIN_DEVICE 2 /* a code that the user types on another device (RFC 8628) */
#define TOKENKEEP_LOGIN_PASTE  3 /* a browser anywhere; the user pastes the address to which it was sent */

/* Flags of a sign-in. */
#define TOKENKEEP_LOGIN_ANY_ACCOUNT                                                                          \
    1 /* keep the session whoever signs in, also if account is another user's address */

/* A step of a sign-in, valid during the call of tokenkeep_login_fn. */
typedef struct tokenkeep_login_step tokenkeep_login_step;

/* Shows a step to the user. Runs on the thread of tokenkeep_login, and must not wait for the user.
 *
 * TOKENKEEP_LOGIN_BROWSER and _DEVICE are shown once and take no answer. A step _PASTE, which follows
 * _BROWSER too, comes about four times a second until the sign-in ends: its answer is the pasted address,
 * whole, written into the capacity bytes of answer, with its bytes in *length. 0, as it stands before, is no
 * answer yet. Another _PASTE after an answer means that the answer does not count.
 *
 * Any status but TOKENKEEP_OK ends the sign-in with TOKENKEEP_CANCELLED. */
typedef tokenkeep_status (*tokenkeep_login_fn)(void *data, const tokenkeep_login_step *step, char *answer,
                                               size_t capacity, size_t *length);

/* The options of a sign-in. Start from TOKENKEEP_LOGIN_OPTIONS_INIT. */
typedef struct tokenkeep_login_options {
    size_t struct_size;      /* sizeof(tokenkeep_login_options) */
    const char *provider;    /* its name; needed */
    const char *scope;       /* with spaces between the scopes; NULL: the provider's, as in the next two */
    const char *resource;    /* RFC 8707 */
    const char *audience;    /* a parameter of some servers */
    uint32_t flow;           /* TOKENKEEP_LOGIN_... */
    uint32_t timeout_ms;     /* limit of the sign-in as a whole; 0: 300000 */
    tokenkeep_login_fn show; /* needed */
    void *data;
    uint32_t flags; /* TOKENKEEP_LOGIN_ANY_ACCOUNT, or 0 */
} tokenkeep_login_options;

#define TOKENKEEP_LOGIN_OPTIONS_INIT                                                                         \
    { sizeof(tokenkeep_login_options), NULL, NULL, NULL, NULL, 0, 0, NULL, NULL, 0 }

/* Signs a user in, and begins the session, which is opened with the provider. account NULL: the account that
 * the server names, for which the scope needs openid. A present session of the account is replaced when all
 * has succeeded, and is unchanged otherwise.
 *
 * TOKENKEEP_CANCELLED: by the user at the server, by show, or by tokenkeep_cancel. TOKENKEEP_TIMED_OUT:
 * nobody signed in in time. TOKENKEEP_DENIED: the server refused, an answer came from elsewhere, or another
 * user signed in than that of the account's session, or than the address that account is.
 * TOKENKEEP_NOT_FOUND: there is no such provider. TOKENKEEP_INVALID: an argument or the provider's file is
 * wrong. TOKENKEEP_UNAVAILABLE: the server does not answer. TOKENKEEP_UNSUPPORTED: the server has no such
 * flow, or libcurl is missing. TOKENKEEP_LOCKED, TOKENKEEP_BUSY and others: the session cannot be saved, as
 * of tokenkeep_session_begin. */
TOKENKEEP_EXPORT TOKENKEEP_CHECK_RESULT tokenkeep_status
tokenkeep_login(tokenkeep_store *store, const char *service, const char *account,
                const tokenkeep_login_options *options, tokenkeep_session **session, tokenkeep_error **error);

/* TOKENKEEP_LOGIN_BROWSER, _DEVICE or _PASTE. */
TOKENKEEP_EXPORT uint32_t tokenkeep_login_step_kind(const tokenkeep_login_step *step);
/* The address to open. The user must see it whole. */
TOKENKEEP_EXPORT const char *tokenkeep_login_step_url(const tokenkeep_login_step *step);
/* The code to type there; NULL for steps but _DEVICE. */
TOKENKEEP_EXPORT const char *tokenkeep_login_step_user_code(const tokenkeep_login_step *step);

#ifdef __cplusplus
}
#endif

#endif
