/* The source of the desktops' screensavers, on the user's bus. */
#ifndef TOKENKEEP_AGENT_SCREENSAVERS_H
#define TOKENKEEP_AGENT_SCREENSAVERS_H

#include "bus_calls.h"
#include "facts.h"

/* The connection state of the screensaver at the same place of the facts. */
struct screensaver {
    /* The unique name of its program. */
    char owner[64];
    sd_bus_slot *asking;
};

struct screensavers {
    struct facts *facts;
    sd_bus *bus;
    struct screensaver list[AGENT_SAVERS];
};

/* Subscribes to the screensavers on a new connection. */
int screensavers_watch(struct screensavers *savers, sd_bus *bus, struct facts *facts);

/* Forgets the screensavers of a connection that ends. */
void screensavers_end(struct screensavers *savers);

#endif
