#include "agent_object.h"

#include "lock_words.h"

#include <string.h>

#define OWN_NAME "org.tokenkeep.Agent1"
#define OWN_PATH "/org/tokenkeep/Agent1"

static int read_property(sd_bus *bus, const char *path, const char *interface, const char *property,
                         sd_bus_message *reply, void *data, sd_bus_error *error) {
    (void)bus, (void)path, (void)interface, (void)error;
    const struct facts *facts = data;
    if (strcmp(property, "Locked") == 0)
        return sd_bus_message_append(reply, "b", (int)facts->is_shown_locked);
    return sd_bus_message_append(reply, "s", lock_word_text(facts->shown_word));
}

/* Without values: who hears the signal asks, and is answered with the present state. */
static const sd_bus_vtable interface[] = {
    SD_BUS_VTABLE_START(0),
    SD_BUS_PROPERTY("Locked", "b", read_property, 0, 0),
    SD_BUS_PROPERTY("LockSource", "s", read_property, 0, 0),
    SD_BUS_SIGNAL("Changed", "", 0),
    SD_BUS_VTABLE_END,
};

int agent_object_add(sd_bus *bus, struct facts *facts) {
    int error = sd_bus_add_object_vtable(bus, NULL, OWN_PATH, OWN_NAME, interface, facts);
    return error < 0 ? error : sd_bus_request_name_async(bus, NULL, OWN_NAME, 0, NULL, NULL);
}

void agent_object_announce(sd_bus *bus) {
    (void)sd_bus_emit_signal(bus, OWN_PATH, OWN_NAME, "Changed", "");
}
