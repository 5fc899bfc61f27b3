#define _GNU_SOURCE
#include "worker_threads.h"
#include "CLibsecret.h"

#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* GLib aborts the process if it cannot start its threads (g_thread_new). So they are started at a chosen
 * moment: right after a probe that the kernel grants two more threads. Another process may take their place
 * in between. Then GLib logs a fatal error, and a log handler leaves GLib before GLib aborts. */

enum { log_level_error = 4, log_flag_fatal = 2 };

static pthread_mutex_t starting = PTHREAD_MUTEX_INITIALIZER;
static int is_started;
static int is_broken;
static _Thread_local jmp_buf *way_out;

static void on_error(const gchar *domain, GLogLevelFlags level, const gchar *message, gpointer data) {
    if (way_out)
        longjmp(*way_out, 1);
    tokenkeep_libsecret_table()->g_log_default_handler(domain, level, message, data);
}

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

/* Makes a connection without a bus over one end of a socket pair, and drops it: the least that starts the
 * threads. */
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

/* 0 or an errno; ENOTRECOVERABLE if GLib had to be left. The caller pushes a context. */
static int start_or_leave(int end) {
    jmp_buf out;
    volatile int error = ENOTRECOVERABLE;
    guint handler = tokenkeep_libsecret_table()->g_log_set_handler("GLib", log_level_error | log_flag_fatal,
                                                                   on_error, NULL);
    way_out = &out;
    if (setjmp(out) == 0)
        error = connect_to_itself(end);
    way_out = NULL;
    tokenkeep_libsecret_table()->g_log_remove_handler("GLib", handler);
    return error;
}

static int start(void) {
    const tokenkeep_libsecret *glib = tokenkeep_libsecret_table();
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
        return errno;
    /* The connection belongs to a context of its own, never to the host's main loop. */
    GMainContext *context = glib->g_main_context_new();
    glib->g_main_context_push_thread_default(context);
    int error = probe_threads();
    if (error == 0)
        error = start_or_leave(ends[0]);
    else
        close(ends[0]);
    glib->g_main_context_pop_thread_default(context);
    glib->g_main_context_unref(context);
    close(ends[1]);
    return error;
}

int tokenkeep_worker_threads_start(void) {
    pthread_mutex_lock(&starting);
    int error = is_broken ? ENOTRECOVERABLE : is_started ? 0 : start();
    is_started |= error == 0;
    is_broken |= error == ENOTRECOVERABLE;
    pthread_mutex_unlock(&starting);
    return error;
}
