/* Does nothing, but linked to libcurl: the cost of its users before their first call. */
#include <curl/curl.h>

int main(void) {
    return curl_version() == NULL;
}
