/* SPDX-License-Identifier: Apache-2.0 */
/* Another thread uses up the descriptors during the first call that reaches the message bus. Functions of
 * this program, which the library calls in place of the system's, are that thread. */
#define _GNU_SOURCE
#include "store_test.h"
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum moment {
    never,
    before_libsecret,
    during_libsecret,
    after_gio,
    before_a_thread,
    after_a_thread,
    at_the_socket,
    at_a_wakeup
};

/* The thread that connects and two probes, then GLib's own two. */
enum { threads_before_glib = 3, threads_of_a_connection = 5 };

static const char restart[] = "start the program again";
static enum moment moment;
static int wanted_thread, threads;
static int taken[256], taken_count;

static void take_all(void) {
    int descriptor;
    while (taken_count < 256 && (descriptor = open("/dev/null", O_RDONLY | O_CLOEXEC)) >= 0)
        taken[taken_count++] = descriptor;
}

static int was_taken;

static void free_all(void) {
    was_taken = taken_count > 0;
    while (taken_count > 0)
        close(taken[--taken_count]);
}

static void give_back(void) {
    moment = never;
    free_all();
}

int socket(int domain, int type, int protocol) {
    int (*real)(int, int, int);
    *(void **)&real = dlsym(RTLD_NEXT, "socket");
    if (moment == at_the_socket)
        take_all();
    return real(domain, type, protocol);
}

/* The descriptor of a main context, without which GLib ends the process. */
int eventfd(unsigned int count, int flags) {
    int (*real)(unsigned int, int);
    *(void **)&real = dlsym(RTLD_NEXT, "eventfd");
    if (moment == at_a_wakeup)
        take_all();
    return real(count, flags);
}

void *dlopen(const char *name, int flags) {
    void *(*real)(const char *, int);
    *(void **)&real = dlsym(RTLD_NEXT, "dlopen");
    int is_libsecret = name && strcmp(name, "libsecret-1.so.0") == 0;
    if ((moment == before_libsecret || moment == during_libsecret) && is_libsecret)
        take_all();
    void *library = real(name, flags);
    if (moment == during_libsecret && is_libsecret)
        free_all();
    if (moment == after_gio && name && strcmp(name, "libgio-2.0.so.0") == 0)
        take_all();
    return library;
}

int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*body)(void *),
                   void *argument) {
    int (*real)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
    *(void **)&real = dlsym(RTLD_NEXT, "pthread_create");
    int is_wanted = __atomic_add_fetch(&threads, 1, __ATOMIC_SEQ_CST) == wanted_thread;
    if (moment == before_a_thread && is_wanted)
        take_all();
    int error = real(thread, attributes, body, argument);
    if (moment == after_a_thread && is_wanted)
        take_all();
    return error;
}

static tokenkeep_store *open_service(void) {
    tokenkeep_store *service = NULL;
    tokenkeep_open_options options = TOKENKEEP_OPEN_OPTIONS_INIT;
    options.stack_text = "any required secret-service timeout=300s";
    CHECK_NUMBER(TOKENKEEP_OK, tokenkeep_open(&options, &service, NULL));
    return service;
}

static int says(const tokenkeep_error *error, const char *words) {
    return error && strstr(tokenkeep_error_message(error), words);
}

/* On the test's bus no program has the service's name. */
static int is_usual(tokenkeep_status status, const tokenkeep_error *error) {
    return status == TOKENKEEP_NOT_FOUND || says(error, "there is no Secret Service on this session bus");
}

/* The first call in a fresh process, and one after the descriptors are free again: 0, or what was wrong. */
static int call_twice(void) {
    struct rlimit limit = {64, 64};
    tokenkeep_error *first = NULL, *second = NULL;
    tokenkeep_item *item = NULL;
    alarm(CHECK_PATIENCE_S);
    if (setrlimit(RLIMIT_NOFILE, &limit) != 0)
        return 2;
    tokenkeep_store *service = open_service();
    tokenkeep_status status = tokenkeep_load(service, "descriptors", "a", &item, &first);
    if (moment != never && taken_count == 0 && !was_taken)
        return 3;
    if ((moment == during_libsecret || moment == at_the_socket) &&
        !says(first, "too many open files to talk to the Secret Service"))
        return 6;
    /* GLib's own threads start while their descriptors are lent. */
    int may_be_broken = wanted_thread > threads_before_glib;
    give_back();
    if (!is_usual(status, first) && status != TOKENKEEP_UNAVAILABLE && !says(first, restart))
        return 4;
    status = tokenkeep_load(service, "descriptors", "a", &item, &second);
    if (!is_usual(status, second) && !(may_be_broken && says(second, restart)))
        return 5;
    tokenkeep_error_free(first);
    tokenkeep_error_free(second);
    tokenkeep_close(service);
    return 0;
}

