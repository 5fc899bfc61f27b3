#define _GNU_SOURCE
#include "login1_sleep.h"

#include <fcntl.h>
#include <unistd.h>

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
