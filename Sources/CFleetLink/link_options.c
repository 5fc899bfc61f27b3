#include "link_options.h"

#include "CCurl.h"
#include "../CCurl/options.h"

#include <dlfcn.h>
#include <string.h>

CURLcode (*tokenkeep_link_pause)(CURL *easy, int mask);

const char *tokenkeep_link_load(void) {
    const char *problem = tokenkeep_curl_load();
    if (problem || tokenkeep_link_pause)
        return problem;
    void *library = dlopen("libcurl.so.4", RTLD_NOW | RTLD_NOLOAD);
    if (!library)
        library = dlopen("libcurl-gnutls.so.4", RTLD_NOW | RTLD_NOLOAD);
    if (!library)
        return "libcurl is not loaded";
    *(void **)&tokenkeep_link_pause = dlsym(library, "curl_easy_pause");
    dlclose(library);
    return tokenkeep_link_pause ? NULL : "libcurl is too old: it has no curl_easy_pause";
}

static void set_headers(CURL *easy, const tokenkeep_link_call *call, link_header_list *headers,
                        CURLcode *code) {
    static char no_expectation[] = "Expect:", json[] = "Content-Type: application/json";
    struct curl_slist *lines = headers->lines;
    lines[0] = (struct curl_slist){.data = no_expectation, .next = &lines[1]};
    lines[1] = (struct curl_slist){.data = json, .next = call->authorization ? &lines[2] : NULL};
    lines[2] = (struct curl_slist){.data = (char *)call->authorization, .next = NULL};
    set_pointer(easy, CURLOPT_HTTPHEADER, lines, code);
}

/* Sets the fleet's own authority as the only one, and the client's certificate. */
static void set_certificates(CURL *easy, const tokenkeep_link_call *call, CURLcode *code) {
    set_long(easy, CURLOPT_SSLVERSION, CURL_SSLVERSION_TLSv1_2, code);
    if (call->ca_file) {
        set_pointer(easy, CURLOPT_CAINFO, call->ca_file, code);
        set_pointer(easy, CURLOPT_CAPATH, NULL, code);
    }
    if (call->certificate_file)
        set_pointer(easy, CURLOPT_SSLCERT_, call->certificate_file, code);
    if (call->key_file)
        set_pointer(easy, CURLOPT_SSLKEY_, call->key_file, code);
}

/* Requests HTTP/2 over TLS, which is used if both libcurl and the server support it. */
static void set_http_version(CURL *easy, CURLcode *code) {
    CURLcode result = *code;
    set_long(easy, CURLOPT_HTTP_VERSION, CURL_HTTP_VERSION_2TLS, &result);
    if (result != CURLE_OK)
        set_long(easy, CURLOPT_HTTP_VERSION, CURL_HTTP_VERSION_1_1, code);
}

CURLcode tokenkeep_link_set(CURL *easy, const tokenkeep_link_call *call, link_header_list *headers,
                            char *problem) {
    CURLcode code = CURLE_OK;
    set_pointer(easy, CURLOPT_URL, call->url, &code);
    set_pointer(easy, CURLOPT_PROTOCOLS_STR, call->allows_http ? "http,https" : "https", &code);
    set_pointer(easy, CURLOPT_USERAGENT, "TokenKeep", &code);
    if (call->allows_http)
        set_pointer(easy, CURLOPT_PROXY, "", &code);
    set_pointer(easy, CURLOPT_ERRORBUFFER, problem, &code);
    set_function(easy, CURLOPT_OPENSOCKETFUNCTION, (void (*)(void))open_socket, &code);
    set_headers(easy, call, headers, &code);
    set_certificates(easy, call, &code);
    set_http_version(easy, &code);
    set_long(easy, CURLOPT_NOSIGNAL, 1, &code);
    set_long(easy, CURLOPT_QUICK_EXIT, 1, &code);
    set_long(easy, CURLOPT_TCP_KEEPALIVE_, 1, &code);
    set_long(easy, CURLOPT_TCP_KEEPIDLE_, 60, &code);
    set_long(easy, CURLOPT_TCP_KEEPINTVL_, 60, &code);
    set_long(easy, CURLOPT_SUPPRESS_CONNECT_HEADERS, 1, &code);
    set_long(easy, CURLOPT_CONNECTTIMEOUT_MS, (long)call->connect_ms, &code);
    if (call->body)
        set_long(easy, CURLOPT_POST, 1, &code);
    return code;
}

int tokenkeep_link_result(CURLcode code, char *problem) {
    if (code == CURLE_OPERATION_TIMEDOUT)
        return TOKENKEEP_LINK_TIMED_OUT;
    if (!*problem)
        strncpy(problem, tokenkeep_curl.curl_easy_strerror(code), CURL_ERROR_SIZE - 1);
    for (char *at = problem; *at; at++)
        if (*at < ' ' || *at > '~')
            *at = '?';
    switch ((int)code) {
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_CACERT_BADFILE:
        return TOKENKEEP_LINK_UNTRUSTED;
    case CURLE_SSL_CERTPROBLEM_:
        return TOKENKEEP_LINK_UNUSABLE;
    case CURLE_SSL_CONNECT_ERROR_:
    case CURLE_SEND_ERROR_:
    case CURLE_RECV_ERROR_:
        /* OpenSSL's message contains the server's alert: "... alert certificate required", "... bad
         * certificate". */
        return strstr(problem, "certificate") ? TOKENKEEP_LINK_REFUSED : TOKENKEEP_LINK_FAILED;
    default:
        return TOKENKEEP_LINK_FAILED;
    }
}
