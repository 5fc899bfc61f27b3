#include "decode.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* The maximum number of encodings, one over the other, that are undone. */
enum { most_rounds = 4 };

/* Decodes into `target`. Returns the decoded length; FAILED, or more than `capacity` if there is no room. */
typedef size_t decoder(const unsigned char *source, size_t length, unsigned char *target, size_t capacity);
static const size_t FAILED = SIZE_MAX;

/* The stable ABI of zlib. */
typedef struct zlib_stream {
    const unsigned char *next_in;
    unsigned int avail_in;
    unsigned long total_in;
    unsigned char *next_out;
    unsigned int avail_out;
    unsigned long total_out;
    const char *message;
    void *state;
    void *(*allocate)(void *data, unsigned int count, unsigned int size);
    void (*release)(void *data, void *memory);
    void *data;
    int data_type;
    unsigned long checksum, reserved;
} zlib_stream;
enum {
    zlib_ok = 0,
    zlib_end = 1,
    zlib_finish = 4,
    zlib_buffer_error = -5,
    zlib_any_header = 47,
    zlib_no_header = -15
};

static void *function(const char *library, const char *name) {
    void *handle = dlopen(library, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    return handle ? dlsym(handle, name) : NULL;
}
/* Sets a pointer to a function of a library; NULL if the library does not have the function. */
#define LOAD(pointer, library, name) (*(void **)&(pointer) = function(library, name))

/* Each block begins with its size, so that it can be wiped. */
static void *allocate(void *data, unsigned int count, unsigned int size) {
    (void)data;
    size_t length = (size_t)count * size;
    size_t *block = length > SIZE_MAX / 2 ? NULL : calloc(1, length + 16);
    if (!block)
        return NULL;
    *block = length + 16;
    return (char *)block + 16;
}

static void release(void *data, void *memory) {
    (void)data;
    if (!memory)
        return;
    size_t *block = (size_t *)(void *)((char *)memory - 16);
    explicit_bzero(block, *block);
    free(block);
}

static size_t inflate_with(int window, const unsigned char *source, size_t length, unsigned char *target,
                           size_t capacity) {
    int (*start)(zlib_stream *, int, const char *, int), (*run)(zlib_stream *, int), (*end)(zlib_stream *);
    LOAD(start, "libz.so.1", "inflateInit2_");
    LOAD(run, "libz.so.1", "inflate");
    LOAD(end, "libz.so.1", "inflateEnd");
    zlib_stream stream = {.allocate = allocate, .release = release};
    if (!start || !run || !end || start(&stream, window, "1", sizeof stream) != zlib_ok)
        return FAILED;
    stream.next_in = source;
    stream.avail_in = (unsigned int)length;
    stream.next_out = target;
    stream.avail_out = (unsigned int)capacity;
    int result = run(&stream, zlib_finish);
    size_t written = capacity - stream.avail_out;
    int is_full = result == zlib_buffer_error && stream.avail_out == 0;
    /* Plain text may look like the beginning of deflate without a header, so then the whole input must be
     * used. */
    int is_whole = result == zlib_end && (window != zlib_no_header || stream.avail_in == 0);
    end(&stream);
    if (is_full && window != zlib_no_header)
        return capacity + 1;
    return is_whole ? written : FAILED;
}

static size_t inflate(const unsigned char *source, size_t length, unsigned char *target, size_t capacity) {
    size_t written = inflate_with(zlib_any_header, source, length, target, capacity);
    /* Some servers send deflate without zlib's header. */
    return written == FAILED ? inflate_with(zlib_no_header, source, length, target, capacity) : written;
}

static size_t unbrotli(const unsigned char *source, size_t length, unsigned char *target, size_t capacity) {
    int (*run)(size_t, const unsigned char *, size_t *, unsigned char *);
    LOAD(run, "libbrotlidec.so.1", "BrotliDecoderDecompress");
    size_t written = capacity;
    if (!run || run(length, source, &written, target) != 1)
        return FAILED;
    return written;
}

static size_t unzstd(const unsigned char *source, size_t length, unsigned char *target, size_t capacity) {
    size_t (*run)(void *, size_t, const void *, size_t);
    unsigned int (*is_error)(size_t);
    LOAD(run, "libzstd.so.1", "ZSTD_decompress");
    LOAD(is_error, "libzstd.so.1", "ZSTD_isError");
    if (!run || !is_error)
        return FAILED;
    size_t written = run(target, capacity, source, length);
    return is_error(written) ? FAILED : written;
}

static int has_name(const char *names, const char *name) {
    size_t length = strlen(name);
    for (const char *at = names; *at; at++)
        if (strncasecmp(at, name, length) == 0 && (at == names || strchr(" ,\t", at[-1])) &&
            (!at[length] || strchr(" ,;\t", at[length])))
            return 1;
    return 0;
}

/* The decoder for bytes; NULL for plain bytes. No token response begins like compressed data. */
static decoder *choose(const char *names, const unsigned char *bytes, size_t length) {
    static const unsigned char zstd[] = {0x28, 0xb5, 0x2f, 0xfd};
    if (length >= 2 && bytes[0] == 0x1f && bytes[1] == 0x8b)
        return inflate;
    if (length >= sizeof zstd && memcmp(bytes, zstd, sizeof zstd) == 0)
        return unzstd;
    if (has_name(names, "br"))
        return unbrotli;
    return has_name(names, "deflate") ? inflate : NULL;
}

int tokenkeep_decode(const char *names, void *bytes, size_t *length, size_t capacity) {
    unsigned char *copy = NULL;
    int result = DECODED;
    for (int round = 0; round < most_rounds; round++) {
        decoder *decode = choose(names, bytes, *length);
        if (!decode || *length > UINT_MAX || (!copy && !(copy = malloc(capacity))))
            break;
        size_t written = decode(bytes, *length, copy, capacity);
        if (written == FAILED)
            break;
        if (written > capacity) {
            result = IS_TOO_LONG;
            break;
        }
        memcpy(bytes, copy, written);
        *length = written;
    }
    if (copy)
        explicit_bzero(copy, capacity);
    free(copy);
    return result;
}
