/* A token on the Secret Service by TokenKeep and by libsecret in turns, so that what the machine does
 * meanwhile hits both.
 *
 * service fill FROM TO           puts numbered items of libsecret's into the keyring
 * service measure ITEMS ROUNDS   prints medians, also of the ratios of a round; ITEMS is only printed
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

/* Opens another store, which knows nothing of the item, and lets it connect and load another item. */
static int forget_paths(void) {
    tokenkeep_close(store);
    store = ours_open();
    return ours_load_of(store, "other");
}

static const struct operation {
    const char *name;
    int (*prepare)(void);
    int (*ours)(void);
    int (*theirs)(void);
} operations[] = {
    {"save", nothing, save, theirs_save},
    {"load_again", load, load, theirs_load},
    {"load_known", save, load, theirs_load},
    {"load_first", forget_paths, load, theirs_load},
    {"load_whole", forget_paths, load, theirs_load_whole},
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

/* How long an action takes, in microseconds; negative where it failed. */
static double timed(int (*action)(void)) {
    double start = stopwatch_now();
    return action() == 0 ? stopwatch_now() - start : -1;
}

/* A load of theirs that nobody times comes between: the service has then done all that the preparation left
 * to do. */
static int prepare(const struct operation *operation) {
    return operation->prepare() || theirs_load();
}

static void print(stopwatch *watch, const char *whose, const struct operation *operation, int items) {
    char what[64];
    snprintf(what, sizeof what, "%s:%s", whose, operation->name);
    stopwatch_print(watch, what, items);
}

/* Each round gives a ratio of its own: what the machine does meanwhile hits both sides of it. */
static int measure(const struct operation *operation, int items, int rounds) {
    static stopwatch ours, theirs, ratio;
    for (int round = 0; round < rounds; round++) {
        double our = 0, their = 0;
        int ours_first = round % 2;
        if (prepare(operation) != 0)
            return 1;
        if (ours_first)
            our = timed(operation->ours);
        their = timed(operation->theirs);
        if (!ours_first)
            our = timed(operation->ours);
        if (our < 0 || their < 0)
            return 1;
        stopwatch_add(&ours, our);
        stopwatch_add(&theirs, their);
        stopwatch_add(&ratio, our / their);
    }
    print(&ours, "ours", operation, items);
    print(&theirs, "theirs", operation, items);
    print(&ratio, "ratio", operation, items);
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
    int result = answer == NULL;
    g_clear_pointer(&answer, g_variant_unref);
    g_clear_object(&bus);
    return result;
}

static int run(const char *program, const char *argument) {
    char command[4096];
    snprintf(command, sizeof command, "'%s' %s", program, argument);
    return system(command);
}

static int count(const char *ours, const char *theirs) {
    for (size_t index = 0; index < sizeof operations / sizeof operations[0]; index++) {
        const struct operation *operation = &operations[index];
        if (prepare(operation) != 0 || mark("ours", operation->name) != 0 || operation->ours() != 0 ||
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
    if (store == NULL || ours_save_as(store, "other") != 0 || save() != 0 || theirs_save() != 0)
        return 1;
    if (strcmp(argv[1], "count") == 0)
        return count(argv[2], argv[3]);
    for (size_t index = 0; index < sizeof operations / sizeof operations[0]; index++)
        if (measure(&operations[index], atoi(argv[2]), atoi(argv[3])) != 0)
            return 1;
    tokenkeep_close(store);
    return 0;
}
