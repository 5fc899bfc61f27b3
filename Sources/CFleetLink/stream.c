#include "CSystemShims.h"
#include "link_options.h"
#include "../CCurl/options.h"
#include "../CCurl/sigpipe.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct text_buffer {
    char *bytes;
    size_t length, capacity;
} text_buffer;

struct tokenkeep_stream {
    CURLM *multi;
    CURL *easy;
    link_header_list headers;
    char *authorization;
    text_buffer sent;     /* what the server still has to get */
    text_buffer received; /* what next() has not returned yet */
    size_t returned;      /* the bytes of `received` that the last call returned */
    size_t longest;
    int is_open, is_paused, is_too_long, has_ended;
    char problem[CURL_ERROR_SIZE];
};

static int append(text_buffer *buffer, const void *bytes, size_t length) {
    if (length > buffer->capacity - buffer->length) {
        size_t capacity = (buffer->length + length) * 2;
        char *moved = realloc(buffer->bytes, capacity);
        if (!moved)
            return 0;
        buffer->bytes = moved;
        buffer->capacity = capacity;
    }
    memcpy(buffer->bytes + buffer->length, bytes, length);
    buffer->length += length;
    return 1;
}

static void drop(text_buffer *buffer, size_t length) {
    if (length == 0)
        return;
    memmove(buffer->bytes, buffer->bytes + length, buffer->length - length);
    buffer->length -= length;
}

static size_t give_body(char *bytes, size_t size, size_t count, void *data) {
    tokenkeep_stream *stream = data;
    size_t length = size * count < stream->sent.length ? size * count : stream->sent.length;
    if (length == 0 && stream->is_open) {
        stream->is_paused = 1;
        return CURL_READFUNC_PAUSE_;
    }
    if (length == 0)
        return 0;
    memcpy(bytes, stream->sent.bytes, length);
    drop(&stream->sent, length);
    return length;
}

static size_t take_body(char *bytes, size_t size, size_t count, void *data) {
    tokenkeep_stream *stream = data;
    size_t length = size * count;
    if (length > stream->longest || stream->received.length - stream->returned > stream->longest - length) {
        stream->is_too_long = 1;
        return 0;
    }
    return append(&stream->received, bytes, length) ? length : 0;
}

static CURLcode set_up(tokenkeep_stream *stream, const tokenkeep_link_call *call) {
    CURL *easy = stream->easy;
    tokenkeep_link_call own = *call;
    own.authorization = stream->authorization;
    CURLcode code = tokenkeep_link_set(easy, &own, &stream->headers, stream->problem);
    set_function(easy, CURLOPT_READFUNCTION_, (void (*)(void))give_body, &code);
    set_pointer(easy, CURLOPT_READDATA_, stream, &code);
    set_function(easy, CURLOPT_WRITEFUNCTION, (void (*)(void))take_body, &code);
    set_pointer(easy, CURLOPT_WRITEDATA, stream, &code);
    /* The length -1 makes libcurl send the body in chunks, because the end of an open body is not known
     * yet. */
    set_size(easy, CURLOPT_POSTFIELDSIZE_LARGE, stream->is_open ? -1 : (int64_t)stream->sent.length, &code);
    return code;
}

tokenkeep_stream *tokenkeep_stream_begin(const tokenkeep_link_call *call, int is_open) {
    tokenkeep_stream *stream = calloc(1, sizeof *stream);
    if (!stream)
        return NULL;
    stream->longest = call->answer_capacity;
    stream->is_open = is_open;
    stream->multi = tokenkeep_curl.curl_multi_init();
    stream->easy = tokenkeep_curl.curl_easy_init();
    if (call->authorization)
        stream->authorization = strdup(call->authorization);
    int is_made = stream->multi && stream->easy && (stream->authorization || !call->authorization) &&
                  append(&stream->sent, call->body, call->body_length) && set_up(stream, call) == CURLE_OK &&
                  tokenkeep_curl.curl_multi_add_handle(stream->multi, stream->easy) == 0;
    if (is_made)
        return stream;
    tokenkeep_stream_free(stream);
    return NULL;
}

