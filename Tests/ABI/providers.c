/* SPDX-License-Identifier: Apache-2.0 */
/* Sessions whose server the library asks itself, by libcurl and a provider's file. See providers.sh. */
#define _GNU_SOURCE
#include "store_test.h"
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <unistd.h>

static tokenkeep_store *store;

static tokenkeep_session *open_session(const char *account, const char *provider) {
    tokenkeep_session_options options = TOKENKEEP_SESSION_OPTIONS_INIT;
    tokenkeep_session *session = NULL;
    options.provider = provider;
    CHECK_STATUS(TOKENKEEP_OK, tokenkeep_session_open(store, "api", account, &options, &session, &error));
    return session;
}

static void begin(tokenkeep_session *session, int number, int lifetime) {
    char response[256];
    int length =
        snprintf(response, sizeof response,
                 "{\"access_token\":\"access-%d\",\"expires_in\":%d,\"refresh_token\":\"refresh-%d\"}",
                 number, lifetime, number);
    CHECK_STATUS(TOKENKEEP_OK,
                 tokenkeep_session_begin(session, TOKENKEEP_SESSION_USER, response, (size_t)length, &error));
    explicit_bzero(response, sizeof response);
}

/* Whether a line of a file has a text. */
static int has_line(const char *path, const char *text) {
    char line[512];
    int found = 0;
    FILE *file = fopen(path, "r");
    while (file && !found && fgets(line, sizeof line, file))
        found = strstr(line, text) != NULL;
    if (file)
        fclose(file);
    explicit_bzero(line, sizeof line);
    return found;
}

/* How often the two halves of a text stand behind each other in the memory that the process can write. */
static int count_in_memory(const char *first, const char *second) {
    int count = 0, memory = open("/proc/self/mem", O_RDONLY | O_CLOEXEC);
    FILE *maps = fopen("/proc/self/maps", "r");
    char line[512];
    static char page[4096 * 2];
    size_t first_length = strlen(first), second_length = strlen(second);
    while (maps && fgets(line, sizeof line, maps)) {
        unsigned long start = 0, end = 0;
        char rights[5] = "";
        if (sscanf(line, "%lx-%lx %4s", &start, &end, rights) != 3 || rights[0] != 'r' || rights[1] != 'w')
            continue;
        for (unsigned long at = start; at < end; at += 4096) {
            ssize_t length = pread(memory, page, sizeof page, (off_t)at);
            /* The guarded memory of the session has its tokens; this buffer has what was read. */
            if (length <= 0 || (at <= (unsigned long)page && at + sizeof page > (unsigned long)page))
                continue;
            for (ssize_t index = 0; index < 4096 && index + (ssize_t)(first_length + second_length) <= length;
                 index++)
                count += memcmp(page + index, first, first_length) == 0 &&
                         memcmp(page + index + first_length, second, second_length) == 0;
        }
    }
    explicit_bzero(page, sizeof page);
    if (maps)
        fclose(maps);
    close(memory);
    return count;
}

static void a_token_is_renewed_by_libcurl(void) {
    tokenkeep_session *session = open_session("ann", "example");
    tokenkeep_token *token = NULL;
    begin(session, 1, 0);
    CHECK(!has_line("/proc/self/maps", "libcurl"));
    CHECK_STATUS(TOKENKEEP_OK, tokenkeep_session_token(session, 60, &token, &error));
    CHECK_TEXT("access-2", tokenkeep_token_value(token, NULL));
    CHECK(has_line("/proc/self/maps", "libcurl"));
    CHECK(has_line(getenv("REQUESTS"), "POST /token grant_type=refresh_token&refresh_token=refresh-1"));
    tokenkeep_token_free(token);
    tokenkeep_session_close(session);
}

static void a_session_of_a_provider_is_renewed_without_options(void) {
    tokenkeep_session *session = open_session("eve", "example");
    tokenkeep_token *token = NULL;
    begin(session, 3, 0);
    tokenkeep_session_close(session);
    CHECK_STATUS(TOKENKEEP_OK, tokenkeep_session_open(store, "api", "eve", NULL, &session, &error));
    CHECK_STATUS(TOKENKEEP_OK, tokenkeep_session_token(session, 60, &token, &error));
    CHECK_TEXT("access-4", tokenkeep_token_value(token, NULL));
    tokenkeep_token_free(token);
    tokenkeep_session_close(session);
}

static void neither_request_nor_answer_stays_in_memory(void) {
    tokenkeep_session *session = open_session("bob", "example");
    tokenkeep_token *token = NULL;
    begin(session, 2, 0);
    CHECK_STATUS(TOKENKEEP_OK, tokenkeep_session_token(session, 60, &token, &error));
    CHECK_TEXT("access-3", tokenkeep_token_value(token, NULL));
    tokenkeep_token_free(token);
    CHECK_NUMBER(0, count_in_memory("refresh_token=", "refresh-2"));
    CHECK_NUMBER(0, count_in_memory("\"refresh_token\": ", "\"refresh-3\""));
    char made[64];
    snprintf(made, sizeof made, "%s%s", "refresh_token=", "refresh-4");
    CHECK(count_in_memory("refresh_token=", "refresh-4") > 0); /* it can be found */
    tokenkeep_session_close(session);
}

static void *cancel_when_it_waits(void *data) {
    while (!has_line(getenv("REQUESTS"), "GET /hangs"))
        sched_yield();
    tokenkeep_cancel(data);
    return NULL;
}

static void a_cancel_ends_a_request_that_waits(void) {
    tokenkeep_session *session = open_session("carl", "silent");
    pthread_t thread;
    begin(session, 1, 3600);
    pthread_create(&thread, NULL, cancel_when_it_waits, store);
    CHECK_STATUS(TOKENKEEP_CANCELLED, tokenkeep_session_validate(session, &error));
    pthread_join(thread, NULL);
    tokenkeep_session_close(session);
}

static void without_endpoints_a_request_is_unsupported(void) {
    tokenkeep_session *session = open_session("dora", NULL);
    tokenkeep_token *token = NULL;
    begin(session, 1, 0);
    CHECK_STATUS(TOKENKEEP_UNSUPPORTED, tokenkeep_session_token(session, 60, &token, &error));
    tokenkeep_session_close(session);
    tokenkeep_session_options options = TOKENKEEP_SESSION_OPTIONS_INIT;
    options.provider = "wrong";
    CHECK_STATUS(TOKENKEEP_INVALID, tokenkeep_session_open(store, "api", "ann", &options, &session, &error));
}

int main(void) {
    alarm(CHECK_PATIENCE_S); /* a server that has ended is asked in vain */
    store = open_store();
    RUN(a_token_is_renewed_by_libcurl);
    RUN(neither_request_nor_answer_stays_in_memory);
    RUN(a_session_of_a_provider_is_renewed_without_options);
    RUN(a_cancel_ends_a_request_that_waits);
    RUN(without_endpoints_a_request_is_unsupported);
    tokenkeep_close(store);
    return check_result();
}
