/* The options of libcurl that calls and streams share. */
#ifndef TOKENKEEP_LINK_OPTIONS_H
#define TOKENKEEP_LINK_OPTIONS_H

#include "CFleetLink.h"
#include "../CCurl/curl_table.h"

/* Constants of libcurl's stable ABI that curl_numbers.def does not have. */
enum {
    CURLE_COULDNT_RESOLVE_PROXY_ = 5,
    CURLE_COULDNT_RESOLVE_HOST_ = 6,
    CURLE_COULDNT_CONNECT_ = 7,
    CURLE_SSL_CONNECT_ERROR_ = 35,
    CURLE_SEND_ERROR_ = 55,
    CURLE_RECV_ERROR_ = 56,
    CURLE_SSL_CERTPROBLEM_ = 58,
    CURLINFO_REQUEST_SIZE_ = 0x20000c,
    CURLINFO_NUM_CONNECTS_ = 0x20001a,
    CURLOPT_TCP_KEEPALIVE_ = 213,
    CURLOPT_TCP_KEEPIDLE_ = 214,
    CURLOPT_TCP_KEEPINTVL_ = 215,
    CURLOPT_READDATA_ = 10009,
    CURLOPT_READFUNCTION_ = 20012,
    CURLOPT_SSLCERT_ = 10025,
    CURLOPT_SSLKEY_ = 10087,
    CURL_READFUNC_PAUSE_ = 0x10000001,
    CURLPAUSE_CONT_ = 0,
};

enum { link_headers = 3 };

/* Header lines in the caller's memory. libcurl's function for header lists would copy a token into libcurl's
 * memory. */
typedef struct link_header_list {
    struct curl_slist lines[link_headers];
} link_header_list;

/* Sets the options that every request has. Returns libcurl's code. */
__attribute__((visibility("hidden"))) CURLcode tokenkeep_link_set(CURL *easy, const tokenkeep_link_call *call,
                                                                  link_header_list *headers, char *problem);

/* Converts libcurl's code to the result of a call. If `problem`, of CURL_ERROR_SIZE bytes, is empty, writes a
 * message in printable ASCII to it. */
__attribute__((visibility("hidden"))) int tokenkeep_link_result(CURLcode code, char *problem);

/* curl_easy_pause. */
__attribute__((visibility("hidden"))) extern CURLcode (*tokenkeep_link_pause)(CURL *easy, int mask);

#endif
