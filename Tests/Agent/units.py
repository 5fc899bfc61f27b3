#!/usr/bin/python3
"""The agent and the user's systemd. Usage: units.py AGENT"""
import os
import subprocess
import sys
import unittest

from jeepney import MessageType, new_method_return
from jeepney.bus_messages import message_bus
from jeepney.io.blocking import open_dbus_connection

from listening import listens
from world import PATIENCE, Desktop, Key, wait_until

AGENT = sys.argv[1]


class FalseSystemd:
    """org.freedesktop.systemd1 on the session bus, from its making on."""

    def __init__(self, world):
        self.connection = open_dbus_connection(world.environment["DBUS_SESSION_BUS_ADDRESS"])
        self.connection.send_and_get_reply(message_bus.RequestName("org.freedesktop.systemd1"))

    def next_call(self):
        """The member and the arguments of the next call, which is answered."""
        while True:
            message = self.connection.receive(timeout=PATIENCE)
            if message.header.message_type == MessageType.method_call:
                self.connection.send(new_method_return(message, "o", ("/job",)))
                return [*message.header.fields.values()], message.body


class ServiceManager(unittest.TestCase):
    def test_a_first_request_starts_the_agent_on_the_service_managers_socket(self):
        world = Desktop(AGENT)
        self.addCleanup(world.close)
        os.mkdir(os.path.dirname(world.socket), 0o700)
        world.agent = subprocess.Popen(
            ["/usr/bin/systemd-socket-activate", "--seqpacket", "-l", world.socket,
             *(f"--setenv={name}={value}" for name, value in world.environment.items()), AGENT],
            env=world.environment, stderr=subprocess.DEVNULL)
        wait_until(lambda: listens(world.socket), "the socket")
        key = Key()
        reply = world.hold(key)
        self.assertEqual((reply.published, reply.word), (True, "none"))
        self.assertEqual(key.read(), key.bytes)
        with open(f"/proc/{world.agent.pid}/comm", encoding="utf-8") as name:
            self.assertEqual(name.read().strip(), os.path.basename(AGENT))

    def test_the_target_is_reached_though_systemd_joins_the_bus_after_the_unlock(self):
        world = Desktop(AGENT)
        self.addCleanup(world.close)
        world.start_agent()
        world.wait_for(word="none")
        key = Key()
        world.hold(key)
        systemd = FalseSystemd(world)
        self.addCleanup(systemd.connection.close)
        self.assertIn("StartUnit", systemd.next_call()[0])
        world.drop(key)
        fields, body = systemd.next_call()
        self.assertIn("StopUnit", fields)
        self.assertEqual(body, ("tokenkeep-unlocked.target", "replace"))


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0]] + sys.argv[2:])
