#include "CCurl.h"
#include "CSystemShims.h"
#include "curl_table.h"
#include "decode.h"
#include "options.h"
#include "sigpipe.h"

#include <stdlib.h>
#include <string.h>

enum { most_headers = 8 };

struct tokenkeep_transfer {
    CURLM *multi;
    const tokenkeep_transfer_request *request;
    struct curl_slist headers[most_headers + 1];
    int64_t end, sending_end, answer_end; /* deadlines */
    int was_sent, is_too_long, is_cut;
    int refusal; /* a result that was found before the first byte; 0 for none */
    uint32_t status;
    size_t length;
    char content_type[128], content_encoding[64], date[64], retry_after[64];
    char problem[CURL_ERROR_SIZE];
};

tokenkeep_transfer *tokenkeep_transfer_new(void) {
    tokenkeep_transfer *transfer = calloc(1, sizeof *transfer);
    if (!transfer)
        return NULL;
    transfer->multi = tokenkeep_curl.curl_multi_init();
    if (transfer->multi)
        return transfer;
    free(transfer);
    return NULL;
}

void tokenkeep_transfer_free(tokenkeep_transfer *transfer) {
    if (!transfer)
        return;
    held_sigpipe held = hold_sigpipe();
    tokenkeep_curl.curl_multi_cleanup(transfer->multi);
    release_sigpipe(&held);
    explicit_bzero(transfer, sizeof *transfer);
    free(transfer);
}

void tokenkeep_transfer_wake(tokenkeep_transfer *transfer) {
    tokenkeep_curl.curl_multi_wakeup(transfer->multi);
}

/* The milliseconds that the transfer may still take; 0 if its time is over. */
static int time_left(const tokenkeep_transfer *transfer) {
    int64_t step = transfer->was_sent ? transfer->answer_end : transfer->sending_end;
    return tokenkeep_timeout_until(step < transfer->end ? step : transfer->end);
}

static int is_cancelled(const tokenkeep_transfer *transfer) {
    const tokenkeep_transfer_request *request = transfer->request;
    if (transfer->was_sent && request->keeps_answer)
        return 0;
    return request->is_cancelled && request->is_cancelled(request->cancellation);
}

/* The reason not to send the request on the established connection; 0 if the request may be sent. */
static int refusal(tokenkeep_transfer *transfer) {
    if (transfer->was_sent || transfer->request->when_sending(transfer->request->data) != 0)
        return TOKENKEEP_TRANSFER_REFUSED;
    /* Check for a cancellation once more, because when_sending may have taken long: it writes to disks. */
    if (is_cancelled(transfer))
        return TOKENKEEP_TRANSFER_CANCELLED;
    return time_left(transfer) <= 0 ? TOKENKEEP_TRANSFER_TIMED_OUT : 0;
}

static int on_connection(void *data, char *address, char *own_address, int port, int own_port) {
    (void)address, (void)own_address, (void)port, (void)own_port;
    tokenkeep_transfer *transfer = data;
    transfer->refusal = refusal(transfer);
    if (transfer->refusal)
        return CURL_PREREQFUNC_ABORT;
    transfer->answer_end = tokenkeep_deadline_after(transfer->request->answer_ms);
    transfer->was_sent = 1;
    return CURL_PREREQFUNC_OK;
}

static size_t on_body(char *bytes, size_t size, size_t count, void *data) {
    tokenkeep_transfer *transfer = data;
    size_t length = size * count; /* size is 1 */
    if (length > transfer->request->answer_capacity - transfer->length) {
        transfer->is_too_long = 1;
        return 0;
    }
    memcpy((char *)transfer->request->answer + transfer->length, bytes, length);
    transfer->length += length;
    return length;
}

static void copy_printable(char *copy, size_t capacity, const char *bytes, size_t length) {
    size_t end = length < capacity - 1 ? length : capacity - 1;
    for (size_t index = 0; index < end; index++)
        copy[index] = bytes[index] >= ' ' && bytes[index] <= '~' ? bytes[index] : '?';
    copy[end] = 0;
}

static void keep_header(char *copy, size_t capacity, const char *name, const char *line, size_t length) {
    size_t start = strlen(name);
    if (length < start || strncasecmp(line, name, start) != 0)
        return;
    while (start < length && (line[start] == ' ' || line[start] == '\t'))
        start++;
    while (length > start && (unsigned char)line[length - 1] <= ' ')
        length--;
    copy_printable(copy, capacity, line + start, length - start);
}

