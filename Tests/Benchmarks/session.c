/* Calls of tokenkeep/session.h in one process, without a server. TOKENKEEP_VAULT says where the vault is,
 * BENCH_STACK what the stack is, if not the vault alone.
 *
 *     session fill ACCOUNTS               signs accounts in
 *     session token CALLS                 a good token, beside a string behind a mutex
 *     session refresh ITEMS ROUNDS        a refresh and a save of the same size, in turns
 *     session list ACCOUNTS SHOWN ROUNDS  lists sessions; SHOWN is the number of sessions with readable names
 *     session list-sessions SHOWN ROUNDS  lists sessions alone
 *     session read DIRECTORY ROUNDS       reads each file of a directory
 *     session memory HANDLES              the memory of handles, beside strings behind mutexes */
#define _GNU_SOURCE
#include "session.h"
#include "stopwatch.h"

#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

static tokenkeep_store *store;

/* A server that answers at once. */
static tokenkeep_status answer(void *data, const tokenkeep_http_request *request,
                               tokenkeep_http_response *response) {
    static int number = 1;
    char body[RESPONSE_LENGTH];
    (void)data, (void)request;
    make_response(body, ++number, 3600);
    tokenkeep_http_response_status(response, 200);
    tokenkeep_http_response_append(response, body, strlen(body));
    return TOKENKEEP_OK;
}

static void fill(int accounts) {
    char account[32];
    for (int number = 0; number < accounts; number++) {
        snprintf(account, sizeof account, "account-%d", number);
        tokenkeep_session *session = open_session(store, account, NULL);
        begin(session, number, 3600);
        tokenkeep_session_close(session);
    }
}

/* A token as programs without a library keep it. */
typedef struct {
    pthread_mutex_t mutex;
    char *token;
} guarded_string;

static guarded_string make_string(void) {
    guarded_string string = {PTHREAD_MUTEX_INITIALIZER, malloc(TOKEN_LENGTH + 1)};
    if (string.token == NULL)
        exit(1);
    make_token(string.token, 1);
    return string;
}

static __attribute__((noinline)) char *copy_string(guarded_string *string) {
    pthread_mutex_lock(&string->mutex);
    char *copy = strdup(string->token);
    pthread_mutex_unlock(&string->mutex);
    return copy;
}

static size_t use_token(tokenkeep_session *session) {
    tokenkeep_token *token = NULL;
    tokenkeep_error *error = NULL;
    size_t length = 0;
    require(tokenkeep_session_token(session, 60, &token, &error), error);
    if (tokenkeep_token_value(token, &length)[length - 1] == '\0')
        exit(1);
    tokenkeep_token_free(token);
    return length;
}

static void measure_token(int calls) {
    tokenkeep_session *session = open_session(store, ACCOUNT, NULL);
    begin(session, 1, 3600);
    size_t length = use_token(session);
    double start = stopwatch_now();
    for (int call = 0; call < calls; call++)
        length += use_token(session);
    printf("token %d %.4f\n", calls, (stopwatch_now() - start) / calls);
    guarded_string string = make_string();
    start = stopwatch_now();
    for (int call = 0; call < calls; call++) {
        char *copy = copy_string(&string);
        length += strlen(copy);
        free(copy);
    }
    printf("mutex %d %.4f\n", calls, (stopwatch_now() - start) / calls);
    if (length != (2 * (size_t)calls + 1) * TOKEN_LENGTH)
        exit(1);
}

/* The length of the session's record. */
static size_t record_length(void) {
    tokenkeep_item *item = NULL;
    tokenkeep_error *error = NULL;
    size_t length = 0;
    require(tokenkeep_load(store, SERVICE, ACCOUNT, &item, &error), error);
    tokenkeep_item_secret(item, &length);
    tokenkeep_item_free(item);
    return length;
}

static void measure_refresh(int items, int rounds) {
    static stopwatch refreshes, saves;
    static char secret[4 * RESPONSE_LENGTH];
    tokenkeep_session *session = open_session(store, ACCOUNT, answer);
    begin(session, 1, 3600);
    size_t length = record_length();
    if (length > sizeof secret)
        exit(1);
    memset(secret, 'x', length);
    for (int round = 0; round < rounds; round++) {
        tokenkeep_token *token = NULL;
        tokenkeep_error *error = NULL;
        double start = stopwatch_now();
        require(tokenkeep_session_refresh(session, &token, &error), error);
        stopwatch_add(&refreshes, stopwatch_now() - start);
        tokenkeep_token_free(token);
        start = stopwatch_now();
        require(tokenkeep_save(store, "other.example", "account", secret, length, NULL, &error), error);
        stopwatch_add(&saves, stopwatch_now() - start);
    }
    stopwatch_print(&refreshes, "refresh", items);
    stopwatch_print(&saves, "save", items);
    printf("length %d %zu\n", items, length);
    tokenkeep_session_close(session);
}

static void list_sessions(size_t shown) {
    tokenkeep_session_infos *infos = NULL;
    tokenkeep_error *error = NULL;
    require(tokenkeep_session_list(store, SERVICE, &infos, &error), error);
    int is_complete = tokenkeep_session_infos_problem(infos) == NULL;
    if (tokenkeep_session_infos_count(infos) != shown || is_complete != (shown > 0))
        exit(1);
    tokenkeep_session_infos_free(infos);
}

