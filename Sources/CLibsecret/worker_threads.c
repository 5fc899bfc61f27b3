#define _GNU_SOURCE
#include "worker_threads.h"
#include "CLibsecret.h"
#include "fatal_errors.h"

#include <errno.h>
#include <pthread.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* GLib aborts the process if it cannot start its threads (g_thread_new) or gets no descriptor for the wake-up
 * of their contexts. So they are started at a chosen moment: right after a probe that the kernel grants two
 * more threads, and under a reserve of descriptors. If another process or thread has taken these resources in
 * between, GLib's function is left before it aborts. */

static pthread_mutex_t starting = PTHREAD_MUTEX_INITIALIZER;
static int is_started;
static int is_broken;

/* The threads that GLib starts: "gmain", which its tasks need, and "gdbus". */
enum { threads_of_glib = 2 };

struct probe {
    pthread_mutex_t *gate;
    pthread_t thread;
    pid_t id;
};

static void *wait_at_gate(void *argument) {
    struct probe *probe = argument;
    probe->id = (pid_t)syscall(SYS_gettid);
    pthread_mutex_lock(probe->gate);
    pthread_mutex_unlock(probe->gate);
    return NULL;
}

/* A joined thread counts against the limit of processes until the kernel has released it. */
static void await_release(pid_t thread) {
    const struct timespec pause = {0, 50000};
    for (int i = 0; i < 2000 && syscall(SYS_tgkill, getpid(), thread, 0) == 0; i++)
        nanosleep(&pause, NULL);
}

/* Whether the kernel grants as many threads at once as GLib starts: 0 or EAGAIN. */
static int probe_threads(void) {
    pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;
    struct probe probes[threads_of_glib];
    int count = 0, error = 0;
    pthread_mutex_lock(&gate);
    while (error == 0 && count < threads_of_glib) {
        probes[count] = (struct probe){.gate = &gate};
        error = pthread_create(&probes[count].thread, NULL, wait_at_gate, &probes[count]);
        count += error == 0;
    }
    pthread_mutex_unlock(&gate);
    while (count-- > 0) {
        pthread_join(probes[count].thread, NULL);
        await_release(probes[count].id);
    }
    return error;
}

/* Makes a connection over one end of a socket pair, without a bus, and releases it. This is the smallest
 * operation that starts GLib's threads. */
static int connect_to_itself(int end) {
    const tokenkeep_libsecret *glib = tokenkeep_libsecret_table();
    GDBusConnection *connection = NULL;
    GSocketConnection *stream = NULL;
    GSocket *socket = glib->g_socket_new_from_fd(end, NULL);
    if (socket)
        stream = glib->g_socket_connection_factory_create_connection(socket);
    if (stream)
        connection = glib->g_dbus_connection_new_sync((GIOStream *)stream, NULL, 0, NULL, NULL, NULL);
    if (connection)
        glib->g_object_unref(connection);
    if (stream)
        glib->g_object_unref(stream);
    if (socket)
        glib->g_object_unref(socket);
    else
        close(end);
    return connection ? 0 : EAGAIN;
}

enum { descriptors_of_a_context = 1, descriptors_of_glib = 2 };

struct beginning {
    int end;
    descriptor_reserve *reserve;
    int error;
};

/* Makes the connection in a separate context, so that it does not belong to the host's main loop. */
static void connect_in_a_context(void *argument) {
    const tokenkeep_libsecret *glib = tokenkeep_libsecret_table();
    struct beginning *beginning = argument;
    beginning->error = EMFILE;
    descriptor_reserve_lend(beginning->reserve, descriptors_of_a_context);
    GMainContext *context = glib->g_main_context_new();
    glib->g_main_context_push_thread_default(context);
    beginning->error = ENOTRECOVERABLE;
    descriptor_reserve_lend(beginning->reserve, descriptors_of_glib);
    beginning->error = connect_to_itself(beginning->end);
    glib->g_main_context_pop_thread_default(context);
    glib->g_main_context_unref(context);
}

static int start(descriptor_reserve *reserve) {
    int ends[2];
    int error = probe_threads();
    if (error != 0)
        return error;
    descriptor_reserve_lend(reserve, 2);
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
        return errno;
    struct beginning beginning = {.end = ends[0], .reserve = reserve};
    fatal_errors_leave(connect_in_a_context, &beginning);
    if (beginning.error == EMFILE)
        close(ends[0]);
    close(ends[1]);
    return beginning.error;
}

int tokenkeep_worker_threads_start(descriptor_reserve *reserve) {
    pthread_mutex_lock(&starting);
    int error = is_broken ? ENOTRECOVERABLE : is_started ? 0 : start(reserve);
    is_started |= error == 0;
    is_broken |= error == ENOTRECOVERABLE;
    pthread_mutex_unlock(&starting);
    return error;
}
