#include "screensavers.h"

#include <string.h>

/* The bus names and object paths of the desktops' screensavers. The interface has the same name as the bus
 * name. */
static const struct {
    const char *name, *path;
} known[AGENT_SAVERS] = {
    {"org.gnome.ScreenSaver", "/org/gnome/ScreenSaver"},
    {"org.freedesktop.ScreenSaver", "/org/freedesktop/ScreenSaver"},
    {"org.mate.ScreenSaver", "/org/mate/ScreenSaver"},
    {"org.cinnamon.ScreenSaver", "/org/cinnamon/ScreenSaver"},
    {"org.xfce.ScreenSaver", "/org/xfce/ScreenSaver"},
};

static void set_active(struct screensavers *savers, size_t index, bool is_active) {
    savers->facts->savers[index].is_active = is_active;
    if (is_active)
        facts_tell(savers->facts, EVENT_SAVER_ACTIVE, WORD_NO_LOCK);
}

static int on_active_changed(sd_bus_message *message, void *data, sd_bus_error *error) {
    (void)error;
    struct screensavers *savers = data;
    const char *sender = sd_bus_message_get_sender(message), *name = sd_bus_message_get_interface(message);
    int is_active;
    for (size_t index = 0; sender != NULL && name != NULL && index < AGENT_SAVERS; index++) {
        if (strcmp(known[index].name, name) == 0 && strcmp(savers->list[index].owner, sender) == 0 &&
            sd_bus_message_read(message, "b", &is_active) >= 0)
            set_active(savers, index, is_active != 0);
    }
    return 0;
}

/* Finds the place of the screensaver to whose call the present reply belongs, and releases the call.
 * AGENT_SAVERS if there is none. */
static size_t answered(struct screensavers *savers) {
    const sd_bus_slot *call = sd_bus_get_current_slot(savers->bus);
    size_t index = 0;
    while (index < AGENT_SAVERS && savers->list[index].asking != call)
        index++;
    if (index < AGENT_SAVERS)
        savers->list[index].asking = sd_bus_slot_unref(savers->list[index].asking);
    return index;
}

static int on_active(sd_bus_message *message, void *data, sd_bus_error *error) {
    (void)error;
    struct screensavers *savers = data;
    size_t index = answered(savers);
    int is_active;
    if (index < AGENT_SAVERS && sd_bus_message_is_method_error(message, NULL) <= 0 &&
        sd_bus_message_read(message, "b", &is_active) >= 0)
        set_active(savers, index, is_active != 0);
    return 0;
}

static void set_owner(struct screensavers *savers, size_t index, const char *owner) {
    struct screensaver *saver = &savers->list[index];
    struct saver_facts *facts = &savers->facts->savers[index];
    if (strlen(owner) >= sizeof saver->owner)
        owner = "";
    if (strcmp(saver->owner, owner) == 0)
        return;
    strcpy(saver->owner, owner);
    /* If the screensaver was active when it left the bus, the screen stays locked: a crash is no unlock. */
    if (facts->is_active)
        facts_tell(savers->facts, EVENT_LOCKED_ONCE, WORD_ACTIVE);
    *facts = (struct saver_facts){.is_present = owner[0] != '\0'};
    const struct bus_method get_active = {known[index].name, known[index].path, known[index].name,
                                          "GetActive"};
    if (facts->is_present)
        (void)bus_call(savers->bus, &saver->asking, &get_active, NULL, on_active, savers);
}

static int on_owner_changed(sd_bus_message *message, void *data, sd_bus_error *error) {
    (void)error;
    struct screensavers *savers = data;
    const char *name, *owner;
    if (!bus_read_owner(message, &name, &owner))
        return 0;
    for (size_t index = 0; index < AGENT_SAVERS; index++) {
        if (strcmp(known[index].name, name) == 0)
            set_owner(savers, index, owner);
    }
    return 0;
}

static int on_owner(sd_bus_message *message, void *data, sd_bus_error *error) {
    (void)error;
    struct screensavers *savers = data;
    size_t index = answered(savers);
    const char *owner;
    if (index < AGENT_SAVERS && sd_bus_message_is_method_error(message, NULL) <= 0 &&
        sd_bus_message_read(message, "s", &owner) >= 0)
        set_owner(savers, index, owner);
    return 0;
}

int screensavers_watch(struct screensavers *savers, sd_bus *bus, struct facts *facts) {
    int error = 0;
    savers->bus = bus;
    savers->facts = facts;
    for (size_t index = 0; error >= 0 && index < AGENT_SAVERS; index++) {
        const char *name = known[index].name;
        error = bus_watch_owner(bus, name, on_owner_changed, savers);
        if (error >= 0)
            error = sd_bus_match_signal_async(bus, NULL, NULL, NULL, name, "ActiveChanged", on_active_changed,
                                              NULL, savers);
        if (error >= 0)
            error = bus_find_owner(bus, &savers->list[index].asking, name, on_owner, savers);
    }
    return error;
}

void screensavers_end(struct screensavers *savers) {
    bool was_active = false;
    for (size_t index = 0; savers->facts != NULL && index < AGENT_SAVERS; index++) {
        struct screensaver *saver = &savers->list[index];
        was_active = was_active || savers->facts->savers[index].is_active;
        savers->facts->savers[index] = (struct saver_facts){.is_present = false};
        saver->asking = sd_bus_slot_unref(saver->asking);
        saver->owner[0] = '\0';
    }
    savers->bus = NULL;
    if (was_active)
        facts_tell(savers->facts, EVENT_LOCKED_ONCE, WORD_ACTIVE);
}
