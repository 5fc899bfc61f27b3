/* Compiled against the real headers of libcurl: the lists of functions and numbers, and the layouts declared
 * beside them, are right. Compile with -Werror; there is nothing to run. */
#define CURL_DISABLE_TYPECHECK
#include <curl/curl.h>
#include <stddef.h>

#undef curl_easy_setopt
#undef curl_easy_getinfo

#define FUNCTION(result, name, parameters)                                                                   \
    extern result(*check_##name) parameters;                                                                 \
    result(*check_##name) parameters = name;
#include "curl_functions.def"
#undef FUNCTION

#define NUMBER(name, value) _Static_assert((long)name == value, #name " has another value");
#include "curl_numbers.def"
#undef NUMBER

_Static_assert(offsetof(curl_version_info_data, version_num) == 16,
               "curl_version_info_data has another layout");
_Static_assert(offsetof(struct curl_slist, next) == 8, "curl_slist has another layout");
_Static_assert(offsetof(struct curl_sockaddr, protocol) == 8, "curl_sockaddr has another layout");
_Static_assert(offsetof(CURLMsg, easy_handle) == 8 && offsetof(CURLMsg, data) == 16,
               "CURLMsg has another layout");
_Static_assert(sizeof(CURLcode) == sizeof(int) && sizeof(CURLoption) == sizeof(int), "a basic type differs");
_Static_assert(sizeof(curl_socket_t) == sizeof(int), "a basic type differs");
