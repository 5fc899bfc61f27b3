/* Calls and signals on a bus, for both the system bus and the user's bus. */
#ifndef TOKENKEEP_AGENT_BUS_CALLS_H
#define TOKENKEEP_AGENT_BUS_CALLS_H

#include <stdbool.h>
#include <systemd/sd-bus.h>

/* A method of a service. */
struct bus_method {
    const char *service, *path, *interface, *name;
};

/* Calls a method without argument, or with one string. `handler` gets the reply or the failure, and `slot`
 * refers to the call. An earlier call in the same slot is cancelled. Negative if the call cannot be sent. */
int bus_call(sd_bus *bus, sd_bus_slot **slot, const struct bus_method *method, const char *argument,
             sd_bus_message_handler_t handler, void *data);

/* Like bus_call, but sends a message, which is then released. `error` is the result of making the message; if
 * it is negative, nothing is sent. */
int bus_send_call(sd_bus *bus, sd_bus_slot **slot, sd_bus_message *message, int error,
                  sd_bus_message_handler_t handler, void *data);

/* Queries the owner of a bus name. The reply is a string. */
int bus_find_owner(sd_bus *bus, sd_bus_slot **slot, const char *name, sd_bus_message_handler_t handler,
                   void *data);

/* Subscribes to changes of a bus name's owner. The match rule contains the name, because otherwise each
 * program that joins the bus would wake the agent. */
int bus_watch_owner(sd_bus *bus, const char *name, sd_bus_message_handler_t handler, void *data);

/* Reads the bus's signal that a name has a new owner. `owner` is empty if the name has no owner any more. */
bool bus_read_owner(sd_bus_message *message, const char **name, const char **owner);

/* Calls handler when the connection ends. */
int bus_watch_end(sd_bus *bus, sd_bus_message_handler_t handler, void *data);

#endif
