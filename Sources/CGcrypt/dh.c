#define _GNU_SOURCE
// Sessions of the Secret Service with the algorithm dh-ietf1024-sha256-aes128-cbc-pkcs7.
#include "CGcrypt.h"

#include <gcrypt.h>
#include <string.h>

// The second Oakley group: RFC 2409, section 6.2. The generator is 2.
static const uint8_t prime[TOKENKEEP_DH_LENGTH] = {
    0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xc9, 0x0f, 0xda, 0xa2, 0x21, 0x68, 0xc2, 0x34,
    0xc4, 0xc6, 0x62, 0x8b, 0x80, 0xdc, 0x1c, 0xd1, 0x29, 0x02, 0x4e, 0x08, 0x8a, 0x67, 0xcc, 0x74,
    0x02, 0x0b, 0xbe, 0xa6, 0x3b, 0x13, 0x9b, 0x22, 0x51, 0x4a, 0x08, 0x79, 0x8e, 0x34, 0x04, 0xdd,
    0xef, 0x95, 0x19, 0xb3, 0xcd, 0x3a, 0x43, 0x1b, 0x30, 0x2b, 0x0a, 0x6d, 0xf2, 0x5f, 0x14, 0x37,
    0x4f, 0xe1, 0x35, 0x6d, 0x6d, 0x51, 0xc2, 0x45, 0xe4, 0x85, 0xb5, 0x76, 0x62, 0x5e, 0x7e, 0xc6,
    0xf4, 0x4c, 0x42, 0xe9, 0xa6, 0x37, 0xed, 0x6b, 0x0b, 0xff, 0x5c, 0xb6, 0xf4, 0x06, 0xb7, 0xed,
    0xee, 0x38, 0x6b, 0xfb, 0x5a, 0x89, 0x9f, 0xa5, 0xae, 0x9f, 0x24, 0x11, 0x7c, 0x4b, 0x1f, 0xe6,
    0x49, 0x28, 0x66, 0x51, 0xec, 0xe6, 0x53, 0x81, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
};

int tokenkeep_gcrypt_start(void) {
    if (gcry_check_version("1.8.0") == NULL)
        return -1;
    gcry_control(GCRYCTL_SUSPEND_SECMEM_WARN);
    gcry_control(GCRYCTL_INIT_SECMEM, 32768, 0);
    gcry_control(GCRYCTL_INITIALIZATION_FINISHED, 0);
    return 0;
}

void tokenkeep_gcrypt_random(void *bytes, size_t length) {
    gcry_randomize(bytes, length, GCRY_STRONG_RANDOM);
}

// HMAC-SHA-256 of `data`. 0, or -1.
static int hmac(const uint8_t *key, size_t key_length, const uint8_t *data, size_t length,
                uint8_t result[32]) {
    gcry_md_hd_t md;
    if (gcry_md_open(&md, GCRY_MD_SHA256, GCRY_MD_FLAG_HMAC | GCRY_MD_FLAG_SECURE) != 0)
        return -1;
    int failed = gcry_md_setkey(md, key, key_length) != 0;
    if (!failed) {
        gcry_md_write(md, data, length);
        const uint8_t *digest = gcry_md_read(md, GCRY_MD_SHA256);
        if (digest != NULL)
            memcpy(result, digest, 32);
        else
            failed = 1;
    }
    gcry_md_close(md);
    return failed ? -1 : 0;
}

// HKDF (RFC 5869) without salt and info: the first 16 bytes.
static int derive(const uint8_t shared[TOKENKEEP_DH_LENGTH], uint8_t key[TOKENKEEP_AES_LENGTH]) {
    static const uint8_t salt[32];
    static const uint8_t first = 1;
    uint8_t extracted[32];
    uint8_t expanded[32];
    int result = hmac(salt, sizeof salt, shared, TOKENKEEP_DH_LENGTH, extracted);
    if (result == 0)
        result = hmac(extracted, sizeof extracted, &first, 1, expanded);
    if (result == 0)
        memcpy(key, expanded, TOKENKEEP_AES_LENGTH);
    explicit_bzero(extracted, sizeof extracted);
    explicit_bzero(expanded, sizeof expanded);
    return result;
}

