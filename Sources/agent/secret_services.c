#include "secret_services.h"

#include "bus_calls.h"

static int on_owner_changed(sd_bus_message *message, void *data, sd_bus_error *error) {
    (void)error;
    const char *name, *owner;
    if (bus_read_owner(message, &name, &owner) && owner[0] != '\0')
        facts_tell(data, EVENT_SECRET_SERVICE, WORD_NO_LOCK);
    return 0;
}

int secret_services_watch(sd_bus *bus, struct facts *facts) {
    return bus_watch_owner(bus, "org.freedesktop.secrets", on_owner_changed, facts);
}
