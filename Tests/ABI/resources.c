/* SPDX-License-Identifier: Apache-2.0 */
/* Limits and settings of the host: a limit of file sizes, a umask that takes the owner's own rights. */
#define _GNU_SOURCE
#include "store_test.h"
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

static tokenkeep_store *store;

static int is_pending(int signal) {
    sigset_t pending;
    sigpending(&pending);
    return sigismember(&pending, signal);
}

static void a_file_beyond_the_limit_is_io(void) {
    static char secret[8192];
    struct rlimit before, limit;
    memset(secret, 'x', sizeof secret - 1);
    CHECK_NUMBER(TOKENKEEP_OK, save_text(store, "limits", "a", "old", NULL));
    CHECK_NUMBER(0, getrlimit(RLIMIT_FSIZE, &before));
    limit = before;
    limit.rlim_cur = 4096;
    CHECK_NUMBER(0, setrlimit(RLIMIT_FSIZE, &limit));
    CHECK_STATUS(TOKENKEEP_IO, tokenkeep_save(store, "limits", "a", secret, sizeof secret, NULL, &error));
    CHECK(!is_pending(SIGXFSZ));
    CHECK_NUMBER(0, setrlimit(RLIMIT_FSIZE, &before));
    tokenkeep_item *item = load(store, "limits", "a");
    CHECK_TEXT("old", (const char *)tokenkeep_item_secret(item, NULL));
    tokenkeep_item_free(item);
}

/* A signal of the host's own is neither taken nor let through. */
static void a_signal_that_was_pending_stays_pending(void) {
    static char secret[8192];
    struct rlimit before, limit;
    sigset_t signal, mask;
    sigemptyset(&signal);
    sigaddset(&signal, SIGXFSZ);
    sigprocmask(SIG_BLOCK, &signal, &mask);
    raise(SIGXFSZ);
    CHECK_NUMBER(0, getrlimit(RLIMIT_FSIZE, &before));
    limit = before;
    limit.rlim_cur = 4096;
    CHECK_NUMBER(0, setrlimit(RLIMIT_FSIZE, &limit));
    CHECK_NUMBER(TOKENKEEP_IO, tokenkeep_save(store, "limits", "a", secret, sizeof secret, NULL, NULL));
    CHECK_NUMBER(0, setrlimit(RLIMIT_FSIZE, &before));
    CHECK(is_pending(SIGXFSZ));
    sigtimedwait(&signal, NULL, &(struct timespec){0, 0});
    sigprocmask(SIG_SETMASK, &mask, NULL);
}

static int make_and_open_a_vault(const char *directory, mode_t mask) {
    /* Root may open every file: another user must do this. */
    if (geteuid() == 0 && (setgid(65534) != 0 || setuid(65534) != 0))
        return 2;
    char vault[128];
    snprintf(vault, sizeof vault, "%s/vault", directory);
    setenv("TOKENKEEP_VAULT", vault, 1);
    setenv("HOME", directory, 1);
    unsetenv("XDG_CONFIG_HOME");
    umask(mask);
    for (int round = 0; round < 2; round++) {
        tokenkeep_open_options options = TOKENKEEP_OPEN_OPTIONS_INIT;
        tokenkeep_store *own = NULL;
        tokenkeep_error *error = NULL;
        char account[16];
        snprintf(account, sizeof account, "round-%d", round);
        options.stack_text = "any required vault";
        if (tokenkeep_open(&options, &own, NULL) != TOKENKEEP_OK)
            return 3;
        if (tokenkeep_save(own, "masks", account, "x", 1, NULL, &error) != TOKENKEEP_OK) {
            printf("     %s\n", tokenkeep_error_message(error));
            fflush(stdout);
            return 4;
        }
        if (load_status(own, "masks", "round-0") != TOKENKEEP_OK)
            return 5;
        tokenkeep_close(own);
    }
    return 0;
}

static volatile sig_atomic_t interruptions;

static void note_interruption(int signal) {
    (void)signal;
    interruptions++;
}

/* The handler is installed without SA_RESTART: each system call of this thread may end with EINTR. */
static void a_timer_interrupts_no_call(void) {
    struct sigaction action = {.sa_handler = note_interruption}, action_before;
    const struct itimerval often = {{0, 500}, {0, 500}}, never = {{0, 0}, {0, 0}};
    tokenkeep_watch *watch = NULL;
    CHECK_NUMBER(TOKENKEEP_OK, tokenkeep_watch_open(store, "timer", &watch, NULL));
    CHECK_NUMBER(0, sigaction(SIGALRM, &action, &action_before));
    CHECK_NUMBER(0, setitimer(ITIMER_REAL, &often, NULL));
    for (int round = 0; round < 1000 && (round < 50 || interruptions < 100); round++) {
        tokenkeep_event *event = NULL;
        tokenkeep_items *items = NULL;
        CHECK_NUMBER(TOKENKEEP_OK, save_text(store, "timer", "a", round % 2 ? "odd" : "even", NULL));
        CHECK_NUMBER(TOKENKEEP_OK, load_status(store, "timer", "a"));
        CHECK_STATUS(TOKENKEEP_OK, tokenkeep_list(store, "timer", &items, &error));
        CHECK_NUMBER(1, tokenkeep_items_count(items));
        CHECK_STATUS(TOKENKEEP_OK, tokenkeep_watch_next(watch, &event, &error));
        CHECK_STATUS(TOKENKEEP_OK, tokenkeep_clear(store, "timer", "a", &error));
        tokenkeep_items_free(items);
        tokenkeep_event_free(event);
    }
    CHECK_NUMBER(0, setitimer(ITIMER_REAL, &never, NULL));
    CHECK_NUMBER(0, sigaction(SIGALRM, &action_before, NULL));
    CHECK(interruptions > 0);
    tokenkeep_watch_close(watch);
}

static void check_mask(mode_t mask) {
    char directory[] = "/tmp/tokenkeep-masks-XXXXXX", command[128];
    int status = 0;
    if (!CHECK(mkdtemp(directory) != NULL))
        return;
    if (geteuid() == 0)
        CHECK_NUMBER(0, chown(directory, 65534, 65534));
    fflush(stdout);
    pid_t child = fork();
    if (child == 0)
        _exit(make_and_open_a_vault(directory, mask));
    CHECK_NUMBER(child, waitpid(child, &status, 0));
    CHECK_NUMBER(0, WIFEXITED(status) ? WEXITSTATUS(status) : -1);
    snprintf(command, sizeof command, "rm -rf %s", directory);
    CHECK_NUMBER(0, system(command));
}

static void a_umask_that_takes_writing_leaves_a_usable_vault(void) {
    check_mask(0377);
}

static void a_umask_that_takes_everything_leaves_a_usable_vault(void) {
    check_mask(0777);
}

int main(void) {
    RUN(a_umask_that_takes_writing_leaves_a_usable_vault);
    RUN(a_umask_that_takes_everything_leaves_a_usable_vault);
    store = open_store();
    RUN(a_file_beyond_the_limit_is_io);
    RUN(a_signal_that_was_pending_stays_pending);
    RUN(a_timer_interrupts_no_call);
    tokenkeep_close(store);
    return check_result();
}
