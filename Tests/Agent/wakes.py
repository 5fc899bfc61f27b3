#!/usr/bin/python3
"""How often the agent wakes, by a boot clock 600 times as fast: an hour takes six seconds. Usage: wakes.py AGENT CLOCK"""
import sys
import time
import unittest

from jeepney import DBusAddress, HeaderFields, new_method_call
from jeepney.io.blocking import open_dbus_connection

from world import PATIENCE, Desktop, Key, wait_until

AGENT, CLOCK = sys.argv[1:3]
SPEED = 600
WAKES = 60


class Wakes(unittest.TestCase):
    def setUp(self):
        self.world = Desktop(AGENT)
        self.addCleanup(self.world.close)
        self.world.environment["LD_PRELOAD"] = CLOCK
        self.world.start_agent()
        self.world.wait_for(word="none")

    def minutes(self):
        """The agent's time."""
        return time.clock_gettime(time.CLOCK_BOOTTIME) * SPEED / 60

    def wakes(self):
        with open(f"/proc/{self.world.agent.pid}/status", encoding="utf-8") as status:
            return next(int(line.split()[1]) for line in status if line.startswith("voluntary_ctxt_switches"))

    def hold(self):
        key = Key()
        self.assertTrue(self.world.hold(key).published)
        return key

    def wait_for_wakes(self, count):
        end = self.wakes() + count
        wait_until(lambda: self.wakes() >= end, f"{count} wake-ups", patience=6 * PATIENCE)

    def test_an_agent_with_a_key_wakes_once_a_minute_on_average(self):
        key = self.hold()
        # Those of the request itself, and some of renewals.
        self.wait_for_wakes(10)
        start = self.minutes()
        self.wait_for_wakes(WAKES)
        # Two wake-ups, of which one may be the start, belong to one renewal.
        self.assertGreaterEqual(self.minutes() - start, WAKES - 2)
        self.assertTrue(key.is_readable())

    def test_each_graphical_session_is_asked_in_turn(self):
        for name in ("c2", "c3"):
            self.world.add_session(name)
        self.world.add_session("c4", kind="tty")
        self.world.wait_for(word="none")
        monitor = self.monitor("type='method_call',member='GetAll',path_namespace='/org/freedesktop/login1/session'")
        self.hold()
        # The changes of the sessions, too, made the agent ask: a few calls at the beginning.
        *_, asked = [self.next_sessions(monitor, 6) for _ in range(5)]
        self.assertEqual((sorted(asked[:3]), asked[3:]), (["c1", "c2", "c3"], asked[:3]))

    def monitor(self, rule):
        connection = open_dbus_connection(self.world.environment["DBUS_SYSTEM_BUS_ADDRESS"])
        self.addCleanup(connection.close)
        bus = DBusAddress("/org/freedesktop/DBus", "org.freedesktop.DBus", "org.freedesktop.DBus.Monitoring")
        connection.send_and_get_reply(new_method_call(bus, "BecomeMonitor", "asu", ([rule], 0)))
        return connection

    def next_sessions(self, monitor, count):
        messages = [monitor.receive(timeout=PATIENCE) for _ in range(count)]
        return [message.header.fields[HeaderFields.path].rsplit("/", 1)[1] for message in messages]


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0]] + sys.argv[3:])
