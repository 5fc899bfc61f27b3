/* The password of an authentication that found no vault. It is kept until the session begins, because an
 * encrypted home with the vault may be mounted by then. */
#ifndef TOKENKEEP_PAM_KEPT_PASSWORD_H
#define TOKENKEEP_PAM_KEPT_PASSWORD_H

#include <security/pam_modules.h>
#include <sys/types.h>

/* Keeps a copy of the user's password in locked memory until drop_password(), pam_end() or another
 * keep_password(). Keeps nothing if memory cannot be locked. */
void keep_password(pam_handle_t *pamh, uid_t user, const char *password);

/* The kept password, owned by pamh. NULL if there is none, or if the password is another user's: sudo
 * authenticates one user and opens the session of another. */
const char *kept_password(pam_handle_t *pamh, uid_t user);

/* Wipes the kept password. */
void drop_password(pam_handle_t *pamh);

#endif