static size_t on_header(char *line, size_t size, size_t count, void *data) {
    tokenkeep_transfer *transfer = data;
    size_t length = size * count;
    /* A status line begins a new head, because heads of interim answers (100, 103) may precede that of the
     * answer. */
    if (length > 5 && memcmp(line, "HTTP/", 5) == 0)
        *transfer->content_type = *transfer->content_encoding = *transfer->date = *transfer->retry_after = 0;
    keep_header(transfer->content_type, sizeof transfer->content_type, "Content-Type:", line, length);
    keep_header(transfer->content_encoding, sizeof transfer->content_encoding, "Content-Encoding:", line,
                length);
    keep_header(transfer->date, sizeof transfer->date, "Date:", line, length);
    keep_header(transfer->retry_after, sizeof transfer->retry_after, "Retry-After:", line, length);
    return length;
}

static void set_callbacks(CURL *easy, tokenkeep_transfer *transfer, CURLcode *code) {
    set_function(easy, CURLOPT_PREREQFUNCTION, (void (*)(void))on_connection, code);
    set_pointer(easy, CURLOPT_PREREQDATA, transfer, code);
    set_function(easy, CURLOPT_WRITEFUNCTION, (void (*)(void))on_body, code);
    set_pointer(easy, CURLOPT_WRITEDATA, transfer, code);
    set_function(easy, CURLOPT_HEADERFUNCTION, (void (*)(void))on_header, code);
    set_pointer(easy, CURLOPT_HEADERDATA, transfer, code);
    set_function(easy, CURLOPT_OPENSOCKETFUNCTION, (void (*)(void))open_socket, code);
    set_pointer(easy, CURLOPT_ERRORBUFFER, transfer->problem, code);
}

/* The list of headers is made here, because libcurl's function for it would copy a token into memory that is
 * not wiped. */
static void set_headers(CURL *easy, tokenkeep_transfer *transfer, CURLcode *code) {
    const tokenkeep_transfer_request *request = transfer->request;
    static char no_expectation[] = "Expect:";
    transfer->headers[0].data = no_expectation;
    for (size_t index = 0; index < request->header_count && index < most_headers; index++) {
        transfer->headers[index + 1].data = (char *)request->headers[index];
        transfer->headers[index].next = &transfer->headers[index + 1];
    }
    set_pointer(easy, CURLOPT_HTTPHEADER, transfer->headers, code);
}

static void set_request(CURL *easy, const tokenkeep_transfer_request *request, CURLcode *code) {
    set_pointer(easy, CURLOPT_URL, request->url, code);
    set_pointer(easy, CURLOPT_PROTOCOLS_STR, request->allows_http ? "http,https" : "https", code);
    set_pointer(easy, CURLOPT_USERAGENT, "TokenKeep", code);
    if (request->ignores_proxies)
        set_pointer(easy, CURLOPT_PROXY, "", code);
    if (request->ca_file) {
        set_pointer(easy, CURLOPT_CAINFO, request->ca_file, code);
        // Else the system's authorities count as well.
        set_pointer(easy, CURLOPT_CAPATH, NULL, code);
    }
    if (!request->body)
        return;
    set_long(easy, CURLOPT_POST, 1, code);
    set_pointer(easy, CURLOPT_POSTFIELDS, request->body, code); /* not copied */
    set_size(easy, CURLOPT_POSTFIELDSIZE_LARGE, (int64_t)request->body_length, code);
}

/* Requests HTTP/2 over TLS, which is used if both libcurl and the server support it. */
static void set_http_version(CURL *easy, CURLcode *code) {
    CURLcode result = *code;
    set_long(easy, CURLOPT_HTTP_VERSION, CURL_HTTP_VERSION_2TLS, &result);
    if (result != CURLE_OK)
        set_long(easy, CURLOPT_HTTP_VERSION, CURL_HTTP_VERSION_1_1, code);
}

static CURLcode set_up(CURL *easy, tokenkeep_transfer *transfer) {
    CURLcode code = CURLE_OK;
    set_callbacks(easy, transfer, &code);
    set_headers(easy, transfer, &code);
    set_request(easy, transfer->request, &code);
    set_long(easy, CURLOPT_NOSIGNAL, 1, &code);
    set_long(easy, CURLOPT_QUICK_EXIT, 1, &code);
    /* Always use a new connection, because libcurl repeats a POST by itself if a reused connection is
     * dead. */
    set_long(easy, CURLOPT_FRESH_CONNECT, 1, &code);
    set_long(easy, CURLOPT_FORBID_REUSE, 1, &code);
    set_http_version(easy, &code);
    set_long(easy, CURLOPT_SSLVERSION, CURL_SSLVERSION_TLSv1_2, &code);
    set_long(easy, CURLOPT_SUPPRESS_CONNECT_HEADERS, 1, &code);
    set_long(easy, CURLOPT_CONNECTTIMEOUT_MS, (long)transfer->request->connect_ms, &code);
    return code;
}

/* Notes the bytes of an answer whose end is missing or wrong. Returns `result`. */
static int keep_cut(tokenkeep_transfer *transfer, CURL *easy, int result) {
    long status = 0;
    tokenkeep_curl.curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &status);
    if (transfer->was_sent && transfer->length > 0 && status / 100 == 2) {
        transfer->status = (uint32_t)status;
        transfer->is_cut = 1;
    }
    return result;
}

