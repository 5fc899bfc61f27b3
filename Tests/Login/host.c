/* A program that signs a user in through PAM, as awkwardly as real ones do.
 *
 * Usage: host [OPTION…] SERVICE USER PASSWORD [NEW_PASSWORD] -- CALL…
 * Calls: auth, account, session, close, passwd, setcred, fork (the rest runs in a child, as sshd does), end,
 * wait (until standard input has a line).
 * Options: --ignore-sigchld, --reaper (a thread waits for any child), --subreaper, --descriptors, --threads,
 * --small-stack, --no-first-fork and --no-second-fork (of the module's, for lack of memory). Prints a line
 * for each call, NAME CODE, and a line for each message. A password is given as hexadecimal digits. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <security/pam_appl.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static char *password, *new_password;
static char **calls;
static const char *service, *user;
static volatile int stolen, handled;

static char *from_hexadecimal(const char *text) {
    size_t length = strlen(text) / 2;
    char *bytes = calloc(1, length + 1);
    for (size_t index = 0; bytes != NULL && index < length; index++) {
        unsigned int byte = 0;
        (void)sscanf(text + 2 * index, "%2x", &byte);
        bytes[index] = (char)byte;
    }
    return bytes;
}

/* The present password to the first question, then the new one; root is asked for the new one alone. */
static const char *answer_to(const char *question) {
    return strcasestr(question, "new") != NULL ? new_password : password;
}

static int converse(int count, const struct pam_message **messages, struct pam_response **responses,
                    void *data) {
    (void)data;
    struct pam_response *answers = calloc((size_t)count, sizeof *answers);
    if (answers == NULL)
        return PAM_BUF_ERR;
    for (int index = 0; index < count; index++) {
        const struct pam_message *message = messages[index];
        if (message->msg_style == PAM_PROMPT_ECHO_OFF || message->msg_style == PAM_PROMPT_ECHO_ON)
            answers[index].resp = strdup(answer_to(message->msg));
        else
            printf("message %s\n", message->msg);
    }
    *responses = answers;
    return PAM_SUCCESS;
}

static int call(pam_handle_t *pamh, const char *name) {
    if (strcmp(name, "auth") == 0)
        return pam_authenticate(pamh, 0);
    if (strcmp(name, "account") == 0)
        return pam_acct_mgmt(pamh, 0);
    if (strcmp(name, "session") == 0)
        return pam_open_session(pamh, 0);
    if (strcmp(name, "close") == 0)
        return pam_close_session(pamh, 0);
    if (strcmp(name, "passwd") == 0)
        return pam_chauthtok(pamh, 0);
    if (strcmp(name, "wait") == 0)
        return getchar() == EOF;
    return pam_setcred(pamh, PAM_ESTABLISH_CRED);
}

static void *sign_in(void *data) {
    (void)data;
    struct pam_conv conversation = {converse, NULL};
    pam_handle_t *pamh = NULL;
    int code = pam_start(service, user, &conversation, &pamh);
    pid_t child = -1;
    for (char **name = calls; code != PAM_ABORT && *name != NULL; name++) {
        if (strcmp(*name, "fork") == 0) {
            (void)fflush(stdout);
            child = fork();
            if (child > 0)
                break;
            continue;
        }
        code = call(pamh, *name);
        printf("%s %d\n", *name, code);
        (void)fflush(stdout);
    }
    (void)fflush(stdout);
    if (child > 0) {
        (void)waitpid(child, NULL, 0);
        (void)pam_end(pamh, code | PAM_DATA_SILENT);
    } else {
        (void)pam_end(pamh, code);
    }
    if (child == 0)
        _exit(0);
    return NULL;
}

static void *reap(void *data) {
    (void)data;
    for (;;) {
        pid_t process = waitpid(-1, NULL, 0);
        if (process > 0)
            stolen++;
        else
            (void)sched_yield();
    }
    return NULL;
}

static void *spin(void *data) {
    (void)data;
    for (;;)
        free(malloc(64));
    return NULL;
}

static void count_signal(int number) {
    (void)number;
    handled++;
}

static void open_descriptors(void) {
    struct rlimit limit;
    (void)getrlimit(RLIMIT_NOFILE, &limit);
    limit.rlim_cur = limit.rlim_max < 4096 ? limit.rlim_max : 4096;
    (void)setrlimit(RLIMIT_NOFILE, &limit);
    for (int count = 0; count < 1000; count++)
        if (open("/dev/null", O_RDONLY) < 0)
            exit(99);
}

/* Lets clone() with these flags fail for lack of memory, here and in children. The C library's fork and
 * threads have other flags. */
static void fail_clone(unsigned int flags) {
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone, 0, 3),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[0])),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, flags, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOMEM),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {.len = sizeof filter / sizeof filter[0], .filter = filter};
    if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)
        exit(98);
}

int main(int argc, char **argv) {
    int index = 1, has_small_stack = 0, is_reaping = 0, has_threads = 0, is_subreaper = 0;
    (void)signal(SIGCHLD, count_signal);
    for (; index < argc && strncmp(argv[index], "--", 2) == 0; index++) {
        if (strcmp(argv[index], "--ignore-sigchld") == 0)
            (void)signal(SIGCHLD, SIG_IGN);
        else if (strcmp(argv[index], "--descriptors") == 0)
            open_descriptors();
        else if (strcmp(argv[index], "--reaper") == 0)
            is_reaping = 1;
        else if (strcmp(argv[index], "--subreaper") == 0)
            is_subreaper = prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0;
        else if (strcmp(argv[index], "--threads") == 0)
            has_threads = 1;
        else if (strcmp(argv[index], "--small-stack") == 0)
            has_small_stack = 1;
        else if (strcmp(argv[index], "--no-first-fork") == 0)
            fail_clone(0);
        else if (strcmp(argv[index], "--no-second-fork") == 0)
            fail_clone(SIGCHLD);
    }
    if (argc - index < 4)
        return 2;
    service = argv[index];
    user = argv[index + 1];
    new_password = password = from_hexadecimal(argv[index + 2]);
    index += 3;
    if (strcmp(argv[index], "--") != 0)
        new_password = from_hexadecimal(argv[index++]);
    calls = argv + index + 1;

    pthread_t thread;
    if (is_reaping)
        (void)pthread_create(&thread, NULL, reap, NULL);
    for (int count = 0; has_threads && count < 2; count++)
        (void)pthread_create(&thread, NULL, spin, NULL);
    pthread_attr_t attributes;
    (void)pthread_attr_init(&attributes);
    (void)pthread_attr_setstacksize(&attributes, has_small_stack ? 128 * 1024 : 8 * 1024 * 1024);
    if (pthread_create(&thread, &attributes, sign_in, NULL) != 0)
        return 3;
    (void)pthread_join(thread, NULL);
    /* A process that the module left becomes this program's child. */
    if (is_subreaper && waitpid(-1, NULL, WNOHANG) >= 0)
        stolen++;
    /* No call forks children of this program's own but "fork": others' signals and children are the module's.
     */
    printf("children %d signals %d\n", stolen, handled);
    (void)fflush(stdout);
    _exit(0);
}
