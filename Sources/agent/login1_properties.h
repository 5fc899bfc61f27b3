/* Reads the properties of a session. */
#ifndef TOKENKEEP_AGENT_LOGIN1_PROPERTIES_H
#define TOKENKEEP_AGENT_LOGIN1_PROPERTIES_H

#include <stdint.h>
#include <systemd/sd-bus.h>

/* A session as GetAll describes it. The texts belong to the message; NULL if they are missing. */
struct session_properties {
    const char *class, *type, *desktop, *state;
    uint32_t uid;
    int is_locked, has_hint;
};

/* Negative if a property has a wrong type. */
int session_properties_read(sd_bus_message *message, struct session_properties *properties);

#endif
