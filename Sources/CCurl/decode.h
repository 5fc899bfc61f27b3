#ifndef TOKENKEEP_CURL_DECODE_H
#define TOKENKEEP_CURL_DECODE_H

#include <stddef.h>

/* The results of tokenkeep_decode. */
enum { DECODED, IS_TOO_LONG };

/* Undoes the content encodings of an answer in place: gzip and deflate, and br and zstd if their libraries
 * are installed. Bytes that cannot be decoded stay unchanged, because a server may name an encoding and not
 * use it. The encoding is recognised by the content if possible, and otherwise by `names`, the value of the
 * header Content-Encoding. */
__attribute__((visibility("hidden"))) int tokenkeep_decode(const char *names, void *bytes, size_t *length,
                                                           size_t capacity);

#endif
