#define _GNU_SOURCE
#include "CLibsecret.h"
#include "session_keys_load.h"
#include "session_keys.h"

#include <dlfcn.h>
#include <pthread.h>
#include <string.h>

/* libgcrypt's types and constants, as defined by the ABI of libgcrypt.so.20. Declared here so that a build
 * needs no headers of that library. */
typedef struct gcry_mpi *number;
typedef struct gcry_md_handle *digest;
typedef struct gcry_cipher_handle *cipher;
enum {
    suspend_warnings = 28,
    make_secure_memory = 24,
    keep_privileges = 68,
    initialised = 38,
    is_initialised = 39,
    unsigned_format = 5,
    sha256 = 8,
    secure_hmac = 3,
    aes128 = 7,
    cbc_mode = 3,
    secure_cipher = 1
};
#define COMMAND int
#define FORMAT  int

static struct {
#define FUNCTION(result, name, parameters) result(*name) parameters;
#include "gcrypt_functions.def"
#undef FUNCTION
} gcrypt;

static int is_complete;

void session_keys_load(void *libsecret) {
#define FUNCTION(result, name, parameters)                                                                   \
    if (!(*(void **)&gcrypt.name = dlsym(libsecret, "gcry_" #name)))                                         \
        return;
#include "gcrypt_functions.def"
#undef FUNCTION
    is_complete = 1;
}

static pthread_once_t once = PTHREAD_ONCE_INIT;
static int is_usable;

enum { secure_memory = 32768 };

/* libsecret initialises libgcrypt with the process's first session, unless somebody did before. The
 * privileges of the program are its own: without this word libgcrypt drops them. */
static void initialise(void) {
    if (!gcrypt.control(is_initialised)) {
        gcrypt.control(keep_privileges, 0);
        gcrypt.control(suspend_warnings);
        gcrypt.control(make_secure_memory, (int)secure_memory, 0);
        gcrypt.control(initialised, 0);
    }
    is_usable = gcrypt.control(is_initialised) != 0;
}

int tokenkeep_session_keys_usable(void) {
    if (is_complete)
        pthread_once(&once, initialise);
    return is_usable;
}

/* The second Oakley group: RFC 2409, section 6.2. The generator is 2. */
static const uint8_t prime[TOKENKEEP_PUBLIC_KEY] = {
    0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xc9, 0x0f, 0xda, 0xa2, 0x21, 0x68, 0xc2, 0x34,
    0xc4, 0xc6, 0x62, 0x8b, 0x80, 0xdc, 0x1c, 0xd1, 0x29, 0x02, 0x4e, 0x08, 0x8a, 0x67, 0xcc, 0x74,
    0x02, 0x0b, 0xbe, 0xa6, 0x3b, 0x13, 0x9b, 0x22, 0x51, 0x4a, 0x08, 0x79, 0x8e, 0x34, 0x04, 0xdd,
    0xef, 0x95, 0x19, 0xb3, 0xcd, 0x3a, 0x43, 0x1b, 0x30, 0x2b, 0x0a, 0x6d, 0xf2, 0x5f, 0x14, 0x37,
    0x4f, 0xe1, 0x35, 0x6d, 0x6d, 0x51, 0xc2, 0x45, 0xe4, 0x85, 0xb5, 0x76, 0x62, 0x5e, 0x7e, 0xc6,
    0xf4, 0x4c, 0x42, 0xe9, 0xa6, 0x37, 0xed, 0x6b, 0x0b, 0xff, 0x5c, 0xb6, 0xf4, 0x06, 0xb7, 0xed,
    0xee, 0x38, 0x6b, 0xfb, 0x5a, 0x89, 0x9f, 0xa5, 0xae, 0x9f, 0x24, 0x11, 0x7c, 0x4b, 0x1f, 0xe6,
    0x49, 0x28, 0x66, 0x51, 0xec, 0xe6, 0x53, 0x81, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
};

static number read_number(const uint8_t *bytes, size_t length) {
    number read = NULL;
    return gcrypt.mpi_scan(&read, unsigned_format, bytes, length, NULL) == 0 ? read : NULL;
}

/* A number that lies in locked memory from its first byte on. */
static number read_secret(const uint8_t *bytes) {
    number secret = gcrypt.mpi_snew(8 * TOKENKEEP_PRIVATE_KEY);
    for (unsigned bit = 0; secret && bit < 8 * TOKENKEEP_PRIVATE_KEY; bit++)
        if (bytes[TOKENKEEP_PRIVATE_KEY - 1 - bit / 8] >> (bit % 8) & 1)
            gcrypt.mpi_set_bit(secret, bit);
    if (secret)
        gcrypt.mpi_set_bit(secret, 8 * TOKENKEEP_PRIVATE_KEY - 1);
    return secret;
}

/* Writes a number as 128 bytes, with leading zeros. 0, or -2. */
static int print(number printed, uint8_t *bytes) {
    uint8_t shortest[TOKENKEEP_PUBLIC_KEY];
    size_t length = 0;
    if (gcrypt.mpi_print(unsigned_format, shortest, sizeof shortest, &length, printed) != 0)
        return -2;
    memset(bytes, 0, sizeof shortest - length);
    memcpy(bytes + sizeof shortest - length, shortest, length);
    explicit_bzero(shortest, sizeof shortest);
    return 0;
}

/* base ^ secret mod p, as 128 bytes. 0, or -2 without memory. */
static int raise_number(number base, const uint8_t *secret, number p, uint8_t *result) {
    number exponent = read_secret(secret), power = gcrypt.mpi_snew(8 * TOKENKEEP_PUBLIC_KEY);
    int error = -2;
    if (exponent && power) {
        gcrypt.mpi_powm(power, base, exponent, p);
        error = print(power, result);
    }
    gcrypt.mpi_release(exponent);
    gcrypt.mpi_release(power);
    return error;
}

int tokenkeep_session_keys_begin(const uint8_t *secret, uint8_t *ours) {
    number p = read_number(prime, sizeof prime), base = gcrypt.mpi_set_ui(NULL, 2);
    int error = p && base ? raise_number(base, secret, p, ours) : -2;
    gcrypt.mpi_release(base);
    gcrypt.mpi_release(p);
    return error != 0 ? error : ours[0] != 0 ? 0 : -1;
}

/* Whether 1 < candidate < p - 1. */
static int is_public_key(number candidate, number p) {
    number last = gcrypt.mpi_new(0);
    gcrypt.mpi_sub_ui(last, p, 1);
    int is_key = gcrypt.mpi_cmp_ui(candidate, 1) > 0 && gcrypt.mpi_cmp(candidate, last) < 0;
    gcrypt.mpi_release(last);
    return is_key;
}

/* HMAC-SHA-256 of `data`. 0, or -2. */
static int hmac(const uint8_t *key, size_t key_length, const uint8_t *data, size_t length, uint8_t *result) {
    digest md;
    if (gcrypt.md_open(&md, sha256, secure_hmac) != 0)
        return -2;
    int error = gcrypt.md_setkey(md, key, key_length) != 0 ? -2 : 0;
    if (error == 0) {
        gcrypt.md_write(md, data, length);
        const uint8_t *sum = gcrypt.md_read(md, sha256);
        if (sum)
            memcpy(result, sum, 32);
        else
            error = -2;
    }
    gcrypt.md_close(md);
    return error;
}

/* HKDF (RFC 5869) without salt and info: the first 16 bytes. */
static int derive(const uint8_t *shared, uint8_t *key) {
    static const uint8_t salt[32], first = 1;
    uint8_t extracted[32], expanded[32];
    int error = hmac(salt, sizeof salt, shared, TOKENKEEP_PUBLIC_KEY, extracted);
    if (error == 0)
        error = hmac(extracted, sizeof extracted, &first, 1, expanded);
    if (error == 0)
        memcpy(key, expanded, TOKENKEEP_SESSION_KEY);
    explicit_bzero(extracted, sizeof extracted);
    explicit_bzero(expanded, sizeof expanded);
    return error;
}

int tokenkeep_session_keys_finish(const uint8_t *secret, const uint8_t *theirs, size_t length, uint8_t *key) {
    if (length == 0 || length > TOKENKEEP_PUBLIC_KEY)
        return -1;
    number p = read_number(prime, sizeof prime), base = read_number(theirs, length);
    uint8_t shared[TOKENKEEP_PUBLIC_KEY];
    int error = -2;
    if (p && base)
        error = is_public_key(base, p) ? raise_number(base, secret, p, shared) : -1;
    if (error == 0)
        error = derive(shared, key);
    explicit_bzero(shared, sizeof shared);
    gcrypt.mpi_release(base);
    gcrypt.mpi_release(p);
    return error;
}

int tokenkeep_session_keys_crypt(int decrypts, const uint8_t *key, const uint8_t *iv, uint8_t *bytes,
                                 size_t length) {
    cipher aes;
    if (gcrypt.cipher_open(&aes, aes128, cbc_mode, secure_cipher) != 0)
        return -1;
    int failed = gcrypt.cipher_setkey(aes, key, TOKENKEEP_SESSION_KEY) != 0 ||
                 gcrypt.cipher_setiv(aes, iv, TOKENKEEP_SESSION_KEY) != 0;
    if (!failed)
        failed = (decrypts ? gcrypt.cipher_decrypt(aes, bytes, length, NULL, 0)
                           : gcrypt.cipher_encrypt(aes, bytes, length, NULL, 0)) != 0;
    gcrypt.cipher_close(aes);
    return failed ? -1 : 0;
}
