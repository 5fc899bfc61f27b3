/* One HTTP request at a time by libcurl, which is loaded at run time and never linked. */
#ifndef TOKENKEEP_CCURL_H
#define TOKENKEEP_CCURL_H

#include <stddef.h>
#include <stdint.h>

#pragma clang assume_nonnull begin

/* Loads libcurl, once per process. It is never unloaded.
 *
 * * Returns NULL on success; otherwise a static text that says why: the library is not installed, is too old,
 * or cannot be initialised. */
const char *_Nullable tokenkeep_curl_load(void);

/* A request and its answer. */
typedef struct tokenkeep_transfer tokenkeep_transfer;

/* The results of tokenkeep_transfer_run. */
enum {
    TOKENKEEP_TRANSFER_ANSWERED = 0,
    TOKENKEEP_TRANSFER_FAILED = 1, /* tokenkeep_transfer_problem says why */
    TOKENKEEP_TRANSFER_TIMED_OUT = 2,
    TOKENKEEP_TRANSFER_CANCELLED = 3,
    TOKENKEEP_TRANSFER_REFUSED = 4, /* by when_sending */
    TOKENKEEP_TRANSFER_TOO_LONG = 5,
    /* The server's certificate is not signed by a known authority, or the authorities cannot be read.
     * Otherwise like FAILED. */
    TOKENKEEP_TRANSFER_UNTRUSTED = 6,
};

/* A request. The memory that its pointers refer to must stay valid during tokenkeep_transfer_run. */
typedef struct tokenkeep_transfer_request {
    const char *_Nullable url; /* needed, as are when_sending and answer */
    /* The body of a POST; NULL for a GET. */
    const void *_Nullable body;
    size_t body_length;
    /* The headers, each as "Name: value". */
    const char *_Nullable const *_Nullable headers;
    size_t header_count;
    /* The path of a PEM file with the authorities for TLS; NULL for the system's authorities. */
    const char *_Nullable ca_file;
    /* Whether http is allowed in addition to https. */
    int allows_http;
    int ignores_proxies;
    /* The time limits, in milliseconds: for the connection, until the request is sent, for the answer, and in
     * all. */
    uint32_t connect_ms, send_ms, answer_ms, all_ms;
    /* Whether the call waits for the answer to a request that was sent, even after a cancellation. */
    int keeps_answer;
    int (*_Nullable is_cancelled)(const void *_Nullable cancellation);
    const void *_Nullable cancellation;
    /* Called when the connection is established, before the first byte of the request is sent. The request is
     * not sent if the function does not return 0, or if the transfer is cancelled or send_ms have passed when
     * it returns. */
    int (*_Nullable when_sending)(void *_Nullable data);
    void *_Nullable data;
    /* The buffer for the answer's body. A longer body is refused. */
    void *_Nullable answer;
    size_t answer_capacity;
} tokenkeep_transfer_request;

/* Makes a transfer. Call only after tokenkeep_curl_load has returned NULL. NULL if memory or descriptors are
 * short. */
tokenkeep_transfer *_Nullable tokenkeep_transfer_new(void);

/* Sends the request and waits for the answer, on the calling thread. Run a transfer once. */
int tokenkeep_transfer_run(tokenkeep_transfer *transfer, const tokenkeep_transfer_request *request);

/* Wakes a running transfer, so that it calls is_cancelled. Safe from any thread. */
void tokenkeep_transfer_wake(tokenkeep_transfer *transfer);

/* Whether when_sending allowed the request, so that the server may have received it. */
int tokenkeep_transfer_was_sent(const tokenkeep_transfer *transfer);

/* Whether a request that failed or timed out received bytes of an answer with a status of 200 to 299. The
 * bytes may be the whole answer, with a wrong length or without the end of the connection. They are decoded
 * like those of a complete answer. */
int tokenkeep_transfer_is_cut(const tokenkeep_transfer *transfer);

/* The HTTP status. */
uint32_t tokenkeep_transfer_status(const tokenkeep_transfer *transfer);

/* The length of the answer's body. */
size_t tokenkeep_transfer_length(const tokenkeep_transfer *transfer);

/* The headers Content-Type, Date and Retry-After of the answer; "" for none. Owned by the transfer. */
const char *tokenkeep_transfer_content_type(const tokenkeep_transfer *transfer);
const char *tokenkeep_transfer_date(const tokenkeep_transfer *transfer);
const char *tokenkeep_transfer_retry_after(const tokenkeep_transfer *transfer);

/* The failure, in printable ASCII. Owned by the transfer. */
const char *tokenkeep_transfer_problem(const tokenkeep_transfer *transfer);

void tokenkeep_transfer_free(tokenkeep_transfer *_Nullable transfer);

#pragma clang assume_nonnull end

#endif
