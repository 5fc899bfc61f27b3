#define _GNU_SOURCE
#include "CLibsecret.h"
#include "worker_threads.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>

/* GLib's own asynchronous connecting starts two threads: it aborts the process if the first cannot be
 * started, and never ends if the second cannot. So the same steps run here on a thread of this library. */

enum { as_client_of_a_bus = 1 | 8 };

struct tokenkeep_connecting {
    pthread_mutex_t mutex;
    GMainContext *context;
    GDBusConnection *connection;
    GCancellable *cancellable;
    GError *failure;
    int error;
    int is_finished;
    int is_abandoned;
};

static void destroy(tokenkeep_connecting *connecting) {
    const tokenkeep_libsecret *glib = tokenkeep_libsecret_table();
    if (connecting->failure)
        glib->g_error_free(connecting->failure);
    if (connecting->connection)
        glib->g_object_unref(connecting->connection);
    glib->g_object_unref(connecting->cancellable);
    glib->g_main_context_unref(connecting->context);
    pthread_mutex_destroy(&connecting->mutex);
    free(connecting);
}

static void *connect_to_bus(void *argument) {
    tokenkeep_connecting *connecting = argument;
    const tokenkeep_libsecret *glib = tokenkeep_libsecret_table();
    int error = tokenkeep_worker_threads_start();
    if (error == 0 && !glib->g_initable_init((GInitable *)connecting->connection, connecting->cancellable,
                                             &connecting->failure))
        error = ECONNREFUSED;
    pthread_mutex_lock(&connecting->mutex);
    connecting->error = error;
    connecting->is_finished = 1;
    int is_abandoned = connecting->is_abandoned;
    if (!is_abandoned)
        glib->g_main_context_wakeup(connecting->context);
    pthread_mutex_unlock(&connecting->mutex);
    if (is_abandoned)
        destroy(connecting);
    return NULL;
}

/* The thread, and GLib's thread that it starts, run none of the host's signal handlers. */
static int start_thread(tokenkeep_connecting *connecting) {
    pthread_attr_t attributes;
    pthread_t thread;
    sigset_t all, previous;
    sigfillset(&all);
    pthread_attr_init(&attributes);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    pthread_sigmask(SIG_SETMASK, &all, &previous);
    int error = pthread_create(&thread, &attributes, connect_to_bus, connecting);
    pthread_sigmask(SIG_SETMASK, &previous, NULL);
    pthread_attr_destroy(&attributes);
    return error;
}

int tokenkeep_connecting_start(const char *address, GMainContext *context, tokenkeep_connecting **started) {
    const tokenkeep_libsecret *glib = tokenkeep_libsecret_table();
    tokenkeep_connecting *connecting = calloc(1, sizeof *connecting);
    if (!connecting)
        return ENOMEM;
    pthread_mutex_init(&connecting->mutex, NULL);
    connecting->context = glib->g_main_context_ref(context);
    connecting->cancellable = glib->g_cancellable_new();
    connecting->connection = glib->g_object_new(glib->g_dbus_connection_get_type(), "address", address,
                                                "flags", as_client_of_a_bus, NULL);
    int error = start_thread(connecting);
    if (error != 0)
        destroy(connecting);
    else
        *started = connecting;
    return error;
}

int tokenkeep_connecting_is_finished(tokenkeep_connecting *connecting) {
    pthread_mutex_lock(&connecting->mutex);
    int is_finished = connecting->is_finished;
    pthread_mutex_unlock(&connecting->mutex);
    return is_finished;
}

int tokenkeep_connecting_end(tokenkeep_connecting *connecting, GDBusConnection **connection,
                             GError **failure) {
    pthread_mutex_lock(&connecting->mutex);
    int is_finished = connecting->is_finished, error = connecting->error;
    if (!is_finished) {
        connecting->is_abandoned = 1;
        tokenkeep_libsecret_table()->g_cancellable_cancel(connecting->cancellable);
    }
    pthread_mutex_unlock(&connecting->mutex);
    if (!is_finished)
        return ETIMEDOUT;
    *failure = connecting->failure;
    connecting->failure = NULL;
    if (error == 0) {
        *connection = connecting->connection;
        connecting->connection = NULL;
    }
    destroy(connecting);
    return error;
}
