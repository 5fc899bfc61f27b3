/* pam_tokenkeep.so: unlocks the user's vault with the password of the login (docs/login.md).
 *
 * Each call runs `tokenkeep login` as the user for a bounded time. No result of it changes the result of the
 * stack. The module has no state of its own: data lies in the handle, because programs unload modules between
 * calls. */
#define _GNU_SOURCE
#include "CSystemShims.h"
#include "helper_process.h"
#include "installed_program.h"
#include "kept_password.h"
#include "options.h"

#include <security/pam_ext.h>
#include <security/pam_modules.h>
#include <security/pam_modutil.h>
#include <stdlib.h>
#include <string.h>
#include <syslog.h>

/* The longest password of a vault, in bytes. */
#define LONGEST_PASSWORD 4096

#define EXPORTED __attribute__((visibility("default")))

/* A call of one of the functions below. */
struct login {
    pam_handle_t *pamh;
    struct options options;
    const char *service;
    const struct passwd *user;
    int64_t deadline; /* as of tokenkeep_now() */
};

static const char *text_item(pam_handle_t *pamh, int type) {
    const void *item = NULL;
    return pam_get_item(pamh, type, &item) == PAM_SUCCESS ? item : NULL;
}

/* The password of an item; NULL if it is missing, empty, or longer than any vault's. */
static const char *password_item(pam_handle_t *pamh, int type) {
    const char *password = text_item(pamh, type);
    return password != NULL && password[0] != '\0' && strlen(password) <= LONGEST_PASSWORD ? password : NULL;
}

/* Returns 0 if the module has nothing to do for this service or user. */
static int begin(struct login *login, pam_handle_t *pamh, int argc, const char **argv) {
    *login = (struct login){.pamh = pamh, .options = read_options(pamh, argc, argv)};
    login->service = text_item(pamh, PAM_SERVICE);
    const char *name = text_item(pamh, PAM_USER);
    if (login->service == NULL || name == NULL || !applies_to(&login->options, login->service))
        return 0;
    login->deadline = tokenkeep_deadline_after((uint32_t)login->options.timeout_s * 1000);
    login->user = pam_modutil_getpwnam(pamh, name);
    return login->user != NULL;
}

/* Logs a result that the user or the administrator can correct. Logs nothing after a success, or if there is
 * no vault. */
static void log_result(const struct login *login, const char *command, int result) {
    const char *user = login->user->pw_name;
    switch (result) {
    case HELPER_DONE:
    case HELPER_NO_VAULT:
    case HELPER_NOT_NOW:
    case HELPER_NOT_ALLOWED:
        if (login->options.is_debugging)
            pam_syslog(login->pamh, LOG_DEBUG, "login %s for %s: result %d", command, user, result);
        return;
    case HELPER_WRONG_PASSWORD:
        pam_syslog(login->pamh, LOG_NOTICE,
                   "the password does not open the vault of %s: tokenkeep login status", user);
        return;
    case HELPER_REFUSED:
    case HELPER_DAMAGED:
        pam_syslog(login->pamh, LOG_WARNING, "the vault of %s cannot be used: tokenkeep status", user);
        return;
    case HELPER_TIMED_OUT:
        pam_syslog(login->pamh, LOG_WARNING, "login %s for %s took longer than %d s and was ended", command,
                   user, login->options.timeout_s);
        return;
    case HELPER_NOT_FOUND:
    case HELPER_NOT_EXECUTABLE:
    case HELPER_NOT_STARTED:
        pam_syslog(login->pamh, LOG_ERR, "tokenkeep cannot be run for %s: see the option helper=", user);
        return;
    default:
        pam_syslog(login->pamh, LOG_ERR, "login %s for %s failed: result %d", command, user, result);
    }
}

static int run(const struct login *login, const char *command, const char *option,
               const struct helper_input *inputs, size_t count) {
    char *installed = login->options.helper == NULL ? installed_program() : NULL;
    struct helper_call call = {.program = login->options.helper != NULL ? login->options.helper : installed,
                               .command = command,
                               .service = login->service,
                               .option = option,
                               .user = login->user,
                               .inputs = inputs,
                               .input_count = count,
                               .deadline = login->deadline};
    int result = call.program == NULL ? HELPER_NOT_FOUND : run_helper(&call);
    free(installed);
    log_result(login, command, result);
    return result;
}