static void check_moment(enum moment wanted, int thread) {
    int status = 0;
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        moment = wanted;
        wanted_thread = thread;
        _exit(call_twice());
    }
    CHECK_NUMBER(child, waitpid(child, &status, 0));
    if (!CHECK_NUMBER(0, status))
        printf("     moment %d, thread %d\n", wanted, thread);
}

/* Whoever has talked to the bus needs no further descriptor for a call: 0, or what was wrong. */
static int call_at_the_limit(void) {
    struct rlimit limit = {64, 64};
    tokenkeep_error *error = NULL;
    tokenkeep_item *item = NULL;
    alarm(CHECK_PATIENCE_S);
    if (setrlimit(RLIMIT_NOFILE, &limit) != 0)
        return 2;
    tokenkeep_store *service = open_service();
    (void)!tokenkeep_load(service, "descriptors", "a", &item, NULL);
    moment = at_a_wakeup;
    for (int i = 0; i < 20; i++) {
        tokenkeep_status status = tokenkeep_load(service, "descriptors", "a", &item, &error);
        if (!is_usual(status, error))
            return 4;
        tokenkeep_error_free(error);
        error = NULL;
    }
    give_back();
    tokenkeep_close(service);
    return 0;
}

static void descriptors_used_up_during_later_calls_end_no_process(void) {
    int status = 0;
    fflush(stdout);
    pid_t child = fork();
    if (child == 0)
        _exit(call_at_the_limit());
    CHECK_NUMBER(child, waitpid(child, &status, 0));
    CHECK_NUMBER(0, status);
}

static void a_first_call_is_answered(void) {
    check_moment(never, 0);
}

static void descriptors_used_up_while_libraries_are_loaded_end_no_process(void) {
    check_moment(before_libsecret, 0);
    check_moment(after_gio, 0);
}

/* The next call loads the library: a shortage is not taken for a missing installation. */
static void a_shortage_that_is_over_is_not_remembered(void) {
    check_moment(during_libsecret, 0);
}

static void a_bus_without_a_descriptor_for_its_socket_is_not_said_to_refuse(void) {
    check_moment(at_the_socket, 0);
}

static void descriptors_used_up_while_connecting_end_no_process(void) {
    for (int thread = 1; thread <= threads_of_a_connection; thread++) {
        check_moment(before_a_thread, thread);
        check_moment(after_a_thread, thread);
    }
}

/* A child of a process that has used the bus, with a store of its own: 0, or what was wrong. */
static int use_and_fork(void) {
    tokenkeep_error *error = NULL;
    tokenkeep_item *item = NULL;
    int status = -1;
    tokenkeep_store *service = open_service();
    (void)!tokenkeep_load(service, "descriptors", "a", &item, NULL);
    pid_t child = fork();
    if (child == 0) {
        alarm(CHECK_PATIENCE_S);
        (void)!tokenkeep_load(open_service(), "descriptors", "a", &item, &error);
        _exit(says(error, "the Secret Service was used before fork; exec first") ? 0 : 1);
    }
    waitpid(child, &status, 0);
    tokenkeep_close(service);
    return status == 0 ? 0 : 7;
}

static void a_child_is_refused_the_bus_of_its_parent(void) {
    int status = -1;
    fflush(stdout);
    pid_t child = fork();
    if (child == 0)
        _exit(use_and_fork());
    CHECK_NUMBER(child, waitpid(child, &status, 0));
    CHECK_NUMBER(0, status);
}

int main(void) {
    RUN(a_first_call_is_answered);
    RUN(descriptors_used_up_while_libraries_are_loaded_end_no_process);
    RUN(a_shortage_that_is_over_is_not_remembered);
    RUN(descriptors_used_up_while_connecting_end_no_process);
    RUN(a_bus_without_a_descriptor_for_its_socket_is_not_said_to_refuse);
    RUN(descriptors_used_up_during_later_calls_end_no_process);
    RUN(a_child_is_refused_the_bus_of_its_parent);
    return check_result();
}
