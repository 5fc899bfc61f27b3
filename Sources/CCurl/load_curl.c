#include "CCurl.h"
#include "curl_table.h"

#include <dlfcn.h>
#include <malloc.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* 7.87, the first version with CURLOPT_QUICK_EXIT. Without this option, a name server that does not answer
 * would delay the end of the call. */
static const unsigned int oldest = 0x075700;

curl_table tokenkeep_curl;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static char outdated[96];
static const char *fault;

/* Requests and answers contain tokens, so memory is wiped before it is freed. These functions must also free
 * memory of malloc, because the program may have used libcurl before. */
static void wipe_and_free(void *memory) {
    if (memory)
        explicit_bzero(memory, malloc_usable_size(memory));
    free(memory);
}

static void *move_and_wipe(void *memory, size_t size) {
    void *moved = malloc(size ? size : 1);
    if (!moved || !memory)
        return moved;
    size_t present = malloc_usable_size(memory);
    memcpy(moved, memory, present < size ? present : size);
    wipe_and_free(memory);
    return moved;
}

static void load(void) {
    void *library = dlopen("libcurl.so.4", RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (!library)
        library = dlopen("libcurl-gnutls.so.4", RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (!library) {
        fault = "libcurl is not installed";
        return;
    }
#define FUNCTION(result, name, parameters)                                                                   \
    *(void **)&tokenkeep_curl.name = dlsym(library, #name);                                                  \
    if (!tokenkeep_curl.name) {                                                                              \
        fault = "libcurl is too old: it has no " #name;                                                      \
        return;                                                                                              \
    }
#include "curl_functions.def"
#undef FUNCTION
    const curl_version_info_data *version = tokenkeep_curl.curl_version_info(0);
    if (version->version_num < oldest) {
        snprintf(outdated, sizeof outdated, "libcurl is too old: it is %.20s, and 7.87 is needed",
                 version->version);
        fault = outdated;
        return;
    }
    if (tokenkeep_curl.curl_global_init_mem(CURL_GLOBAL_ALL, malloc, wipe_and_free, move_and_wipe, strdup,
                                            calloc) != CURLE_OK)
        fault = "libcurl does not start";
}

const char *tokenkeep_curl_load(void) {
    pthread_once(&once, load);
    return fault;
}
