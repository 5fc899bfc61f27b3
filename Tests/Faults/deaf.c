/*
 * A Secret Service whose main loop hangs from the start: only GLib's own thread answers, and that a Ping.
 *
 * Prints "ready" once it owns the name.
 */
#include <gio/gio.h>
#include <stdio.h>
#include <unistd.h>

static const char interface[] = "<node><interface name='org.freedesktop.Secret.Service'>"
                                "<property name='Collections' type='ao' access='read'/>"
                                "<method name='OpenSession'><arg type='s' direction='in'/>"
                                "<arg type='v' direction='in'/><arg type='v' direction='out'/>"
                                "<arg type='o' direction='out'/></method></interface></node>";

/* Never called: nothing turns the main loop. */
static void answer(GDBusConnection *bus, const gchar *sender, const gchar *path, const gchar *interface_name,
                   const gchar *method, GVariant *arguments, GDBusMethodInvocation *call, gpointer data) {
    (void)bus, (void)sender, (void)path, (void)interface_name, (void)method, (void)arguments, (void)data;
    g_dbus_method_invocation_return_value(call, NULL);
}

int main(void) {
    const GDBusInterfaceVTable calls = {.method_call = answer};
    GDBusConnection *bus = g_bus_get_sync(G_BUS_TYPE_SESSION, NULL, NULL);
    GDBusNodeInfo *node = g_dbus_node_info_new_for_xml(interface, NULL);
    if (bus == NULL || g_dbus_connection_register_object(bus, "/org/freedesktop/secrets", node->interfaces[0],
                                                         &calls, NULL, NULL, NULL) == 0)
        return 1;
    for (guint32 outcome = 0; outcome != 1; g_usleep(1000)) { /* until the name's last owner is gone */
        GVariant *reply = g_dbus_connection_call_sync(bus, "org.freedesktop.DBus", "/org/freedesktop/DBus",
                                                      "org.freedesktop.DBus", "RequestName",
                                                      g_variant_new("(su)", "org.freedesktop.secrets", 4u),
                                                      NULL, G_DBUS_CALL_FLAGS_NONE, -1, NULL, NULL);
        if (reply == NULL)
            return 1;
        g_variant_get(reply, "(u)", &outcome);
        g_variant_unref(reply);
    }
    printf("ready\n");
    fflush(stdout);
    for (;;)
        pause();
}
