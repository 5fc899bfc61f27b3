/* SPDX-License-Identifier: Apache-2.0 */
/* A program that needs no Secret Service never has GLib in its memory: neither with the vault alone, nor with
 * a stack that names the service on a machine without a session bus. */
#define _GNU_SOURCE
#include "store_test.h"

static int is_mapped(const char *library) {
    char line[4096];
    int found = 0;
    FILE *maps = fopen("/proc/self/maps", "r");
    if (!CHECK(maps != NULL))
        return 0;
    while (fgets(line, sizeof line, maps) != NULL)
        found |= strstr(line, library) != NULL;
    fclose(maps);
    return found;
}

static void saves_and_loads(const char *stack) {
    tokenkeep_open_options options = TOKENKEEP_OPEN_OPTIONS_INIT;
    tokenkeep_store *store = NULL;
    options.stack_text = stack;
    CHECK_NUMBER(TOKENKEEP_OK, tokenkeep_open(&options, &store, NULL));
    /* Where nothing ever was, nothing is missing: nobody is asked, so that nobody can be waited for. */
    CHECK_NUMBER(TOKENKEEP_NOT_FOUND, load_status(store, "example.com", "nobody"));
    CHECK_NUMBER(TOKENKEEP_OK, save_text(store, "example.com", "ann", "token", NULL));
    CHECK_NUMBER(TOKENKEEP_NOT_FOUND, load_status(store, "example.com", "nobody"));
    CHECK_NUMBER(TOKENKEEP_OK, load_status(store, "example.com", "ann"));
    CHECK(is_mapped("libtokenkeep"));
    CHECK(!is_mapped("libglib") && !is_mapped("libgio") && !is_mapped("libsecret"));
    tokenkeep_close(store);
}

static void a_vault_alone_loads_no_glib(void) {
    saves_and_loads("any required vault");
}

static void a_service_without_a_bus_loads_no_glib(void) {
    unsetenv("DBUS_SESSION_BUS_ADDRESS");
    unsetenv("XDG_RUNTIME_DIR");
    saves_and_loads("any sufficient secret-service\nany required vault");
}

int main(void) {
    RUN(a_vault_alone_loads_no_glib);
    RUN(a_service_without_a_bus_loads_no_glib);
    return check_result();
}
