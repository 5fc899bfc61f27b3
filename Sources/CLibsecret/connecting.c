#define _GNU_SOURCE
#include "CLibsecret.h"
#include "fatal_errors.h"
#include "worker_threads.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>

/* GLib's function for asynchronous connecting starts two threads. It aborts the process if the first thread
 * cannot be started, and never ends if the second cannot. So the same steps run here on a thread of this
 * library. */

enum { as_client_of_a_bus = 1 | 8, descriptors_for_connecting = 6 };

struct tokenkeep_connecting {
    pthread_mutex_t mutex;
    GMainContext *context;
    GDBusConnection *connection;
    GCancellable *cancellable;
    GError *failure;
    descriptor_reserve reserve;
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
    descriptor_reserve_release(&connecting->reserve);
    glib->g_main_context_unref(connecting->context);
    pthread_mutex_destroy(&connecting->mutex);
    free(connecting);
}

struct initialisation {
    tokenkeep_connecting *connecting;
    gboolean is_connected;
};

static void initialise(void *argument) {
    struct initialisation *initialisation = argument;
    tokenkeep_connecting *connecting = initialisation->connecting;
    initialisation->is_connected = tokenkeep_libsecret_table()->g_initable_init(
        (GInitable *)connecting->connection, connecting->cancellable, &connecting->failure);
}

/* Initialises the connection, and leaves GLib if GLib would abort. GLib needs descriptors for the cancellable
 * and, once connected, for a context in which it waits for the bus's first answer. A connection that is left
 * at that point stays locked, so neither it nor its socket is ever freed. */
static int initialise_or_leave(tokenkeep_connecting *connecting) {
    const tokenkeep_libsecret *glib = tokenkeep_libsecret_table();
    descriptor_reserve_lend(&connecting->reserve, 1);
    (void)glib->g_cancellable_get_fd(connecting->cancellable);
    descriptor_reserve_release(&connecting->reserve);
    struct initialisation initialisation = {.connecting = connecting};
    int error = fatal_errors_leave(initialise, &initialisation);
    if (error != 0) {
        connecting->connection = NULL;
        return error == EMFILE || error == ENFILE ? EMFILE : ECANCELED;
    }
    return initialisation.is_connected ? 0 : ECONNREFUSED;
}

static void *connect_to_bus(void *argument) {
    tokenkeep_connecting *connecting = argument;
    const tokenkeep_libsecret *glib = tokenkeep_libsecret_table();
    int error = tokenkeep_worker_threads_start(&connecting->reserve);
    if (error == 0)
        error = initialise_or_leave(connecting);
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

/* Starts the thread with all signals blocked, so that neither this thread nor the thread that GLib starts
 * from it runs a signal handler of the host. */
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
    int error = descriptor_reserve_take(&connecting->reserve, descriptors_for_connecting);
    if (error == 0)
        error = start_thread(connecting);
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
