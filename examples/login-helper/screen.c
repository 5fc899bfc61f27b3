#include "screen.h"

#define NAME    "org.tokenkeep.Agent1"
#define PATH    "/org/tokenkeep/Agent1"
#define CALL_US 2000000

static void set_state(struct screen *screen, enum screen_state state) {
    if (screen->state == state)
        return;
    screen->state = state;
    screen->changed(screen->data);
}

static int on_locked(sd_bus_message *reply, void *data, sd_bus_error *error) {
    (void)error;
    struct screen *screen = data;
    int is_locked;
    screen->asking = sd_bus_slot_unref(screen->asking);
    if (sd_bus_message_is_method_error(reply, NULL) || sd_bus_message_enter_container(reply, 'v', "b") < 0 ||
        sd_bus_message_read(reply, "b", &is_locked) < 0)
        set_state(screen, SCREEN_UNKNOWN);
    else
        set_state(screen, is_locked ? SCREEN_LOCKED : SCREEN_OPEN);
    return 0;
}

/* Asks anew: an answer that is on its way may be older than the signal. */
static void ask(struct screen *screen) {
    sd_bus_message *message = NULL;
    screen->asking = sd_bus_slot_unref(screen->asking);
    if (sd_bus_message_new_method_call(screen->bus, &message, NAME, PATH, "org.freedesktop.DBus.Properties",
                                       "Get") < 0 ||
        sd_bus_message_set_auto_start(message, 0) < 0 ||
        sd_bus_message_append(message, "ss", NAME, "Locked") < 0 ||
        sd_bus_call_async(screen->bus, &screen->asking, message, on_locked, screen, CALL_US) < 0)
        set_state(screen, SCREEN_UNKNOWN);
    sd_bus_message_unref(message);
}

static int on_changed(sd_bus_message *message, void *data, sd_bus_error *error) {
    (void)message, (void)error;
    ask(data);
    return 0;
}

static int on_disconnected(sd_bus_message *message, void *data, sd_bus_error *error) {
    (void)message, (void)error;
    set_state(data, SCREEN_UNKNOWN);
    return 0;
}

void screen_watch(struct screen *screen, sd_event *event) {
    static const char owner_rule[] =
        "type='signal',sender='org.freedesktop.DBus',path='/org/freedesktop/DBus',"
        "interface='org.freedesktop.DBus',member='NameOwnerChanged',arg0='" NAME "'";
    if (sd_bus_open_user(&screen->bus) < 0)
        return;
    if (sd_bus_attach_event(screen->bus, event, SD_EVENT_PRIORITY_IMPORTANT) < 0 ||
        sd_bus_match_signal_async(screen->bus, NULL, NULL, "/org/freedesktop/DBus/Local",
                                  "org.freedesktop.DBus.Local", "Disconnected", on_disconnected, NULL,
                                  screen) < 0 ||
        sd_bus_match_signal_async(screen->bus, NULL, NAME, PATH, NAME, "Changed", on_changed, NULL, screen) <
            0 ||
        sd_bus_add_match_async(screen->bus, NULL, owner_rule, on_changed, NULL, screen) < 0)
        screen_end(screen);
    else
        ask(screen);
}

void screen_end(struct screen *screen) {
    screen->asking = sd_bus_slot_unref(screen->asking);
    screen->bus = sd_bus_flush_close_unref(screen->bus);
}
