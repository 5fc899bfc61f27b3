/* Whether the screen is locked, as org.tokenkeep.Agent1 on the session bus says. */
#ifndef SCREEN_H
#define SCREEN_H

#include <systemd/sd-bus.h>
#include <systemd/sd-event.h>

/* Unknown: no agent answers. */
enum screen_state { SCREEN_UNKNOWN, SCREEN_OPEN, SCREEN_LOCKED };

struct screen {
    enum screen_state state;
    void (*changed)(void *data);
    void *data;
    sd_bus *bus;
    sd_bus_slot *asking;
};

/* Begins to watch. Without a session bus the state stays unknown. */
void screen_watch(struct screen *screen, sd_event *event);
void screen_end(struct screen *screen);

#endif
