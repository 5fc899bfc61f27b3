/* Processes that wait while one of them renews a token. Usage: session-processes KEEPER PLACE WAITERS ROUNDS
 *
 * KEEPER says how the token is kept: "tokenkeep", PLACE is the vault then; "file", a JSON file under flock;
 * "synced-file", the same file, written durably. The figures, in microseconds:
 *
 *     renewer  from the server's answer until the renewing process has the token
 *     waiters  from the server's answer until the last waiting process has the token
 *     adopt    the first call of a handle that was open before, in a process that did not wait */
#define _GNU_SOURCE
#include "session.h"
#include "stopwatch.h"

#include <fcntl.h>
#include <jansson.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MAXIMUM_WAITERS = 64, PATIENCE_S = 60 };

/* A way to keep a token for several processes. */
typedef struct {
    void (*open)(void);
    /* Replaces the token by one that is over. */
    void (*expire)(void);
    /* Copies the token, which is renewed first if it is over. */
    void (*get)(char token[TOKEN_LENGTH + 1]);
} keeper;

static struct {
    sem_t is_open, is_asked, has_token, go[MAXIMUM_WAITERS + 1];
    int round, requests;
    double answered, times[MAXIMUM_WAITERS + 1];
} * shared;

static keeper kept;
static const char *place;
static char lock_path[4096];
static int waiters, is_durable;

static void fail(const char *what) {
    fprintf(stderr, "session-processes: %s\n", what);
    exit(1);
}

static void await(sem_t *semaphore) {
    struct timespec end;
    clock_gettime(CLOCK_REALTIME, &end);
    end.tv_sec += PATIENCE_S;
    if (sem_timedwait(semaphore, &end) != 0)
        fail("another process ended or hangs");
}

/* The processes that wait for the lock in the kernel. */
static int blocked_processes(void) {
    char line[256], inode[32];
    struct stat status;
    int count = 0;
    FILE *locks = fopen("/proc/locks", "r");
    if (locks == NULL || stat(lock_path, &status) != 0)
        fail("no lock");
    snprintf(inode, sizeof inode, ":%lu ", (unsigned long)status.st_ino);
    while (fgets(line, sizeof line, locks) != NULL)
        count += strstr(line, "->") != NULL && strstr(line, inode) != NULL;
    fclose(locks);
    return count;
}

/* The server: answers when every waiting process is blocked. */
static void ask_server(char response[RESPONSE_LENGTH]) {
    shared->requests++;
    sem_post(&shared->is_asked);
    while (blocked_processes() < waiters)
        sched_yield();
    make_response(response, shared->round, 3600);
    shared->answered = stopwatch_now();
}

static tokenkeep_session *session;

static tokenkeep_status answer(void *data, const tokenkeep_http_request *request,
                               tokenkeep_http_response *response) {
    char body[RESPONSE_LENGTH];
    (void)data, (void)request;
    ask_server(body);
    tokenkeep_http_response_status(response, 200);
    tokenkeep_http_response_append(response, body, strlen(body));
    return TOKENKEEP_OK;
}

static void open_kept_session(void) {
    session = open_session(open_vault(), ACCOUNT, answer);
}

static void expire_session(void) {
    begin(session, 0, 0);
}

static void get_from_session(char text[TOKEN_LENGTH + 1]) {
    tokenkeep_token *token = NULL;
    tokenkeep_error *error = NULL;
    require(tokenkeep_session_token(session, 60, &token, &error), error);
    snprintf(text, TOKEN_LENGTH + 1, "%s", tokenkeep_token_value(token, NULL));
    tokenkeep_token_free(token);
}

static void open_file(void) {}

/* Writes the response, with the time of the token's end. */
static void write_file(const char *response) {
    char path[4096];
    snprintf(path, sizeof path, "%s.new", place);
    json_t *record = json_loads(response, 0, NULL);
    json_int_t lifetime = json_integer_value(json_object_get(record, "expires_in"));
    json_object_set_new(record, "expires_at", json_integer((json_int_t)time(NULL) + lifetime));
    int file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (file < 0 || json_dumpfd(record, file, JSON_COMPACT) != 0 || (is_durable && fdatasync(file) != 0) ||
        close(file) != 0 || rename(path, place) != 0)
        fail("cannot write the file");
    json_decref(record);
    if (!is_durable)
        return;
    char *slash = strrchr(strcpy(path, place), '/');
    *slash = '\0';
    int directory = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (directory < 0 || fsync(directory) != 0)
        fail("cannot sync the directory");
    close(directory);
}

