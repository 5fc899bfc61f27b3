/* SPDX-License-Identifier: Apache-2.0 */
/* Eight threads of a fresh process open, save, load, watch and use sessions, while another thread forks. Each
 * child does the same with a store of its own, or is refused at once: no child hangs. TOKENKEEP_FORKS is the
 * number of forks. */
#define _GNU_SOURCE
#include "store_test.h"
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/wait.h>
#include <unistd.h>

enum { thread_count = 8, forks_of_a_process = 40, children_at_a_time = 4, refused = 3 };

static atomic_int stop;

static tokenkeep_status answer_request(void *data, const tokenkeep_http_request *request,
                                       tokenkeep_http_response *response) {
    static const char tokens[] = "{\"access_token\":\"b\",\"expires_in\":3600,\"refresh_token\":\"s\"}";
    (void)data;
    (void)request;
    tokenkeep_http_response_status(response, 200);
    tokenkeep_http_response_append(response, tokens, sizeof tokens - 1);
    return TOKENKEEP_OK;
}

static tokenkeep_status begin_renew_and_end(tokenkeep_session *session, tokenkeep_error **error) {
    static const char tokens[] = "{\"access_token\":\"a\",\"expires_in\":30,\"refresh_token\":\"r\"}";
    tokenkeep_token *token = NULL;
    tokenkeep_session_info *info = NULL;
    tokenkeep_status status =
        tokenkeep_session_begin(session, TOKENKEEP_SESSION_USER, tokens, sizeof tokens - 1, error);
    if (status == TOKENKEEP_OK)
        status = tokenkeep_session_token(session, 60, &token, error);
    if (status == TOKENKEEP_OK)
        status = tokenkeep_session_next(session, &info, error);
    (void)tokenkeep_session_fd(session);
    tokenkeep_token_free(token);
    tokenkeep_session_info_free(info);
    return status == TOKENKEEP_OK ? tokenkeep_session_end(session, 0, NULL, error) : status;
}

static tokenkeep_status use_a_session(tokenkeep_store *store, const char *account, tokenkeep_error **error) {
    tokenkeep_session_options options = TOKENKEEP_SESSION_OPTIONS_INIT;
    tokenkeep_session *session = NULL;
    options.http = answer_request;
    options.timeout_ms = CHECK_PATIENCE_MS;
    tokenkeep_status status = tokenkeep_session_open(store, "forks", account, &options, &session, error);
    if (status == TOKENKEEP_OK)
        status = begin_renew_and_end(session, error);
    tokenkeep_session_close(session);
    return status;
}

static tokenkeep_status use_a_watch(tokenkeep_store *store, tokenkeep_error **error) {
    tokenkeep_watch *watch = NULL;
    tokenkeep_event *event = NULL;
    tokenkeep_status status = tokenkeep_watch_open(store, "forks", &watch, error);
    if (status == TOKENKEEP_OK)
        status = tokenkeep_watch_next(watch, &event, error);
    tokenkeep_event_free(event);
    tokenkeep_watch_close(watch);
    return status == TOKENKEEP_NOT_FOUND ? TOKENKEEP_OK : status;
}

static void use_a_store(const char *account) {
    tokenkeep_store *store = open_store();
    tokenkeep_items *items = NULL;
    if (stack_is_durable()) {
        (void)!use_a_watch(store, NULL);
        (void)!use_a_session(store, account, NULL);
    }
    (void)!save_text(store, "forks", account, account, NULL);
    (void)!load_status(store, "forks", account);
    if (tokenkeep_list(store, "forks", &items, NULL) == TOKENKEEP_OK)
        tokenkeep_items_free(items);
    (void)!tokenkeep_clear(store, "forks", account, NULL);
    tokenkeep_close(store);
}

static void *use_stores(void *argument) {
    char account[32];
    snprintf(account, sizeof account, "thread-%d", *(int *)argument);
    while (!atomic_load(&stop))
        use_a_store(account);
    return NULL;
}

/* Nine of ten children use a vault that no thread of the parent locks: else they would wait for its locks
 * most of the time. The tenth uses the parent's vault, whose locks the parent may hold at the fork. */
static void choose_vault(int number) {
    const char *vault = getenv("TOKENKEEP_VAULT");
    char path[4096];
    if (vault == NULL || number % 10 == 0)
        return;
    snprintf(path, sizeof path, "%s-of-children-%d", vault, number % children_at_a_time);
    setenv("TOKENKEEP_VAULT", path, 1);
}

static int failed_step(int number, const tokenkeep_error *error) {
    printf("     step %d of a child: %s\n", number, tokenkeep_error_message(error));
    fflush(stdout);
    return number;
}

/* 0, or refused, or the number of the check that failed. */
static int child(int number) {
    tokenkeep_open_options options = TOKENKEEP_OPEN_OPTIONS_INIT;
    tokenkeep_store *store = NULL;
    tokenkeep_error *error = NULL;
    char account[32];
    choose_vault(number);
    options.stack_text = stack_under_test();
    options.timeout_ms = CHECK_PATIENCE_MS; /* eight threads hold the locks of the vault most of the time */
    alarm(CHECK_PATIENCE_S);
    tokenkeep_status status = tokenkeep_open(&options, &store, &error);
    if (status == TOKENKEEP_FORKED) {
        int is_told = error == NULL || *tokenkeep_error_message(error) != 0;
        tokenkeep_error_free(error);
        return is_told ? refused : 4;
    }
    if (status != TOKENKEEP_OK)
        return 5;
    snprintf(account, sizeof account, "child-%d", (int)getpid());
    if (tokenkeep_save(store, "children", account, "x", 1, NULL, &error) != TOKENKEEP_OK)
        return failed_step(6, error);
    if (load_status(store, "children", account) != TOKENKEEP_OK)
        return 7;
    if (tokenkeep_clear(store, "children", account, &error) != TOKENKEEP_OK)
        return failed_step(8, error);
    if (stack_is_durable() && use_a_watch(store, NULL) != TOKENKEEP_OK)
        return 9;
    if (stack_is_durable() && use_a_session(store, account, &error) != TOKENKEEP_OK)
        return failed_step(10, error);
    tokenkeep_close(store);
    return 0;
}