static void list_items(size_t shown) {
    tokenkeep_items *items = NULL;
    tokenkeep_error *error = NULL;
    require(tokenkeep_list(store, SERVICE, &items, &error), error);
    if (tokenkeep_items_count(items) != shown)
        exit(1);
    tokenkeep_items_free(items);
}

static void measure_list(int accounts, int shown, int rounds) {
    static stopwatch sessions, items;
    for (int round = 0; round < rounds; round++) {
        double start = stopwatch_now();
        list_sessions((size_t)shown);
        stopwatch_add(&sessions, stopwatch_now() - start);
        start = stopwatch_now();
        list_items((size_t)shown);
        stopwatch_add(&items, stopwatch_now() - start);
    }
    stopwatch_print(&sessions, "sessions", accounts);
    stopwatch_print(&items, "items", accounts);
}

static void measure_session_list(int shown, int rounds) {
    static stopwatch sessions;
    for (int round = 0; round < rounds; round++) {
        double start = stopwatch_now();
        list_sessions((size_t)shown);
        stopwatch_add(&sessions, stopwatch_now() - start);
    }
    stopwatch_print(&sessions, "sessions", shown);
}

static int read_files(const char *path) {
    char bytes[8192];
    int files = 0;
    DIR *directory = opendir(path);
    if (directory == NULL)
        exit(1);
    for (struct dirent *entry; (entry = readdir(directory)) != NULL;) {
        struct stat status;
        if (entry->d_type != DT_REG)
            continue;
        int file = openat(dirfd(directory), entry->d_name, O_RDONLY | O_CLOEXEC);
        if (file < 0 || fstat(file, &status) != 0 || read(file, bytes, sizeof bytes) < 0)
            exit(1);
        close(file);
        files++;
    }
    closedir(directory);
    return files;
}

static void measure_read(const char *path, int rounds) {
    static stopwatch watch;
    int files = 0;
    for (int round = 0; round < rounds; round++) {
        double start = stopwatch_now();
        files = read_files(path);
        stopwatch_add(&watch, stopwatch_now() - start);
    }
    stopwatch_print(&watch, "read", files);
}

static double resident_bytes(void) {
    long size = 0, resident = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    if (file == NULL || fscanf(file, "%ld %ld", &size, &resident) != 2)
        exit(1);
    fclose(file);
    return (double)resident * (double)sysconf(_SC_PAGESIZE);
}

static int open_descriptors(void) {
    int count = 0;
    DIR *directory = opendir("/proc/self/fd");
    if (directory == NULL)
        exit(1);
    while (readdir(directory) != NULL)
        count++;
    closedir(directory);
    return count;
}

static void allow_descriptors(void) {
    struct rlimit limit;
    getrlimit(RLIMIT_NOFILE, &limit);
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
}

/* The account was signed in by another process. */
static void measure_memory(int handles) {
    tokenkeep_session **sessions = calloc((size_t)handles, sizeof *sessions);
    guarded_string *strings = calloc((size_t)handles, sizeof *strings);
    if (handles < 1 || sessions == NULL || strings == NULL)
        exit(1);
    /* The arrays must not count. */
    memset(sessions, 1, (size_t)handles * sizeof *sessions);
    memset(strings, 1, (size_t)handles * sizeof *strings);
    allow_descriptors();
    double before = resident_bytes();
    sessions[0] = open_session(store, ACCOUNT, NULL);
    use_token(sessions[0]);
    printf("first 1 %.0f\n", resident_bytes() - before);
    int descriptors = open_descriptors(), others = handles - 1;
    before = resident_bytes();
    for (int number = 1; number < handles; number++)
        sessions[number] = open_session(store, ACCOUNT, NULL);
    printf("opened %d %.0f\n", handles, (resident_bytes() - before) / others);
    for (int number = 1; number < handles; number++)
        use_token(sessions[number]);
    printf("used %d %.0f\n", handles, (resident_bytes() - before) / others);
    printf("descriptors %d %.2f\n", handles, (double)(open_descriptors() - descriptors) / others);
    before = resident_bytes();
    for (int number = 0; number < handles; number++)
        strings[number] = make_string();
    printf("string %d %.0f\n", handles, (resident_bytes() - before) / handles + (double)sizeof *strings);
}

int main(int argc, char **argv) {
    if (argc < 3)
        return 2;
    const char *what = argv[1];
    int first = atoi(argv[2]), second = argc > 3 ? atoi(argv[3]) : 0, third = argc > 4 ? atoi(argv[4]) : 0;
    if (strcmp(what, "read") == 0) {
        measure_read(argv[2], second);
        return 0;
    }
    store = open_vault();
    if (strcmp(what, "fill") == 0)
        fill(first);
    else if (strcmp(what, "token") == 0)
        measure_token(first);
    else if (strcmp(what, "refresh") == 0)
        measure_refresh(first, second);
    else if (strcmp(what, "list") == 0)
        measure_list(first, second, third);
    else if (strcmp(what, "list-sessions") == 0)
        measure_session_list(first, second);
    else if (strcmp(what, "memory") == 0)
        measure_memory(first);
    else
        return 2;
    return 0;
}
