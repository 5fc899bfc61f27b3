/*
 * A program with a main loop of GLib on its main thread and a connection of its own to the bus, as an
 * application with windows has. Uses the environment's bus and vault. The service has minutes: how fast it
 * is, is not checked.
 *
 *   host loop      calls on the main thread, from within the loop
 *   host threads   eight threads on one store while the loop turns
 *   host fork      children made by fork() before and after the service was used
 */
#include "../Support/check.h"

#include <gio/gio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <tokenkeep.h>
#include <unistd.h>

enum { thread_count = 8, rounds = 25, calls_in_loop = 20 };

static const char service[] = "fault.test";
static tokenkeep_store *store;
static GMainLoop *loop;
static GDBusConnection *bus;

/* The number of the first thread's call that is under way; even: none is. */
static int call_number;

/* What the loop did. */
static int ticks;
static int turns_within_a_call;
static int ticks_within_calls;
static int answers;
static int is_calling;

static gboolean tick(gpointer data) {
    static int last, streak;
    int number = g_atomic_int_get(&call_number);
    (void)data;
    ticks++;
    ticks_within_calls += is_calling;
    streak = number % 2 != 0 && number == last ? streak + 1 : 0;
    turns_within_a_call += streak > 1;
    last = number;
    return G_SOURCE_CONTINUE;
}

static void ask(void);

static void answered(GObject *source, GAsyncResult *result, gpointer data) {
    (void)data;
    GVariant *reply = g_dbus_connection_call_finish(G_DBUS_CONNECTION(source), result, NULL);
    if (reply != NULL) {
        answers++;
        ticks_within_calls += is_calling;
        g_variant_unref(reply);
        ask();
    }
}

/* One question after the other over the program's own connection. */
static void ask(void) {
    g_dbus_connection_call(bus, "org.freedesktop.DBus", "/", "org.freedesktop.DBus.Peer", "Ping", NULL, NULL,
                           G_DBUS_CALL_FLAGS_NONE, -1, NULL, answered, NULL);
}

static tokenkeep_store *open_store(void) {
    tokenkeep_open_options options = TOKENKEEP_OPEN_OPTIONS_INIT;
    tokenkeep_store *opened = NULL;
    tokenkeep_error *error = NULL;
    options.stack_text = "any sufficient secret-service timeout=300s\nany required vault";
    options.timeout_ms = CHECK_PATIENCE_MS;
    if (tokenkeep_open(&options, &opened, &error) != TOKENKEEP_OK) {
        printf("no store: %s\n", tokenkeep_error_message(error));
        exit(2);
    }
    return opened;
}

static tokenkeep_status save(tokenkeep_store *into, const char *account, const char *secret) {
    return tokenkeep_save(into, service, account, secret, strlen(secret), NULL, NULL);
}

/* Whether the item has this secret, and is in this module. */
static int has(tokenkeep_store *from, const char *account, const char *secret, const char *module) {
    tokenkeep_item *item = NULL;
    tokenkeep_status status = tokenkeep_load(from, service, account, &item, NULL);
    int result = status == TOKENKEEP_OK && strcmp(tokenkeep_item_secret(item, NULL), secret) == 0 &&
                 strcmp(tokenkeep_item_module(item), module) == 0;
    if (!result)
        printf("     %s, not %s in %s: %s in %s\n", tokenkeep_status_name(status), secret, module,
               item == NULL ? "nothing" : (const char *)tokenkeep_item_secret(item, NULL),
               item == NULL ? "nothing" : tokenkeep_item_module(item));
    tokenkeep_item_free(item);
    return result;
}

static void turn_begins(void) {
    ticks = ticks_within_calls = answers = 0;
    loop = g_main_loop_new(NULL, FALSE);
    bus = g_bus_get_sync(G_BUS_TYPE_SESSION, NULL, NULL);
    if (!CHECK(bus != NULL))
        exit(check_result());
    g_timeout_add(1, tick, NULL);
    ask();
}

static gboolean call_within_loop(gpointer data) {
    int *calls = data;
    char secret[16];
    snprintf(secret, sizeof secret, "token-%d", *calls);
    GMainContext *before = g_main_context_get_thread_default();
    is_calling = 1;
    CHECK_NUMBER(TOKENKEEP_OK, save(store, "main", secret));
    CHECK(has(store, "main", secret, "secret-service"));
    is_calling = 0;
    CHECK(g_main_context_get_thread_default() == before);
    if (++*calls < calls_in_loop)
        return G_SOURCE_CONTINUE;
    g_main_loop_quit(loop);
    return G_SOURCE_REMOVE;
}

static void a_call_on_the_main_thread_runs_nothing_of_the_host(void) {
    int calls = 0;
    turn_begins();
    g_timeout_add(2, call_within_loop, &calls);
    g_main_loop_run(loop);
    CHECK_NUMBER(calls_in_loop, calls);
    CHECK_NUMBER(0, ticks_within_calls);
    CHECK(ticks > calls_in_loop / 2);
    CHECK(answers > calls_in_loop / 2);
}

static void a_context_of_the_hosts_own_stays(void) {
    GMainContext *own = g_main_context_new();
    g_main_context_push_thread_default(own);
    CHECK_NUMBER(TOKENKEEP_OK, save(store, "main", "within a context"));
    CHECK(has(store, "main", "within a context", "secret-service"));
    CHECK(g_main_context_get_thread_default() == own);
    CHECK(!g_main_context_pending(own));
    g_main_context_pop_thread_default(own);
    g_main_context_unref(own);
}

