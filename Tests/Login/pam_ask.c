/* A PAM module that asks for a password and accepts any. */
#include <security/pam_ext.h>
#include <security/pam_modules.h>
#include <stddef.h>

int pam_sm_authenticate(pam_handle_t *pamh, int flags, int argc, const char **argv) {
    const char *password = NULL;
    (void)flags, (void)argc, (void)argv;
    return pam_get_authtok(pamh, PAM_AUTHTOK, &password, "Password: ");
}

int pam_sm_setcred(pam_handle_t *pamh, int flags, int argc, const char **argv) {
    (void)pamh, (void)flags, (void)argc, (void)argv;
    return PAM_SUCCESS;
}

int pam_sm_chauthtok(pam_handle_t *pamh, int flags, int argc, const char **argv) {
    const char *password = NULL;
    (void)argc, (void)argv;
    if ((flags & PAM_PRELIM_CHECK) != 0)
        return pam_get_authtok(pamh, PAM_OLDAUTHTOK, &password, "Current password: ");
    return pam_get_authtok(pamh, PAM_AUTHTOK, &password, "New password: ");
}
