/* Timers on the boot clock, which goes on while the machine sleeps, and the order of the event loop. */
#ifndef TOKENKEEP_AGENT_TIMERS_H
#define TOKENKEEP_AGENT_TIMERS_H

#include "agent_limits.h"

#include <stdbool.h>
#include <stdint.h>
#include <systemd/sd-event.h>

/* The agent carries out its actions after each message, request or timer, before it handles the next.
 * Messages of the buses are handled before requests, and requests before timers, so that all received news of
 * the screen is considered before a key is published or renewed. */
enum { PRIORITY_STEP = -30, PRIORITY_BUS = -20, PRIORITY_REQUEST = -10, PRIORITY_TIMER = 10 };

/* The present time on the boot clock, in microseconds. */
uint64_t boot_now(void);

/* Makes a timer that is not armed. The kernel may let the timer fire up to `slack` microseconds late, to
 * combine wake-ups. */
int timer_add(sd_event *event, sd_event_source **timer, uint64_t slack, sd_event_time_handler_t handler,
              void *data);

/* Arms a timer to fire once, at the time `at`. */
int timer_arm(sd_event_source *timer, uint64_t at);

bool timer_is_armed(sd_event_source *timer);

#endif