static int judge(tokenkeep_transfer *transfer, CURL *easy, CURLcode code) {
    if (transfer->refusal)
        return transfer->refusal;
    if (transfer->is_too_long)
        return TOKENKEEP_TRANSFER_TOO_LONG;
    if (code == CURLE_OPERATION_TIMEDOUT)
        return keep_cut(transfer, easy, TOKENKEEP_TRANSFER_TIMED_OUT);
    if (code != CURLE_OK) {
        const char *text = *transfer->problem ? transfer->problem : tokenkeep_curl.curl_easy_strerror(code);
        copy_printable(transfer->problem, sizeof transfer->problem, text, strlen(text));
        int is_untrusted = code == CURLE_PEER_FAILED_VERIFICATION || code == CURLE_SSL_CACERT_BADFILE;
        return is_untrusted ? TOKENKEEP_TRANSFER_UNTRUSTED
                            : keep_cut(transfer, easy, TOKENKEEP_TRANSFER_FAILED);
    }
    long status = 0;
    tokenkeep_curl.curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &status);
    transfer->status = (uint32_t)status;
    return TOKENKEEP_TRANSFER_ANSWERED;
}

static int drive(tokenkeep_transfer *transfer, CURL *easy) {
    while (1) {
        int running = 0, others = 0;
        if (tokenkeep_curl.curl_multi_perform(transfer->multi, &running) != 0)
            return TOKENKEEP_TRANSFER_FAILED;
        const CURLMsg *message = tokenkeep_curl.curl_multi_info_read(transfer->multi, &others);
        if (message && message->msg == CURLMSG_DONE)
            return judge(transfer, easy, message->data.result);
        if (is_cancelled(transfer))
            return TOKENKEEP_TRANSFER_CANCELLED;
        int left = time_left(transfer);
        if (left == 0)
            return keep_cut(transfer, easy, TOKENKEEP_TRANSFER_TIMED_OUT);
        if (tokenkeep_curl.curl_multi_poll(transfer->multi, NULL, 0, left, NULL) != 0)
            return TOKENKEEP_TRANSFER_FAILED;
    }
}

static int perform(tokenkeep_transfer *transfer) {
    CURL *easy = tokenkeep_curl.curl_easy_init();
    if (!easy)
        return TOKENKEEP_TRANSFER_FAILED;
    int result = TOKENKEEP_TRANSFER_FAILED;
    CURLcode code = set_up(easy, transfer);
    if (code != CURLE_OK)
        result = judge(transfer, easy, code);
    else if (tokenkeep_curl.curl_multi_add_handle(transfer->multi, easy) == 0) {
        result = drive(transfer, easy);
        tokenkeep_curl.curl_multi_remove_handle(transfer->multi, easy);
    }
    tokenkeep_curl.curl_easy_cleanup(easy);
    return result;
}

int tokenkeep_transfer_run(tokenkeep_transfer *transfer, const tokenkeep_transfer_request *request) {
    transfer->request = request;
    transfer->end = tokenkeep_deadline_after(request->all_ms);
    transfer->sending_end = tokenkeep_deadline_after(request->send_ms);
    held_sigpipe held = hold_sigpipe();
    int result = perform(transfer);
    release_sigpipe(&held);
    transfer->request = NULL;
    if ((result == TOKENKEEP_TRANSFER_ANSWERED || transfer->is_cut) &&
        tokenkeep_decode(transfer->content_encoding, request->answer, &transfer->length,
                         request->answer_capacity) == IS_TOO_LONG) {
        transfer->is_cut = 0;
        result = TOKENKEEP_TRANSFER_TOO_LONG;
    }
    if (result == TOKENKEEP_TRANSFER_FAILED && !*transfer->problem)
        strcpy(transfer->problem, "libcurl has no memory or no descriptor");
    return result;
}

int tokenkeep_transfer_was_sent(const tokenkeep_transfer *transfer) {
    return transfer->was_sent;
}

int tokenkeep_transfer_is_cut(const tokenkeep_transfer *transfer) {
    return transfer->is_cut;
}

uint32_t tokenkeep_transfer_status(const tokenkeep_transfer *transfer) {
    return transfer->status;
}

size_t tokenkeep_transfer_length(const tokenkeep_transfer *transfer) {
    return transfer->length;
}

const char *tokenkeep_transfer_content_type(const tokenkeep_transfer *transfer) {
    return transfer->content_type;
}

const char *tokenkeep_transfer_date(const tokenkeep_transfer *transfer) {
    return transfer->date;
}

const char *tokenkeep_transfer_retry_after(const tokenkeep_transfer *transfer) {
    return transfer->retry_after;
}

const char *tokenkeep_transfer_problem(const tokenkeep_transfer *transfer) {
    return transfer->problem;
}
