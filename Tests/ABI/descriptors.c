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

enum moment { never, before_libsecret, after_gio, before_a_thread, after_a_thread };

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

static void give_back(void) {
    moment = never;
    while (taken_count > 0)
        close(taken[--taken_count]);
}

void *dlopen(const char *name, int flags) {
    void *(*real)(const char *, int);
    *(void **)&real = dlsym(RTLD_NEXT, "dlopen");
    if (moment == before_libsecret && name && strcmp(name, "libsecret-1.so.0") == 0)
        take_all();
    void *library = real(name, flags);
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
    options.stack_text = "any required secret-service timeout=20s";
    CHECK_NUMBER(TOKENKEEP_OK, tokenkeep_open(&options, &service, NULL));
    return service;
}

static int says(const tokenkeep_error *error, const char *words) {
    return error && strstr(tokenkeep_error_message(error), words);
}

/* On the test's bus no program has the service's name. */
static int is_usual(tokenkeep_status status, const tokenkeep_error *error) {
    return status == TOKENKEEP_NOT_FOUND || says(error, "there is no Secret Service");
}

/* The first call in a fresh process, and one after the descriptors are free again: 0, or what was wrong. */
static int call_twice(void) {
    struct rlimit limit = {64, 64};
    tokenkeep_error *first = NULL, *second = NULL;
    tokenkeep_item *item = NULL;
    alarm(60);
    if (setrlimit(RLIMIT_NOFILE, &limit) != 0)
        return 2;
    tokenkeep_store *service = open_service();
    tokenkeep_status status = tokenkeep_load(service, "descriptors", "a", &item, &first);
    if (moment != never && taken_count == 0)
        return 3;
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

static void a_first_call_is_answered(void) {
    check_moment(never, 0);
}

static void descriptors_used_up_while_libraries_are_loaded_end_no_process(void) {
    check_moment(before_libsecret, 0);
    check_moment(after_gio, 0);
}

static void descriptors_used_up_while_connecting_end_no_process(void) {
    for (int thread = 1; thread <= threads_of_a_connection; thread++) {
        check_moment(before_a_thread, thread);
        check_moment(after_a_thread, thread);
    }
}

int main(void) {
    RUN(a_first_call_is_answered);
    RUN(descriptors_used_up_while_libraries_are_loaded_end_no_process);
    RUN(descriptors_used_up_while_connecting_end_no_process);
    return check_result();
}