// Writes a number as 128 bytes, with leading zeros.
static int print(gcry_mpi_t number, uint8_t bytes[TOKENKEEP_DH_LENGTH]) {
    uint8_t shortest[TOKENKEEP_DH_LENGTH];
    size_t length = 0;
    if (gcry_mpi_print(GCRYMPI_FMT_USG, shortest, sizeof shortest, &length, number) != 0)
        return -1;
    memset(bytes, 0, TOKENKEEP_DH_LENGTH - length);
    memcpy(bytes + TOKENKEEP_DH_LENGTH - length, shortest, length);
    explicit_bzero(shortest, sizeof shortest);
    return 0;
}

// Whether 1 < number < p - 1.
static int is_public_key(gcry_mpi_t number, gcry_mpi_t p) {
    gcry_mpi_t last = gcry_mpi_new(0);
    gcry_mpi_sub_ui(last, p, 1);
    int result = gcry_mpi_cmp_ui(number, 1) > 0 && gcry_mpi_cmp(number, last) < 0;
    gcry_mpi_release(last);
    return result;
}

static gcry_mpi_t read_number(const void *bytes, size_t length) {
    gcry_mpi_t number = NULL;
    return gcry_mpi_scan(&number, GCRYMPI_FMT_USG, bytes, length, NULL) == 0 ? number : NULL;
}

// base ^ secret mod p, as 128 bytes. 0, or -2 without memory.
static int raise(gcry_mpi_t base, const uint8_t secret[TOKENKEEP_DH_SECRET], gcry_mpi_t p,
                 uint8_t result[TOKENKEEP_DH_LENGTH]) {
    gcry_mpi_t exponent = read_number(secret, TOKENKEEP_DH_SECRET);
    gcry_mpi_t power = gcry_mpi_snew(8 * TOKENKEEP_DH_LENGTH);
    int failed = exponent == NULL;
    if (!failed) {
        gcry_mpi_set_flag(exponent, GCRYMPI_FLAG_SECURE);
        gcry_mpi_powm(power, base, exponent, p);
        failed = print(power, result) != 0;
    }
    gcry_mpi_release(exponent);
    gcry_mpi_release(power);
    return failed ? -2 : 0;
}

int tokenkeep_dh_begin(uint8_t secret[TOKENKEEP_DH_SECRET], uint8_t ours[TOKENKEEP_DH_LENGTH]) {
    // 256 bits are twice the strength of the group of 1024 bits.
    gcry_randomize(secret, TOKENKEEP_DH_SECRET, GCRY_STRONG_RANDOM);
    gcry_mpi_t p = read_number(prime, sizeof prime);
    gcry_mpi_t base = gcry_mpi_set_ui(NULL, 2);
    int result = p == NULL ? -2 : raise(base, secret, p, ours);
    gcry_mpi_release(base);
    gcry_mpi_release(p);
    return result;
}

int tokenkeep_dh_finish(const uint8_t secret[TOKENKEEP_DH_SECRET], const void *peer, size_t peer_length,
                        uint8_t key[TOKENKEEP_AES_LENGTH]) {
    if (peer_length == 0 || peer_length > TOKENKEEP_DH_LENGTH)
        return -1;
    gcry_mpi_t p = read_number(prime, sizeof prime);
    gcry_mpi_t theirs = read_number(peer, peer_length);
    uint8_t shared[TOKENKEEP_DH_LENGTH];
    int result = -2;
    if (p != NULL && theirs != NULL)
        result = is_public_key(theirs, p) ? raise(theirs, secret, p, shared) : -1;
    if (result == 0 && derive(shared, key) != 0)
        result = -2;
    explicit_bzero(shared, sizeof shared);
    gcry_mpi_release(theirs);
    gcry_mpi_release(p);
    return result;
}

int tokenkeep_aes_cbc(int decrypts, const uint8_t key[TOKENKEEP_AES_LENGTH],
                      const uint8_t iv[TOKENKEEP_AES_LENGTH], void *bytes, size_t length) {
    gcry_cipher_hd_t cipher;
    if (gcry_cipher_open(&cipher, GCRY_CIPHER_AES128, GCRY_CIPHER_MODE_CBC, GCRY_CIPHER_SECURE) != 0)
        return -1;
    int failed = gcry_cipher_setkey(cipher, key, TOKENKEEP_AES_LENGTH) != 0 ||
                 gcry_cipher_setiv(cipher, iv, TOKENKEEP_AES_LENGTH) != 0;
    if (!failed)
        failed = (decrypts ? gcry_cipher_decrypt(cipher, bytes, length, NULL, 0)
                           : gcry_cipher_encrypt(cipher, bytes, length, NULL, 0)) != 0;
    gcry_cipher_close(cipher);
    return failed ? -1 : 0;
}
