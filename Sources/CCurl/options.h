/* Functions that set the options of a request. After the first failure, no further option is set. */
#ifndef TOKENKEEP_CURL_OPTIONS_H
#define TOKENKEEP_CURL_OPTIONS_H

#include "curl_table.h"

#include <sys/socket.h>

/* The function for CURLOPT_OPENSOCKETFUNCTION. Opens the socket close-on-exec, so that no program that
 * another thread starts inherits it. */
static inline curl_socket_t open_socket(void *data, curlsocktype purpose, struct curl_sockaddr *address) {
    (void)data, (void)purpose;
    return socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
}

static inline void set_long(CURL *easy, CURLoption option, long value, CURLcode *code) {
    if (*code == CURLE_OK)
        *code = tokenkeep_curl.curl_easy_setopt(easy, option, value);
}

static inline void set_pointer(CURL *easy, CURLoption option, const void *value, CURLcode *code) {
    if (*code == CURLE_OK)
        *code = tokenkeep_curl.curl_easy_setopt(easy, option, value);
}

static inline void set_function(CURL *easy, CURLoption option, void (*function)(void), CURLcode *code) {
    if (*code == CURLE_OK)
        *code = tokenkeep_curl.curl_easy_setopt(easy, option, function);
}

static inline void set_size(CURL *easy, CURLoption option, int64_t value, CURLcode *code) {
    if (*code == CURLE_OK)
        *code = tokenkeep_curl.curl_easy_setopt(easy, option, value);
}

#endif
