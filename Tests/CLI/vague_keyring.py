"""A keyring that answers what no real one can be brought to, until it is ended. Usage: vague_keyring.py failing|vague|silent

The silent keyring writes a line into the pipe "hung" for each program that asks it.
"""
import sys

import dbus
import dbus.lowlevel
from dbus.mainloop.glib import DBusGMainLoop
from gi.repository import GLib

DBusGMainLoop(set_as_default=True)
bus = dbus.SessionBus()
asked = set()


def answer(_connection, message):
    if not isinstance(message, dbus.lowlevel.MethodCallMessage):
        return dbus.lowlevel.HANDLER_RESULT_NOT_YET_HANDLED
    if sys.argv[1] == "silent":
        if message.get_sender() not in asked:
            asked.add(message.get_sender())
            with open("hung", "w", encoding="ascii") as hung:
                hung.write("yes\n")
        return dbus.lowlevel.HANDLER_RESULT_HANDLED
    if sys.argv[1] == "failing":
        reply = dbus.lowlevel.ErrorMessage(message, "org.freedesktop.DBus.Error.Failed", "the disk is gone")
    else:
        reply = dbus.lowlevel.MethodReturnMessage(message)
        if message.get_member() == "SearchItems":
            reply.append(dbus.Array([], signature="o"), dbus.Array([], signature="o"), signature="aoao")
        else:
            reply.append(7, signature="u")
    bus.send_message(reply)
    return dbus.lowlevel.HANDLER_RESULT_HANDLED


bus.add_message_filter(answer)
assert bus.request_name("org.freedesktop.secrets", 0) == 1
print("serves", flush=True)
GLib.MainLoop().run()