static int unlock(const struct login *login, const char *option, const char *password) {
    struct helper_input input = {password, strlen(password)};
    return run(login, "unlock", option, &input, 1);
}

EXPORTED int pam_sm_authenticate(pam_handle_t *pamh, int flags, int argc, const char **argv) {
    (void)flags;
    drop_password(pamh);
    struct login login;
    const char *password = password_item(pamh, PAM_AUTHTOK);
    if (password == NULL || !begin(&login, pamh, argc, argv))
        return PAM_IGNORE;
    int result = unlock(&login, NULL, password);
    if (result == HELPER_NO_VAULT || result == HELPER_NOT_NOW)
        keep_password(pamh, login.user->pw_uid, password);
    return PAM_IGNORE;
}

EXPORTED int pam_sm_open_session(pam_handle_t *pamh, int flags, int argc, const char **argv) {
    (void)flags;
    struct login login;
    if (begin(&login, pamh, argc, argv)) {
        const char *password = kept_password(pamh, login.user->pw_uid);
        /* Create a vault only at this point: the login's password has been verified, and the home is
         * mounted. */
        const char *option = login.options.creates ? "--create" : NULL;
        int result = password == NULL ? HELPER_DONE : unlock(&login, option, password);
        if (result == HELPER_DONE)
            (void)run(&login, "confirm", NULL, NULL, 0);
    }
    drop_password(pamh);
    return PAM_SUCCESS;
}

/* Prints the only line that the module ever shows to the user: that the vault keeps its old password. */
static void tell_of_old_password(const struct login *login, int flags, const char *keeps) {
    if ((flags & PAM_SILENT) == 0)
        (void)pam_info(login->pamh, "TokenKeep: the vault %s its former password: tokenkeep login status",
                       keeps);
}

EXPORTED int pam_sm_chauthtok(pam_handle_t *pamh, int flags, int argc, const char **argv) {
    struct login login;
    const char *password = text_item(pamh, PAM_AUTHTOK);
    if ((flags & PAM_UPDATE_AUTHTOK) == 0 || password == NULL || !begin(&login, pamh, argc, argv))
        return PAM_IGNORE;
    /* If the old password is empty, the administrator replaced the password. An empty or too long new
     * password cannot be that of a vault. */
    const char *old = password_item(pamh, PAM_OLDAUTHTOK);
    const char *new = password_item(pamh, PAM_AUTHTOK);
    if (old == NULL)
        old = "";
    if (new == NULL)
        new = "";
    struct helper_input inputs[2] = {{old, strlen(old) + 1}, {new, strlen(new) + 1}};
    switch (run(&login, "password", NULL, inputs, 2)) {
    case HELPER_NOT_NOW:
    case HELPER_WRONG_PASSWORD:
    case HELPER_REFUSED:
    case HELPER_DAMAGED:
        tell_of_old_password(&login, flags, "keeps");
        break;
    case HELPER_TIMED_OUT:
    case HELPER_KILLED:
        /* The helper may have changed the vault's password before it was ended. */
        tell_of_old_password(&login, flags, "may keep");
        break;
    }
    return PAM_IGNORE;
}

EXPORTED int pam_sm_close_session(pam_handle_t *pamh, int flags, int argc, const char **argv) {
    (void)pamh, (void)flags, (void)argc, (void)argv;
    return PAM_SUCCESS;
}

EXPORTED int pam_sm_setcred(pam_handle_t *pamh, int flags, int argc, const char **argv) {
    (void)pamh, (void)flags, (void)argc, (void)argv;
    return PAM_IGNORE;
}

EXPORTED int pam_sm_acct_mgmt(pam_handle_t *pamh, int flags, int argc, const char **argv) {
    (void)pamh, (void)flags, (void)argc, (void)argv;
    return PAM_IGNORE;
}
