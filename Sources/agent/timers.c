#include "timers.h"

#include <time.h>

uint64_t boot_now(void) {
    struct timespec time;
    (void)clock_gettime(CLOCK_BOOTTIME, &time);
    return (uint64_t)time.tv_sec * SECOND_US + (uint64_t)time.tv_nsec / 1000;
}

int timer_add(sd_event *event, sd_event_source **timer, uint64_t slack, sd_event_time_handler_t handler,
              void *data) {
    int error = sd_event_add_time(event, timer, CLOCK_BOOTTIME, 0, slack, handler, data);
    if (error >= 0)
        error = sd_event_source_set_priority(*timer, PRIORITY_TIMER);
    return error < 0 ? error : sd_event_source_set_enabled(*timer, SD_EVENT_OFF);
}

int timer_arm(sd_event_source *timer, uint64_t at) {
    int error = sd_event_source_set_time(timer, at);
    return error < 0 ? error : sd_event_source_set_enabled(timer, SD_EVENT_ONESHOT);
}

bool timer_is_armed(sd_event_source *timer) {
    return sd_event_source_get_enabled(timer, NULL) > 0;
}
