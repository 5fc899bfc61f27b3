#include "login1_properties.h"

#include <stddef.h>
#include <string.h>

/* Reads one property of a known name; 1 if its type is right. */
static int read_property(sd_bus_message *message, const char *name, struct session_properties *properties) {
    static const struct {
        const char *name;
        size_t offset;
    } texts[] = {
        {"Class", offsetof(struct session_properties, class)},
        {"Type", offsetof(struct session_properties, type)},
        {"Desktop", offsetof(struct session_properties, desktop)},
        {"State", offsetof(struct session_properties, state)},
    };
    for (size_t index = 0; index < sizeof texts / sizeof texts[0]; index++) {
        if (strcmp(name, texts[index].name) == 0)
            return sd_bus_message_read(message, "v", "s", (char *)properties + texts[index].offset);
    }
    if (strcmp(name, "LockedHint") == 0) {
        properties->has_hint = 1;
        return sd_bus_message_read(message, "v", "b", &properties->is_locked);
    }
    if (strcmp(name, "User") == 0) {
        const char *path;
        return sd_bus_message_read(message, "v", "(uo)", &properties->uid, &path);
    }
    return sd_bus_message_skip(message, "v");
}

int session_properties_read(sd_bus_message *message, struct session_properties *properties) {
    int error = sd_bus_message_enter_container(message, 'a', "{sv}");
    if (error < 0)
        return error;
    while ((error = sd_bus_message_enter_container(message, 'e', "sv")) > 0) {
        const char *name;
        error = sd_bus_message_read(message, "s", &name);
        if (error >= 0)
            error = read_property(message, name, properties);
        if (error >= 0)
            error = sd_bus_message_exit_container(message);
        if (error < 0)
            return error;
    }
    return error;
}
