#define _GNU_SOURCE
#include "login1_state.h"

#include <fcntl.h>
#include <unistd.h>

/* The longest pause between two attempts to reach login1, in seconds. */
#define LONGEST_RETRY_S 60

void login1_begin_anew(struct login1 *login1) {
    struct login1_facts *facts = &login1->facts->login1;
    facts->is_ready = false;
    for (size_t index = 0; index < AGENT_SESSIONS; index++)
        facts->sessions[index].is_known = false;
    if (!facts->is_gone && !timer_is_armed(login1->lost))
        (void)timer_arm(login1->lost, boot_now() + AGENT_LOGIN1_S * SECOND_US);
}

void login1_fail(struct login1 *login1) {
    login1_begin_anew(login1);
    if (timer_is_armed(login1->retry))
        return;
    uint64_t pause = SECOND_US / 4 << (login1->failures < 8 ? login1->failures : 8);
    uint64_t longest = LONGEST_RETRY_S * SECOND_US;
    login1->failures++;
    (void)timer_arm(login1->retry, boot_now() + (pause < longest ? pause : longest));
}

void login1_check_readiness(struct login1 *login1) {
    struct login1_facts *facts = &login1->facts->login1;
    if (login1->listing != NULL || login1->owner[0] == '\0' || facts->is_ready)
        return;
    for (size_t index = 0; index < AGENT_SESSIONS; index++) {
        if (facts->sessions[index].is_used && !facts->sessions[index].is_known)
            return;
    }
    facts->is_ready = true;
    facts->is_gone = false;
    login1->failures = 0;
    (void)sd_event_source_set_enabled(login1->lost, SD_EVENT_OFF);
}

static int on_inhibited(sd_bus_message *message, void *data, sd_bus_error *error) {
    (void)error;
    struct login1 *login1 = data;
    login1->inhibiting = sd_bus_slot_unref(login1->inhibiting);
    int descriptor = -1;
    if (sd_bus_message_is_method_error(message, NULL) > 0 ||
        sd_bus_message_read(message, "h", &descriptor) < 0)
        return 0;
    if (login1->inhibitor < 0 && !login1->facts->login1.is_sleeping)
        login1->inhibitor = fcntl(descriptor, F_DUPFD_CLOEXEC, 3);
    return 0;
}

void login1_inhibit_sleep(struct login1 *login1) {
    if (login1->inhibitor >= 0)
        return;
    sd_bus_message *message = NULL;
    int error = sd_bus_message_new_method_call(login1->bus, &message, SERVICE, MANAGER, SERVICE ".Manager",
                                               "Inhibit");
    if (error >= 0)
        error = sd_bus_message_append(message, "ssss", "sleep", "TokenKeep", "keys are removed from memory",
                                      "delay");
    (void)bus_send_call(login1->bus, &login1->inhibiting, message, error, on_inhibited, login1);
}

void login1_let_sleep(struct login1 *login1) {
    if (login1->inhibitor >= 0)
        (void)close(login1->inhibitor);
    login1->inhibitor = -1;
}
