/* A token on the Secret Service by TokenKeep and by libsecret in turns, so that what the machine does
 * meanwhile hits both.
 *
 * service fill FROM TO           puts numbered items of libsecret's into the keyring
 * service measure ITEMS ROUNDS   prints medians; ITEMS is only printed
 * service count OURS THEIRS      does everything once between marks that a monitor of the bus sees; the
 * arguments are the programs for whole processes */
#include "service-ours.h"
#include "service-theirs.h"
#include "stopwatch.h"

static tokenkeep_store *store;

static int save(void) {
    return ours_save(store);
}

static int load(void) {
    return ours_load(store);
}

static int nothing(void) {
    return 0;
}

/* Opens another store, which knows no item's path, and lets it connect. */
static int forget_paths(void) {
    tokenkeep_item *item = NULL;
    tokenkeep_close(store);
    store = ours_open();
    return tokenkeep_load(store, "bench.example", "nobody", &item, NULL) != TOKENKEEP_NOT_FOUND;
}

static const struct operation {
    const char *name;
    int (*prepare)(void);
    int (*ours)(void);
    int (*theirs)(void);
} operations[] = {
    {"save", nothing, save, theirs_save},
    {"load_again", nothing, load, theirs_load},
    {"load_first", forget_paths, load, theirs_load},
};

static int fill(int from, int to) {
    char user[32];
    for (int number = from; number < to; number++) {
        snprintf(user, sizeof user, "filler-%d", number);
        if (theirs_save_as(user) != 0)
            return 1;
    }
    return 0;
}

static int timed(stopwatch *watch, int (*action)(void)) {
    double start = stopwatch_now();
    int result = action();
    stopwatch_add(watch, stopwatch_now() - start);
    return result;
}

static int measure(const struct operation *operation, int items, int rounds) {
    static stopwatch ours, theirs;
    char what[64];
    for (int round = 0; round < rounds; round++)
        if (operation->prepare() != 0 || timed(&ours, operation->ours) != 0 ||
            timed(&theirs, operation->theirs) != 0)
            return 1;
    snprintf(what, sizeof what, "ours:%s", operation->name);
    stopwatch_print(&ours, what, items);
    snprintf(what, sizeof what, "theirs:%s", operation->name);
    stopwatch_print(&theirs, what, items);
    return 0;
}

/* Sends the bus a message that means something to a monitor alone. */
static int mark(const char *whose, const char *operation) {
    char path[64];
    GDBusConnection *bus = g_bus_get_sync(G_BUS_TYPE_SESSION, NULL, NULL);
    snprintf(path, sizeof path, "/mark/%s/%s", whose, operation);
    GVariant *answer =
        bus == NULL
            ? NULL
            : g_dbus_connection_call_sync(bus, "org.freedesktop.DBus", path, "org.freedesktop.DBus.Peer",
                                          "Ping", NULL, NULL, G_DBUS_CALL_FLAGS_NONE, -1, NULL, NULL);
    g_clear_pointer(&answer, g_variant_unref);
    g_clear_object(&bus);
    return 0;
}

static int run(const char *program, const char *argument) {
    char command[4096];
    snprintf(command, sizeof command, "'%s' %s", program, argument);
    return system(command);
}

static int count(const char *ours, const char *theirs) {
    for (size_t index = 0; index < sizeof operations / sizeof operations[0]; index++) {
        const struct operation *operation = &operations[index];
        if (operation->prepare() != 0 || mark("ours", operation->name) != 0 || operation->ours() != 0 ||
            mark("theirs", operation->name) != 0 || operation->theirs() != 0 ||
            mark("nobody", "nothing") != 0)
            return 1;
    }
    return mark("ours", "process_save") || run(ours, "save") || mark("ours", "process_load") ||
           run(ours, "load") || mark("theirs", "process_save") || run(theirs, "save") ||
           mark("theirs", "process_load") || run(theirs, "load") || mark("nobody", "end");
}

int main(int argc, char **argv) {
    if (argc != 4)
        return 2;
    if (strcmp(argv[1], "fill") == 0)
        return fill(atoi(argv[2]), atoi(argv[3]));
    store = ours_open();
    if (store == NULL || save() != 0 || theirs_save() != 0)
        return 1;
    if (strcmp(argv[1], "count") == 0)
        return count(argv[2], argv[3]);
    for (size_t index = 0; index < sizeof operations / sizeof operations[0]; index++)
        if (measure(&operations[index], atoi(argv[2]), atoi(argv[3])) != 0)
            return 1;
    tokenkeep_close(store);
    return 0;
}