struct outcome {
    int served, refused, failed;
};

static void count(struct outcome *outcome, int status) {
    int code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    if (code == 0)
        outcome->served++;
    else if (code == refused)
        outcome->refused++;
    else {
        outcome->failed++;
        printf("     a child ended with status %d, signal %d\n", code,
               WIFSIGNALED(status) ? WTERMSIG(status) : 0);
        fflush(stdout);
    }
}

static int count_a_child(struct outcome *outcome) {
    int status = 0;
    if (wait(&status) < 0)
        return 0;
    count(outcome, status);
    return 1;
}

/* The threads' first calls and the first forks happen together. */
static int fresh_process(int report) {
    pthread_t threads[thread_count];
    int numbers[thread_count];
    struct outcome outcome = {0, 0, 0};
    for (int i = 0; i < thread_count; i++) {
        numbers[i] = i;
        if (pthread_create(&threads[i], NULL, use_stores, &numbers[i]) != 0)
            return 2;
    }
    for (int i = 0; i < forks_of_a_process + children_at_a_time; i++) {
        pid_t id = i < forks_of_a_process ? fork() : 1;
        if (id == 0)
            _exit(child(i));
        if (id < 0 || (i >= children_at_a_time && !count_a_child(&outcome)))
            return 2;
    }
    atomic_store(&stop, 1);
    for (int i = 0; i < thread_count; i++)
        pthread_join(threads[i], NULL);
    return write(report, &outcome, sizeof outcome) == sizeof outcome && outcome.failed == 0 ? 0 : 1;
}

static int wanted_forks(void) {
    const char *text = getenv("TOKENKEEP_FORKS");
    return text != NULL ? atoi(text) : 200;
}

static void no_child_of_a_busy_process_hangs(void) {
    struct outcome sum = {0, 0, 0};
    for (int done = 0; done < wanted_forks(); done += forks_of_a_process) {
        struct outcome outcome = {0, 0, 0};
        int ends[2], status = 0;
        if (!CHECK_NUMBER(0, pipe(ends)))
            return;
        fflush(stdout);
        /* This process has called nothing of the library: its child is fresh. */
        pid_t id = fork();
        if (id == 0)
            _exit(fresh_process(ends[1]));
        close(ends[1]);
        CHECK_NUMBER(id, waitpid(id, &status, 0));
        CHECK_NUMBER(0, status);
        CHECK_NUMBER(sizeof outcome, read(ends[0], &outcome, sizeof outcome));
        close(ends[0]);
        sum.served += outcome.served;
        sum.refused += outcome.refused;
    }
    printf("     %d children used a store, %d were refused\n", sum.served, sum.refused);
    CHECK(sum.served > 0);
}

static pthread_mutex_t lock_of_application = PTHREAD_MUTEX_INITIALIZER;
static tokenkeep_store *store_of_application;
static atomic_int status_in_child_handler;

static void lock_application(void) {
    pthread_mutex_lock(&lock_of_application);
}

static void unlock_application(void) {
    pthread_mutex_unlock(&lock_of_application);
}

static void save_in_child(void) {
    pthread_mutex_unlock(&lock_of_application);
    tokenkeep_status status = tokenkeep_save(store_of_application, "forks", "handler", "x", 1, NULL, NULL);
    atomic_store(&status_in_child_handler, (int)status);
}

static void *load_under_lock(void *argument) {
    while (!atomic_load(&stop)) {
        pthread_mutex_lock(&lock_of_application);
        (void)!load_status(argument, "forks", "handler");
        pthread_mutex_unlock(&lock_of_application);
    }
    return NULL;
}

/* The application registers its handlers before its first call, takes in them a lock that another thread
 * holds during calls, and calls the library in the child's handler. */
static int application_with_handlers(void) {
    pthread_t thread;
    alarm(CHECK_PATIENCE_S);
    if (pthread_atfork(lock_application, unlock_application, save_in_child) != 0)
        return 1;
    store_of_application = open_store();
    if (tokenkeep_save(store_of_application, "forks", "handler", "x", 1, NULL, NULL) != TOKENKEEP_OK)
        return 2;
    if (pthread_create(&thread, NULL, load_under_lock, store_of_application) != 0)
        return 3;
    for (int i = 0; i < 100; i++) {
        int status = 0;
        pid_t id = fork();
        if (id == 0)
            _exit(atomic_load(&status_in_child_handler) == TOKENKEEP_FORKED ? 0 : 4);
        if (id < 0 || waitpid(id, &status, 0) != id || status != 0)
            return 5;
    }
    atomic_store(&stop, 1);
    pthread_join(thread, NULL);
    tokenkeep_close(store_of_application);
    return 0;
}

static void a_handler_may_take_a_lock_that_a_call_runs_under(void) {
    int status = 0;
    fflush(stdout);
    pid_t id = fork();
    if (id == 0)
        _exit(application_with_handlers());
    CHECK_NUMBER(id, waitpid(id, &status, 0));
    CHECK_NUMBER(0, status);
}

int main(void) {
    RUN(a_handler_may_take_a_lock_that_a_call_runs_under);
    RUN(no_child_of_a_busy_process_hangs);
    return check_result();
}