static void expire_file(void) {
    char response[RESPONSE_LENGTH];
    make_response(response, 0, 0);
    write_file(response);
}

static json_t *read_file(void) {
    json_t *record = json_load_file(place, 0, NULL);
    if (record == NULL)
        fail("cannot read the file");
    return record;
}

static void get_from_file(char text[TOKEN_LENGTH + 1]) {
    int lock = open(lock_path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (lock < 0 || flock(lock, LOCK_EX) != 0)
        fail("cannot lock");
    json_t *record = read_file();
    if (json_integer_value(json_object_get(record, "expires_at")) <= (json_int_t)time(NULL)) {
        char response[RESPONSE_LENGTH];
        ask_server(response);
        write_file(response);
        json_decref(record);
        record = read_file();
    }
    snprintf(text, TOKEN_LENGTH + 1, "%s", json_string_value(json_object_get(record, "access_token")));
    json_decref(record);
    close(lock);
}

static void get_new_token(void) {
    char expected[TOKEN_LENGTH + 1], token[TOKEN_LENGTH + 1];
    kept.get(token);
    make_token(expected, shared->round);
    if (strcmp(expected, token) != 0)
        fail("not the new token");
}

/* One process: number 0 renews the token, the others wait for it. */
static void take_part(int number) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    kept.open();
    sem_post(&shared->is_open);
    for (;;) {
        await(&shared->go[number]);
        if (number == 0)
            kept.expire();
        get_new_token();
        shared->times[number] = stopwatch_now();
        sem_post(&shared->has_token);
    }
}

static void run_round(int round, stopwatch *renewer, stopwatch *last_waiter, stopwatch *adopt) {
    double last = 0;
    shared->round = round;
    sem_post(&shared->go[0]);
    await(&shared->is_asked);
    for (int number = 1; number <= waiters; number++)
        sem_post(&shared->go[number]);
    for (int number = 0; number <= waiters; number++)
        await(&shared->has_token);
    for (int number = 1; number <= waiters; number++)
        if (shared->times[number] > last)
            last = shared->times[number];
    double start = stopwatch_now();
    get_new_token();
    stopwatch_add(adopt, stopwatch_now() - start);
    stopwatch_add(renewer, shared->times[0] - shared->answered);
    stopwatch_add(last_waiter, last - shared->answered);
}

static void choose(const char *name) {
    static const keeper of_sessions = {open_kept_session, expire_session, get_from_session};
    static const keeper of_file = {open_file, expire_file, get_from_file};
    int is_ours = strcmp(name, "tokenkeep") == 0;
    kept = is_ours ? of_sessions : of_file;
    is_durable = strcmp(name, "synced-file") == 0;
    setenv("TOKENKEEP_VAULT", place, 1);
    snprintf(lock_path, sizeof lock_path, is_ours ? "%s/sessions/lock" : "%s.lock", place);
}

int main(int argc, char **argv) {
    static stopwatch renewer, last_waiter, adopt;
    if (argc != 5)
        return 2;
    place = argv[2];
    waiters = atoi(argv[3]);
    int rounds = atoi(argv[4]);
    choose(argv[1]);
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (waiters < 0 || waiters > MAXIMUM_WAITERS || shared == MAP_FAILED)
        return 2;
    sem_init(&shared->is_open, 1, 0);
    sem_init(&shared->is_asked, 1, 0);
    sem_init(&shared->has_token, 1, 0);
    pid_t children[MAXIMUM_WAITERS + 1];
    for (int number = 0; number <= waiters; number++) {
        sem_init(&shared->go[number], 1, 0);
        if ((children[number] = fork()) == 0)
            take_part(number);
    }
    for (int number = 0; number <= waiters; number++)
        await(&shared->is_open);
    kept.open();
    for (int round = 1; round <= rounds; round++)
        run_round(round, &renewer, &last_waiter, &adopt);
    for (int number = 0; number <= waiters; number++) {
        kill(children[number], SIGKILL);
        waitpid(children[number], NULL, 0);
    }
    if (shared->requests != rounds)
        fail("the server was not asked once for each round");
    stopwatch_print(&renewer, "renewer", waiters);
    if (waiters > 0)
        stopwatch_print(&last_waiter, "waiters", waiters);
    stopwatch_print(&adopt, "adopt", waiters);
    return 0;
}