void tokenkeep_stream_free(tokenkeep_stream *stream) {
    if (!stream)
        return;
    held_sigpipe held = hold_sigpipe();
    if (stream->easy && stream->multi)
        tokenkeep_curl.curl_multi_remove_handle(stream->multi, stream->easy);
    if (stream->easy)
        tokenkeep_curl.curl_easy_cleanup(stream->easy);
    if (stream->multi)
        tokenkeep_curl.curl_multi_cleanup(stream->multi);
    release_sigpipe(&held);
    if (stream->authorization)
        explicit_bzero(stream->authorization, strlen(stream->authorization));
    free(stream->authorization);
    free(stream->sent.bytes);
    free(stream->received.bytes);
    free(stream);
}

int tokenkeep_stream_send(tokenkeep_stream *stream, const void *bytes, size_t length) {
    if (!stream->is_open || stream->has_ended || !append(&stream->sent, bytes, length))
        return 0;
    if (!stream->is_paused)
        return 1;
    stream->is_paused = 0;
    held_sigpipe held = hold_sigpipe();
    CURLcode code = tokenkeep_link_pause(stream->easy, CURLPAUSE_CONT_);
    release_sigpipe(&held);
    return code == CURLE_OK;
}

/* Removes the first complete line from the buffer; 0 if no line is complete. */
static int take_line(tokenkeep_stream *stream, const char **line, size_t *length) {
    if (!stream->received.length)
        return 0;
    const char *end = memchr(stream->received.bytes, '\n', stream->received.length);
    if (!end)
        return 0;
    *line = stream->received.bytes;
    *length = (size_t)(end - stream->received.bytes);
    stream->returned = *length + 1;
    return 1;
}

static void note_end(tokenkeep_stream *stream, CURLcode code) {
    stream->has_ended = 1;
    if (stream->is_too_long)
        strcpy(stream->problem, "a line of the watch is too long");
    else if (code == CURLE_OK)
        strcpy(stream->problem, "the server ended the watch");
    else
        tokenkeep_link_result(code, stream->problem);
    if (!*stream->problem)
        strcpy(stream->problem, "the watch ended");
}

static void perform(tokenkeep_stream *stream) {
    int running = 0, others = 0;
    if (tokenkeep_curl.curl_multi_perform(stream->multi, &running) != 0)
        note_end(stream, CURLE_OK);
    const CURLMsg *message = tokenkeep_curl.curl_multi_info_read(stream->multi, &others);
    if (message && message->msg == CURLMSG_DONE)
        note_end(stream, message->data.result);
}

static int wait_once(tokenkeep_stream *stream, int left, int timer, int one, int other) {
    struct curl_waitfd extra[3];
    unsigned int count = 0;
    int ready = 0;
    if (timer >= 0)
        extra[count++] = (struct curl_waitfd){.fd = timer, .events = 1};
    if (one >= 0)
        extra[count++] = (struct curl_waitfd){.fd = one, .events = 1 /* CURL_WAIT_POLLIN */};
    if (other >= 0)
        extra[count++] = (struct curl_waitfd){.fd = other, .events = 1};
    if (tokenkeep_curl.curl_multi_poll(stream->multi, extra, count, left, &ready) != 0) {
        note_end(stream, CURLE_OK);
        return 0;
    }
    for (unsigned int index = 0; index < count; index++)
        if (extra[index].revents)
            return 1;
    return 0;
}

int tokenkeep_stream_next(tokenkeep_stream *stream, uint32_t milliseconds, int one, int other,
                          const char **line, size_t *length) {
    int64_t end = tokenkeep_deadline_after(milliseconds);
    held_sigpipe held = hold_sigpipe();
    drop(&stream->received, stream->returned);
    stream->returned = 0;
    int result = TOKENKEEP_STREAM_NOTHING, timer = tokenkeep_alarm_open(milliseconds);
    while (1) {
        if (!stream->has_ended)
            perform(stream);
        if (take_line(stream, line, length)) {
            result = TOKENKEEP_STREAM_LINE;
            break;
        }
        if (stream->has_ended) {
            result = TOKENKEEP_STREAM_ENDED;
            break;
        }
        int left = tokenkeep_timeout_until(end);
        if (left <= 0 || wait_once(stream, left, timer, one, other))
            break;
    }
    if (timer >= 0)
        close(timer);
    release_sigpipe(&held);
    return result;
}

uint32_t tokenkeep_stream_status(const tokenkeep_stream *stream) {
    long status = 0;
    tokenkeep_curl.curl_easy_getinfo(stream->easy, CURLINFO_RESPONSE_CODE, &status);
    return (uint32_t)status;
}

const char *tokenkeep_stream_problem(const tokenkeep_stream *stream) {
    return stream->problem;
}
