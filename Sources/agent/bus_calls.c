#include "bus_calls.h"

#include "agent_limits.h"

#include <stdio.h>
#include <string.h>

#define BUS_NAME "org.freedesktop.DBus"
#define BUS_PATH "/org/freedesktop/DBus"

int bus_send_call(sd_bus *bus, sd_bus_slot **slot, sd_bus_message *message, int error,
                  sd_bus_message_handler_t handler, void *data) {
    if (error >= 0) {
        *slot = sd_bus_slot_unref(*slot);
        error = sd_bus_call_async(bus, slot, message, handler, data, AGENT_CALL_S * SECOND_US);
    }
    sd_bus_message_unref(message);
    return error;
}

int bus_call(sd_bus *bus, sd_bus_slot **slot, const struct bus_method *method, const char *argument,
             sd_bus_message_handler_t handler, void *data) {
    sd_bus_message *message = NULL;
    int error = sd_bus_message_new_method_call(bus, &message, method->service, method->path,
                                               method->interface, method->name);
    if (error >= 0 && argument != NULL)
        error = sd_bus_message_append(message, "s", argument);
    return bus_send_call(bus, slot, message, error, handler, data);
}

int bus_find_owner(sd_bus *bus, sd_bus_slot **slot, const char *name, sd_bus_message_handler_t handler,
                   void *data) {
    static const struct bus_method get_owner = {BUS_NAME, BUS_PATH, BUS_NAME, "GetNameOwner"};
    return bus_call(bus, slot, &get_owner, name, handler, data);
}

int bus_watch_owner(sd_bus *bus, const char *name, sd_bus_message_handler_t handler, void *data) {
    char rule[256];
    (void)snprintf(rule, sizeof rule,
                   "type='signal',sender='" BUS_NAME "',path='" BUS_PATH "',interface='" BUS_NAME
                   "',member='NameOwnerChanged',arg0='%s'",
                   name);
    return sd_bus_add_match_async(bus, NULL, rule, handler, NULL, data);
}

bool bus_read_owner(sd_bus_message *message, const char **name, const char **owner) {
    const char *sender = sd_bus_message_get_sender(message), *before;
    return sender != NULL && strcmp(sender, BUS_NAME) == 0 &&
           sd_bus_message_read(message, "sss", name, &before, owner) >= 0;
}

int bus_watch_end(sd_bus *bus, sd_bus_message_handler_t handler, void *data) {
    return sd_bus_match_signal_async(bus, NULL, NULL, BUS_PATH "/Local", BUS_NAME ".Local", "Disconnected",
                                     handler, NULL, data);
}
