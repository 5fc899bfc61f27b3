/* The types and constants of libcurl that are used, as defined by its stable ABI.
 *
 * Declared here so that a build needs no headers of libcurl, and nothing links it by accident. A test
 * compiles the same list of functions against the real headers. */
#ifndef TOKENKEEP_CURL_TYPES_H
#define TOKENKEEP_CURL_TYPES_H

#include <stddef.h>
#include <sys/socket.h>

typedef void CURL;
typedef void CURLM;

/* Enumerations are passed as int or unsigned int. */
typedef unsigned int CURLcode;
typedef unsigned int CURLoption;
typedef unsigned int CURLINFO;
typedef unsigned int CURLversion;
typedef unsigned int CURLMSG;
typedef unsigned int curlsocktype;
typedef int CURLMcode;
typedef int curl_socket_t;

typedef void *(*curl_malloc_callback)(size_t size);
typedef void (*curl_free_callback)(void *memory);
typedef void *(*curl_realloc_callback)(void *memory, size_t size);
typedef char *(*curl_strdup_callback)(const char *text);
typedef void *(*curl_calloc_callback)(size_t count, size_t size);

/* The first fields of the library's structure, which has more fields. */
typedef struct curl_version_info_data {
    CURLversion age;
    const char *version;
    unsigned int version_num;
} curl_version_info_data;

struct curl_slist {
    char *data;
    struct curl_slist *next;
};

struct curl_waitfd {
    curl_socket_t fd;
    short events;
    short revents;
};

struct curl_sockaddr {
    int family;
    int socktype;
    int protocol;
    unsigned int addrlen;
    struct sockaddr addr;
};

typedef struct CURLMsg {
    CURLMSG msg;
    CURL *easy_handle;
    union {
        void *whatever;
        CURLcode result;
    } data;
} CURLMsg;

enum {
#define NUMBER(name, value) name = value,
#include "curl_numbers.def"
#undef NUMBER
};

#endif
