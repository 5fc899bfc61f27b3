/* Calls a registry's JSON gateway by libcurl, over persistent connections, with single answers or streams of
 * lines. */
#ifndef TOKENKEEP_CFLEETLINK_H
#define TOKENKEEP_CFLEETLINK_H

#include <stddef.h>
#include <stdint.h>

#pragma clang assume_nonnull begin

/* The connections of one thread. */
typedef struct tokenkeep_link tokenkeep_link;

/* The results of a call. */
enum {
    TOKENKEEP_LINK_ANSWERED = 0,
    TOKENKEEP_LINK_FAILED = 1, /* tokenkeep_link_problem says why */
    TOKENKEEP_LINK_TIMED_OUT = 2,
    TOKENKEEP_LINK_TOO_LONG = 3,
    TOKENKEEP_LINK_UNTRUSTED = 4, /* the server's certificate, or the file of authorities; as FAILED */
    TOKENKEEP_LINK_REFUSED = 5,   /* the server wants a client certificate, or another one; as FAILED */
    TOKENKEEP_LINK_UNUSABLE = 6,  /* this machine's own certificate or key cannot be read; as FAILED */
};

/* A call. The memory that its pointers refer to must stay valid during the call. */
typedef struct tokenkeep_link_call {
    const char *_Nullable url;
    /* The whole header line "Authorization: …"; NULL for none. */
    const char *_Nullable authorization;
    /* The JSON body of a POST; NULL for a GET. */
    const void *_Nullable body;
    size_t body_length;
    /* Paths of PEM files. NULL means the system's authorities, and no client certificate. */
    const char *_Nullable ca_file;
    const char *_Nullable certificate_file;
    const char *_Nullable key_file;
    /* Whether http is allowed in addition to https. */
    int allows_http;
    /* The time limits for the connection and for the whole call, in milliseconds. */
    uint32_t connect_ms, all_ms;
    /* The buffer for the answer's body. A longer body is refused. */
    void *_Nullable answer;
    size_t answer_capacity;
} tokenkeep_link_call;

/* Loads libcurl, and the functions of libcurl 7.87 that tokenkeep_curl_load does not load. Returns NULL on
 * success; otherwise a static text with the reason. */
const char *_Nullable tokenkeep_link_load(void);

/* Makes a link without connections. NULL if memory or descriptors are short. */
tokenkeep_link *_Nullable tokenkeep_link_new(void);

/* Sends a request and waits for the answer, on the calling thread. A request may be sent twice if a kept
 * connection turns out to be closed. */
int tokenkeep_link_run(tokenkeep_link *link, const tokenkeep_link_call *call);

/* Whether the last call went over a connection that an earlier call had opened. */
int tokenkeep_link_was_kept(const tokenkeep_link *link);

/* Whether the last call had a connection to the server. Meaningful only after TOKENKEEP_LINK_FAILED. */
int tokenkeep_link_was_reached(const tokenkeep_link *link);

/* Closes the kept connections, which may be dead, so that the next call opens a new connection. Returns 0,
 * and keeps the connections, if memory is short. */
int tokenkeep_link_disconnect(tokenkeep_link *link);

uint32_t tokenkeep_link_status(const tokenkeep_link *link);
size_t tokenkeep_link_length(const tokenkeep_link *link);
/* The header Date of the answer; "" for none. Owned by the link. */
const char *tokenkeep_link_date(const tokenkeep_link *link);
/* The failure, in printable ASCII. Owned by the link. */
const char *tokenkeep_link_problem(const tokenkeep_link *link);
void tokenkeep_link_free(tokenkeep_link *_Nullable link);

/* A POST whose answer is a stream of lines without a time limit. */
typedef struct tokenkeep_stream tokenkeep_stream;

/* The results of tokenkeep_stream_next. */
enum {
    TOKENKEEP_STREAM_LINE = 0,
    TOKENKEEP_STREAM_NOTHING = 1, /* the time is over, or a descriptor is readable */
    TOKENKEEP_STREAM_ENDED = 2,   /* tokenkeep_stream_problem says why */
};

/* Begins a request; the texts are copied, `answer` and the limit of all are not used. A line longer than
 * `answer_capacity` ends the stream.
 *
 * is_open: whether the body stays open for tokenkeep_stream_send. Only HTTP/2 passes such bytes on at once.
 * NULL if memory or descriptors are short. */
tokenkeep_stream *_Nullable tokenkeep_stream_begin(const tokenkeep_link_call *call, int is_open);

/* Sends more bytes of the body. Returns 0 if memory is short or the body is not open. */
int tokenkeep_stream_send(tokenkeep_stream *stream, const void *bytes, size_t length);

/* Waits for a line, or until `one` or `other` (-1 for none) is readable. The line is valid until the next
 * call. */
int tokenkeep_stream_next(tokenkeep_stream *stream, uint32_t milliseconds, int one, int other,
                          const char *_Nullable *_Nonnull line, size_t *length);

/* The HTTP status; 0 before the answer begins. */
uint32_t tokenkeep_stream_status(const tokenkeep_stream *stream);
const char *tokenkeep_stream_problem(const tokenkeep_stream *stream);
void tokenkeep_stream_free(tokenkeep_stream *_Nullable stream);

#pragma clang assume_nonnull end

#endif
