/* Compiled against the real header of libgcrypt: the list of functions and the constants declared beside it
 * are right. Compile with -Werror; there is nothing to run. */
#include <gcrypt.h>
#include <stdint.h>

typedef gcry_mpi_t number;
typedef gcry_md_hd_t digest;
typedef gcry_cipher_hd_t cipher;

#define COMMAND enum gcry_ctl_cmds
#define FORMAT  enum gcry_mpi_format
#define FUNCTION(result, name, parameters)                                                                   \
    extern result(*check_##name) parameters;                                                                 \
    result(*check_##name) parameters = gcry_##name;
#include "gcrypt_functions.def"
#undef FUNCTION

_Static_assert(sizeof(COMMAND) == sizeof(int) && sizeof(FORMAT) == sizeof(int), "an enumeration is no int");
_Static_assert(GCRYCTL_INIT_SECMEM == 24 && GCRYCTL_SUSPEND_SECMEM_WARN == 28 &&
                   GCRYCTL_INITIALIZATION_FINISHED == 38 && GCRYCTL_DISABLE_PRIV_DROP == 68,
               "a command differs");
_Static_assert(GCRYCTL_INITIALIZATION_FINISHED_P == 39 && GCRYMPI_FMT_USG == 5 && GCRY_MD_SHA256 == 8 &&
                   (GCRY_MD_FLAG_SECURE | GCRY_MD_FLAG_HMAC) == 3 && GCRY_CIPHER_AES128 == 7 &&
                   GCRY_CIPHER_MODE_CBC == 3 && GCRY_CIPHER_SECURE == 1,
               "a constant differs");
