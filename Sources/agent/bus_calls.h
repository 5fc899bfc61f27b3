/* Calls and signals on a bus, as both buses need them. */
#ifndef TOKENKEEP_AGENT_BUS_CALLS_H
#define TOKENKEEP_AGENT_BUS_CALLS_H

#include <stdbool.h>
#include <systemd/sd-bus.h>

/* A method of a service. */
struct bus_method {
    const char *service, *path, *interface, *name;
};

/* Calls a method without argument, or with one string. The reply, or the failure, comes to handler; slot is
 * the call. An earlier call of the same slot is forgotten. Negative if the call cannot be sent. */
int bus_call(sd_bus *bus, sd_bus_slot **slot, const struct bus_method *method, const char *argument,
             sd_bus_message_handler_t handler, void *data);

/* As bus_call, with a message, which is released. Takes the error of making the message, too. */
int bus_send_call(sd_bus *bus, sd_bus_slot **slot, sd_bus_message *message, int error,
                  sd_bus_message_handler_t handler, void *data);

/* Asks the bus who owns a name. The reply is a string. */
int bus_find_owner(sd_bus *bus, sd_bus_slot **slot, const char *name, sd_bus_message_handler_t handler,
                   void *data);

/* Hears of the owners of a name. Without the name in the rule, each program that joins the bus would wake the
 * agent. */
int bus_watch_owner(sd_bus *bus, const char *name, sd_bus_message_handler_t handler, void *data);

/* Reads the bus's own signal that a name has another owner, which is empty if it has none. */
bool bus_read_owner(sd_bus_message *message, const char **name, const char **owner);

/* Calls handler when the connection ends. */
int bus_watch_end(sd_bus *bus, sd_bus_message_handler_t handler, void *data);

#endif
