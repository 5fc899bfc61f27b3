#ifndef TOKENKEEP_CURL_DECODE_H
#define TOKENKEEP_CURL_DECODE_H

#include <stddef.h>

/* The results of tokenkeep_decode. */
enum { DECODED, IS_TOO_LONG };

/* Undoes the content encodings of an answer in place: gzip and deflate, and br and zstd if their libraries,
 * which libcurl loads as well, are there. Bytes that cannot be decoded stay as they are: a server may name an
 * encoding and not use it. The content tells the encoding, where it can; `names` is the header
 * Content-Encoding. */
__attribute__((visibility("hidden"))) int tokenkeep_decode(const char *names, void *bytes, size_t *length,
                                                           size_t capacity);

#endif
