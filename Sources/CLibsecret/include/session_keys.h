/* Sessions with the algorithm dh-ietf1024-sha256-aes128-cbc-pkcs7, by the libgcrypt that libsecret has
 * loaded.
 *
 * libsecret's own key agreement raises to a power of 1024 bits, twice. That takes two thirds of the
 * processor's time in a program that loads a single item. An exponent of 256 bits has twice the strength of
 * the group. */
#ifndef TOKENKEEP_SESSION_KEYS_H
#define TOKENKEEP_SESSION_KEYS_H

#include <stddef.h>
#include <stdint.h>

/* The length in bytes of a public key of the group of 1024 bits (RFC 2409, section 6.2). */
#define TOKENKEEP_PUBLIC_KEY 128
/* The length in bytes of the secret that belongs to a public key. */
#define TOKENKEEP_PRIVATE_KEY 32
/* The length in bytes of a session's AES key, and of an initialization vector. */
#define TOKENKEEP_SESSION_KEY 16

/* Whether this libsecret uses libgcrypt, which the first call initialises. Call it only after
 * tokenkeep_libsecret_load has returned 0. Any thread. */
int tokenkeep_session_keys_usable(void);

/* Makes the public key of random bytes, whose highest bit counts as set. 0; -1 for a public key that begins
 * with a zero byte, which KWallet before 6.25 refuses; -2 without memory. Any thread. */
int tokenkeep_session_keys_begin(const uint8_t *_Nonnull secret, uint8_t *_Nonnull ours);

/* Makes the session's AES key of our secret and the service's public key: HKDF-SHA-256 of the shared secret,
 * as in the Secret Service specification. 0; -1 for a key that is 0, 1, p - 1, p or greater, or of a wrong
 * length; -2 without memory. Any thread. */
int tokenkeep_session_keys_finish(const uint8_t *_Nonnull secret, const uint8_t *_Nonnull theirs,
                                  size_t length, uint8_t *_Nonnull key);

/* Encrypts `length` bytes (a multiple of 16) in place with AES-128-CBC, or decrypts them. 0, or -1. Any
 * thread. */
int tokenkeep_session_keys_crypt(int decrypts, const uint8_t *_Nonnull key, const uint8_t *_Nonnull iv,
                                 uint8_t *_Nonnull bytes, size_t length);

#endif
