#ifndef TOKENKEEP_GCRYPT_H
#define TOKENKEEP_GCRYPT_H

#include <stddef.h>
#include <stdint.h>

/* The length in bytes of a public key of the group of 1024 bits (RFC 2409, section 6.2). */
#define TOKENKEEP_DH_LENGTH 128
/* The length in bytes of the secret that belongs to a public key. */
#define TOKENKEEP_DH_SECRET 32
/* The length in bytes of a session's AES key, and of an initialization vector. */
#define TOKENKEEP_AES_LENGTH 16

/* Initialises libgcrypt. Returns 0, or -1 if the library is unusable. Call once, before any thread starts. */
int tokenkeep_gcrypt_start(void);

/* Makes a secret and its public key. Returns 0, or -2 if memory is short. Safe from any thread. */
int tokenkeep_dh_begin(uint8_t secret[TOKENKEEP_DH_SECRET], uint8_t ours[TOKENKEEP_DH_LENGTH]);

/* Derives the session's AES key from our secret and the peer's public key (1 to 128 bytes, big-endian), by
 * HKDF-SHA-256 of the shared secret, as in the Secret Service specification. Returns 0; -1 if the public key
 * is 0, 1, p - 1, p or greater, or has a wrong length; -2 if memory is short. Safe from any thread. */
int tokenkeep_dh_finish(const uint8_t secret[TOKENKEEP_DH_SECRET], const void *peer, size_t peer_length,
                        uint8_t key[TOKENKEEP_AES_LENGTH]);

/* Encrypts or decrypts `length` bytes (a multiple of 16) in place with AES-128-CBC. Returns 0, or -1 on
 * failure. Safe from any thread. */
int tokenkeep_aes_cbc(int decrypts, const uint8_t key[TOKENKEEP_AES_LENGTH],
                      const uint8_t iv[TOKENKEEP_AES_LENGTH], void *bytes, size_t length);

/* Fills `bytes` with random bytes of libgcrypt. */
void tokenkeep_gcrypt_random(void *bytes, size_t length);

#endif
