#ifndef TOKENKEEP_SESSION_KEYS_LOAD_H
#define TOKENKEEP_SESSION_KEYS_LOAD_H

/* Finds the functions of the libgcrypt that libsecret is linked with, if it is. */
void session_keys_load(void *libsecret);

#endif