static void the_hosts_connection_stays(void) {
    tokenkeep_close(store);
    CHECK(!g_dbus_connection_is_closed(bus));
    GVariant *reply =
        g_dbus_connection_call_sync(bus, "org.freedesktop.DBus", "/", "org.freedesktop.DBus.Peer", "Ping",
                                    NULL, NULL, G_DBUS_CALL_FLAGS_NONE, -1, NULL, NULL);
    CHECK(reply != NULL);
    g_clear_pointer(&reply, g_variant_unref);
    store = open_store();
}

static gboolean quit(gpointer data) {
    (void)data;
    g_main_loop_quit(loop);
    return G_SOURCE_REMOVE;
}

static int failures;
static int running;
static int loop_has_turned;

/* A loop whose timer fires three times within one call does not wait for the call. */
static gboolean look(gpointer data) {
    (void)data;
    g_atomic_int_set(&loop_has_turned, turns_within_a_call > 5 && answers > 10);
    return G_SOURCE_CONTINUE;
}

static gpointer use_from_thread(gpointer data) {
    char account[32], secret[32];
    int is_first = GPOINTER_TO_INT(data) == 0;
    snprintf(account, sizeof account, "thread-%d", GPOINTER_TO_INT(data));
    for (int round = 0; round < rounds || (is_first && !g_atomic_int_get(&loop_has_turned)); round++) {
        snprintf(secret, sizeof secret, "token-%d", round);
        if (is_first)
            g_atomic_int_inc(&call_number);
        tokenkeep_status status = save(store, account, secret);
        if (is_first)
            g_atomic_int_inc(&call_number);
        if (status != TOKENKEEP_OK || !has(store, account, secret, "secret-service") ||
            save(store, "shared", secret) != TOKENKEEP_OK)
            g_atomic_int_inc(&failures);
    }
    if (g_atomic_int_dec_and_test(&running))
        g_idle_add(quit, NULL);
    return NULL;
}

/* The first thread calls until the loop has turned often enough: a loop that waits for calls never has. */
static void the_loop_turns_while_threads_call(void) {
    GThread *threads[thread_count];
    turn_begins();
    turns_within_a_call = 0;
    g_timeout_add(1, look, NULL);
    g_atomic_int_set(&running, thread_count);
    alarm(CHECK_PATIENCE_S);
    for (int number = 0; number < thread_count; number++)
        threads[number] = g_thread_new("user", use_from_thread, GINT_TO_POINTER(number));
    g_main_loop_run(loop);
    for (int number = 0; number < thread_count; number++)
        g_thread_join(threads[number]);
    alarm(0);
    CHECK_NUMBER(0, failures);
    CHECK(turns_within_a_call > 5);
    CHECK(answers > 10);
    tokenkeep_items *items = NULL;
    CHECK_NUMBER(TOKENKEEP_OK, tokenkeep_list(store, service, &items, NULL));
    CHECK_NUMBER(thread_count + 1, (intmax_t)tokenkeep_items_count(items));
    tokenkeep_items_free(items);
}

/* A child's exit code: 0, or the number of the check that failed. */
static int in_child(int (*body)(void)) {
    int outcome = -1;
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        alarm(CHECK_PATIENCE_S);
        _exit(body());
    }
    waitpid(child, &outcome, 0);
    return WIFEXITED(outcome) ? WEXITSTATUS(outcome) : 100;
}

static int use_before(void) {
    tokenkeep_store *own = open_store();
    return save(own, "before", "of the child") != TOKENKEEP_OK
               ? 1
               : !has(own, "before", "of the child", "secret-service");
}

/* The service is out of reach in such a child, and what it saves is pending. */
static int use_after(void) {
    if (save(store, "after", "x") != TOKENKEEP_FORKED)
        return 1;
    gint64 start = g_get_monotonic_time();
    tokenkeep_store *own = open_store();
    tokenkeep_item *item = NULL;
    if (tokenkeep_load(own, service, "after", &item, NULL) != TOKENKEEP_UNAVAILABLE)
        return 2;
    if (save(own, "after", "of the child") != TOKENKEEP_OK)
        return 3;
    if (!has(own, "after", "of the child", "vault"))
        return 4;
    return g_get_monotonic_time() - start < CHECK_PATIENCE_S / 2 * G_USEC_PER_SEC ? 0 : 5;
}

static void children_made_before_first_use_use_the_service(void) {
    CHECK_NUMBER(0, in_child(use_before));
    CHECK(has(store, "before", "of the child", "secret-service"));
}

static void children_made_after_use_leave_a_debt(void) {
    CHECK_NUMBER(TOKENKEEP_OK, save(store, "after", "of the parent"));
    CHECK_NUMBER(0, in_child(use_after));
    size_t left = 7;
    CHECK_NUMBER(TOKENKEEP_OK, tokenkeep_sync(store, NULL, &left, NULL));
    CHECK_NUMBER(0, (intmax_t)left);
    CHECK(has(store, "after", "of the child", "secret-service"));
}

int main(int argc, char **argv) {
    if (argc != 2)
        return 2;
    store = open_store();
    if (strcmp(argv[1], "loop") == 0) {
        RUN(a_call_on_the_main_thread_runs_nothing_of_the_host);
        RUN(a_context_of_the_hosts_own_stays);
        RUN(the_hosts_connection_stays);
    } else if (strcmp(argv[1], "threads") == 0) {
        RUN(the_loop_turns_while_threads_call);
    } else if (strcmp(argv[1], "fork") == 0) {
        RUN(children_made_before_first_use_use_the_service);
        RUN(children_made_after_use_leave_a_debt);
    }
    tokenkeep_close(store);
    return check_result();
}
