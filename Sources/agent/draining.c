/* Has the pending writes drained when a Secret Service appears on the user's bus: by a unit that runs
 * `tokenkeep sync`, for the agent reads no vault. At an unlock tokenkeep-unlocked.target starts the same
 * unit. */
#define _GNU_SOURCE
#include "agent.h"

#define SERVICE "org.freedesktop.secrets"
#define UNIT    "tokenkeep-sync.service"

static void start_drain(struct agent *agent) {
    agent->drained_at = agent_now();
    service_manager_start_unit(agent, UNIT);
}

static int on_due(sd_event_source *source, uint64_t time, void *data) {
    (void)source, (void)time;
    start_drain(data);
    return 0;
}

/* A service that comes and goes is served once in AGENT_DRAIN_S: a later appearance waits, and is not lost.
 */
static int on_service(sd_bus_message *message, void *data, sd_bus_error *error) {
    (void)error;
    struct agent *agent = data;
    const char *name, *owner;
    if (!session_bus_owner_changed(message, &name, &owner) || owner[0] == '\0')
        return 0;
    uint64_t next = agent->drained_at + AGENT_DRAIN_S * SECOND_US;
    if (agent->drained_at == 0 || agent_now() >= next)
        start_drain(agent);
    else if (sd_event_source_set_time(agent->drain, next) >= 0)
        (void)sd_event_source_set_enabled(agent->drain, SD_EVENT_ONESHOT);
    return 0;
}

int draining_watch(struct agent *agent) {
    return sd_bus_add_match_async(agent->session_bus.bus, NULL, OWNER_RULE "'" SERVICE "'", on_service, NULL,
                                  agent);
}

int draining_start(struct agent *agent) {
    int error = sd_event_add_time(agent->event, &agent->drain, CLOCK_BOOTTIME, 0, SECOND_US, on_due, agent);
    if (error >= 0)
        error = sd_event_source_set_priority(agent->drain, PRIORITY_TIMER);
    return error < 0 ? error : sd_event_source_set_enabled(agent->drain, SD_EVENT_OFF);
}
