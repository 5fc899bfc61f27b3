#include "CSystemShims.h"
#include "link_options.h"
#include "../CCurl/options.h"
#include "../CCurl/sigpipe.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

struct tokenkeep_link {
    CURLM *multi;
    const tokenkeep_link_call *call;
    int is_too_long, was_kept, was_reached;
    uint32_t status;
    size_t length;
    char date[64];
    char problem[CURL_ERROR_SIZE];
};

tokenkeep_link *tokenkeep_link_new(void) {
    tokenkeep_link *link = calloc(1, sizeof *link);
    if (!link)
        return NULL;
    link->multi = tokenkeep_curl.curl_multi_init();
    if (link->multi)
        return link;
    free(link);
    return NULL;
}

void tokenkeep_link_free(tokenkeep_link *link) {
    if (!link)
        return;
    held_sigpipe held = hold_sigpipe();
    tokenkeep_curl.curl_multi_cleanup(link->multi);
    release_sigpipe(&held);
    free(link);
}

static size_t take_body(char *bytes, size_t size, size_t count, void *data) {
    tokenkeep_link *link = data;
    size_t length = size * count; /* size is 1 */
    if (length > link->call->answer_capacity - link->length) {
        link->is_too_long = 1;
        return 0;
    }
    memcpy((char *)link->call->answer + link->length, bytes, length);
    link->length += length;
    return length;
}

static size_t take_header(char *line, size_t size, size_t count, void *data) {
    tokenkeep_link *link = data;
    size_t length = size * count, start = 5;
    if (length < start || strncasecmp(line, "Date:", start) != 0)
        return length;
    while (start < length && line[start] == ' ')
        start++;
    size_t end = 0;
    while (start < length && line[start] >= ' ' && line[start] <= '~' && end < sizeof link->date - 1)
        link->date[end++] = line[start++];
    link->date[end] = 0;
    return length;
}

static CURLcode set_up(CURL *easy, tokenkeep_link *link, link_header_list *headers) {
    const tokenkeep_link_call *call = link->call;
    CURLcode code = tokenkeep_link_set(easy, call, headers, link->problem);
    set_function(easy, CURLOPT_WRITEFUNCTION, (void (*)(void))take_body, &code);
    set_pointer(easy, CURLOPT_WRITEDATA, link, &code);
    set_function(easy, CURLOPT_HEADERFUNCTION, (void (*)(void))take_header, &code);
    set_pointer(easy, CURLOPT_HEADERDATA, link, &code);
    if (!call->body)
        return code;
    set_pointer(easy, CURLOPT_POSTFIELDS, call->body, &code); /* not copied */
    set_size(easy, CURLOPT_POSTFIELDSIZE_LARGE, (int64_t)call->body_length, &code);
    return code;
}

static int judge(tokenkeep_link *link, CURL *easy, CURLcode code) {
    if (link->is_too_long)
        return TOKENKEEP_LINK_TOO_LONG;
    link->was_reached = code != CURLE_COULDNT_RESOLVE_PROXY_ && code != CURLE_COULDNT_RESOLVE_HOST_ &&
                        code != CURLE_COULDNT_CONNECT_;
    if (code != CURLE_OK)
        return tokenkeep_link_result(code, link->problem);
    long status = 0;
    tokenkeep_curl.curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &status);
    link->status = (uint32_t)status;
    return TOKENKEEP_LINK_ANSWERED;
}

static int drive(tokenkeep_link *link, CURL *easy) {
    int64_t end = tokenkeep_deadline_after(link->call->all_ms);
    while (1) {
        int running = 0, others = 0;
        if (tokenkeep_curl.curl_multi_perform(link->multi, &running) != 0)
            return TOKENKEEP_LINK_FAILED;
        const CURLMsg *message = tokenkeep_curl.curl_multi_info_read(link->multi, &others);
        if (message && message->msg == CURLMSG_DONE)
            return judge(link, easy, message->data.result);
        int left = tokenkeep_timeout_until(end);
        if (left <= 0)
            return TOKENKEEP_LINK_TIMED_OUT;
        if (tokenkeep_curl.curl_multi_poll(link->multi, NULL, 0, left, NULL) != 0)
            return TOKENKEEP_LINK_FAILED;
    }
}

/* Records whether the call used a kept connection. libcurl counts only new connections that were completed,
 * so the count is also 0 for a call without any connection; but such a call has sent no byte. */
static void note_connection(tokenkeep_link *link, CURL *easy) {
    long connections = 1, sent = 0;
    tokenkeep_curl.curl_easy_getinfo(easy, CURLINFO_NUM_CONNECTS_, &connections);
    tokenkeep_curl.curl_easy_getinfo(easy, CURLINFO_REQUEST_SIZE_, &sent);
    link->was_kept = connections == 0 && sent > 0;
}

int tokenkeep_link_run(tokenkeep_link *link, const tokenkeep_link_call *call) {
    link->call = call;
    link->is_too_long = link->was_kept = link->was_reached = 0;
    link->status = 0;
    link->length = 0;
    *link->date = 0;
    memset(link->problem, 0, sizeof link->problem);
    CURL *easy = tokenkeep_curl.curl_easy_init();
    if (!easy)
        return TOKENKEEP_LINK_FAILED;
    held_sigpipe held = hold_sigpipe();
    link_header_list headers;
    int result = TOKENKEEP_LINK_FAILED;
    CURLcode code = set_up(easy, link, &headers);
    if (code != CURLE_OK)
        result = tokenkeep_link_result(code, link->problem);
    else if (tokenkeep_curl.curl_multi_add_handle(link->multi, easy) == 0) {
        result = drive(link, easy);
        note_connection(link, easy);
        tokenkeep_curl.curl_multi_remove_handle(link->multi, easy);
    }
    tokenkeep_curl.curl_easy_cleanup(easy);
    release_sigpipe(&held);
    link->call = NULL;
    return result;
}

int tokenkeep_link_disconnect(tokenkeep_link *link) {
    CURLM *multi = tokenkeep_curl.curl_multi_init();
    if (!multi)
        return 0;
    held_sigpipe held = hold_sigpipe();
    tokenkeep_curl.curl_multi_cleanup(link->multi);
    release_sigpipe(&held);
    link->multi = multi;
    return 1;
}

int tokenkeep_link_was_kept(const tokenkeep_link *link) {
    return link->was_kept;
}

int tokenkeep_link_was_reached(const tokenkeep_link *link) {
    return link->was_reached;
}

uint32_t tokenkeep_link_status(const tokenkeep_link *link) {
    return link->status;
}

size_t tokenkeep_link_length(const tokenkeep_link *link) {
    return link->length;
}

const char *tokenkeep_link_date(const tokenkeep_link *link) {
    return link->date;
}

const char *tokenkeep_link_problem(const tokenkeep_link *link) {
    return link->problem;
}
