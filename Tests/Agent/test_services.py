"""The agent's time, what it has systemd start, and services that fail."""
import os
import signal
import socket
import subprocess
import unittest

import dbus
import dbusmock
from jeepney import DBusAddress, HeaderFields, MessageType, new_method_call, new_method_return
from jeepney.bus_messages import message_bus
from jeepney.io.blocking import open_dbus_connection

from case import CHECKED, INSTALLED, Case
from listening import listens
from patience import PATIENCE, stop_process, wait_until
from world import Key, World


class Renewals(Case):
    program = INSTALLED

    def setUp(self):
        super().setUp()
        # The agent reads requests already, and needs no time for that any more.
        self.world.clock.advance(1)

    def test_a_key_is_renewed_before_the_kernel_ends_it_and_the_agent_wakes_once_a_minute(self):
        key = self.unlock()
        monitor = self.monitor()
        start, before = self.world.clock.now, self.world.clock.timeout_count
        for renewal in range(1, 31):
            moved = self.pass_renewal()
            self.assertTrue(119 < moved < 122, moved)
            # Two keys each time.
            self.assertEqual(self.world.clock.timeout_count - before, 2 * renewal)
            self.next_sessions(monitor, 1)
        self.assertGreaterEqual(self.world.clock.now - start, 3600)
        self.assertEqual(self.timeouts_of(key), [180, 180])
        self.assertTrue(key.is_readable())

    def test_without_a_graphical_session_a_key_keeps_its_end(self):
        self.world.remove_session()
        self.world.wait_for(word="no-session", proved=False)
        key = self.unlock()
        self.world.clock.advance(121)
        self.assertEqual(self.timeouts_of(key), [59, 59])
        self.world.clock.advance(122)
        self.assertFalse(self.world.status().holds or key.is_readable())

    def test_an_agent_without_a_key_waits_for_no_time(self):
        key = self.unlock()
        self.world.drop(key)
        self.pass_renewal()
        self.assertEqual(self.world.clock.timers(), [])

    def test_each_graphical_session_is_asked_in_turn(self):
        for name in ("c2", "c3"):
            self.world.add_session(name)
        self.world.add_session("c4", kind="tty")
        self.world.wait_for(word="none")
        # The changes of the sessions made the agent ask, too; it has done so before it answers the next signal.
        self.world.set_hint(True)
        self.world.wait_for(word="hint")
        self.world.set_hint(False)
        self.world.wait_for(word="hint", locked=False)
        self.unlock()
        monitor = self.monitor()
        for _ in range(6):
            self.pass_renewal()
        asked = self.next_sessions(monitor, 6)
        self.assertEqual((sorted(asked[:3]), asked[3:]), (["c1", "c2", "c3"], asked[:3]))

    def pass_renewal(self):
        """Moves the clock to the next renewal. Returns how far."""
        wait_until(lambda: len(self.world.clock.timers()) == 1, "an agent that waits for no reply")
        return self.world.clock.pass_timer()

    def monitor(self):
        connection = open_dbus_connection(self.world.environment["DBUS_SYSTEM_BUS_ADDRESS"])
        self.addCleanup(connection.close)
        bus = DBusAddress("/org/freedesktop/DBus", "org.freedesktop.DBus", "org.freedesktop.DBus.Monitoring")
        rule = "type='method_call',member='GetAll',path_namespace='/org/freedesktop/login1/session'"
        connection.send_and_get_reply(new_method_call(bus, "BecomeMonitor", "asu", ([rule], 0)))
        return connection

    def next_sessions(self, monitor, count):
        names = []
        while len(names) < count:
            header = monitor.receive(timeout=PATIENCE).header
            # The bus tells the monitor of its name, too.
            if header.message_type == MessageType.method_call:
                names.append(header.fields[HeaderFields.path].rsplit("/", 1)[1])
        return names


class SecretServices(Case):
    def appear(self):
        bus = self.world.session_connection
        bus.request_name("org.freedesktop.secrets")
        bus.release_name("org.freedesktop.secrets")
        # The bus tells the agent of its names before it passes this call on.
        agent = bus.get_object("org.tokenkeep.Agent1", "/org/tokenkeep/Agent1")
        dbus.Interface(agent, dbus.PROPERTIES_IFACE).Get("org.tokenkeep.Agent1", "Locked")

    def test_one_that_comes_and_goes_starts_one_sync_at_once_and_one_after_the_pause(self):
        self.world.start_manager()
        for _ in range(3):
            self.appear()
        wait_until(self.world.started_units, "the first sync")
        self.world.clock.advance(299)
        self.assertEqual(self.world.started_units(), ["tokenkeep-sync.service"])
        self.world.clock.advance(3)
        wait_until(lambda: self.world.started_units() == 2 * ["tokenkeep-sync.service"], "the second sync")


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


class ServiceManager(Case):
    is_shared = False

    def test_a_first_request_starts_the_agent_on_the_service_managers_socket(self):
        self.world.stop_agent()
        environment = {**self.world.environment, **self.world.clock_environment}
        self.world.run_agent(
            ["/usr/bin/systemd-socket-activate", "--seqpacket", "-l", self.world.socket,
             *(f"--setenv={name}={value}" for name, value in environment.items()), INSTALLED],
            stderr=subprocess.DEVNULL)
        wait_until(lambda: listens(self.world.socket), "the socket")
        key = Key()
        reply = self.world.hold(key)
        self.assertEqual((reply.published, reply.word), (True, "none"))
        self.assertEqual(key.read(), key.bytes)
        with open(f"/proc/{self.world.agent.pid}/comm", encoding="utf-8") as name:
            self.assertEqual(name.read().strip(), os.path.basename(INSTALLED))

    def test_the_target_is_reached_though_systemd_joins_the_bus_after_the_unlock(self):
        key = self.unlock()
        systemd = FalseSystemd(self.world)
        self.addCleanup(systemd.connection.close)
        self.assertIn("StartUnit", systemd.next_call()[0])
        self.world.drop(key)
        fields, body = systemd.next_call()
        self.assertIn("StopUnit", fields)
        self.assertEqual(body, ("tokenkeep-unlocked.target", "replace"))


class Faults(Case):
    is_shared = False

    def lose_login1(self, key):
        """The agent has heard of login1's failure, and login1 stays away for ten seconds."""
        self.world.wait_for(word="login1", locked=False)
        self.world.clock.advance(9)
        self.assertTrue(key.is_readable())
        self.world.clock.advance(1.2)
        self.expect_gone(key)
        self.assertEqual((self.world.status().locked, self.world.status().word), (True, "login1"))

    def test_a_hint_of_a_wrong_type_counts_as_locked(self):
        key = self.unlock()
        self.world.set_property("LockedHint", "no")
        self.expect_gone(key)
        self.world.wait_for(locked=True, word="login1", proved=False)
        self.world.set_property("LockedHint", False)
        self.world.wait_for(locked=False)

    def test_a_login1_that_hangs_ends_the_keys(self):
        key = self.unlock()
        stop_process(self.world.login1.pid)
        self.world.clock.advance(121)
        self.assertTrue(self.world.status().published)
        # The call's deadline.
        self.world.clock.advance(2.1)
        self.lose_login1(key)
        self.world.login1.send_signal(signal.SIGCONT)
        self.world.wait_for(locked=False)
        self.unlock()

    def test_a_login1_that_vanishes_ends_the_keys_and_no_key_is_published_meanwhile(self):
        key = self.unlock()
        self.world.login1.kill()
        self.world.login1.wait()
        self.lose_login1(key)
        self.assertFalse(self.world.hold(Key()).published)
        self.world.start_login1()
        self.world.add_session()
        self.world.wait_for(locked=False)
        self.unlock()

    def test_a_login1_that_is_started_anew_is_asked_anew(self):
        self.world.login1.kill()
        self.world.login1.wait()
        self.world.start_login1()
        self.world.add_session()
        self.world.set_hint(True)
        self.world.wait_for(locked=True, word="hint")

    def test_a_login1_that_answers_garbage_counts_as_absent(self):
        key = self.unlock()
        self.world.manager().AddMethod(
            "org.freedesktop.login1.Manager", "ListSessions", "", "s", "ret = 'none'", dbus_interface=dbusmock.MOCK_IFACE)
        self.world.tell_sessions("SessionNew", "c9")
        self.lose_login1(key)

    def test_the_system_bus_may_end(self):
        key = self.unlock()
        self.world.processes[0].kill()
        self.world.processes[0].wait()
        self.lose_login1(key)
        self.assertEqual(self.world.hold(Key()).published, False)

    def test_a_signal_of_another_program_of_the_bus_is_no_lock(self):
        key = self.unlock()
        path = "/org/freedesktop/login1/session/c1"
        liar = dbus.bus.BusConnection(self.world.environment["DBUS_SYSTEM_BUS_ADDRESS"])
        liar.set_exit_on_disconnect(False)
        owner = [name for name in liar.list_names() if name.startswith(":")]
        for name in owner:
            message = dbus.lowlevel.SignalMessage(path, "org.freedesktop.login1.Session", "Lock")
            message.set_destination(name)
            liar.send_message(message)
        liar.flush()
        self.world.set_property("IdleHint", True)
        self.world.wait_for(locked=False)
        self.assertTrue(key.is_readable())


class Absent(unittest.TestCase):
    def expect_lock(self, world):
        world.start_agent()
        # Requests are read though nothing is known of the screen.
        world.clock.advance(0.4)
        key = Key()
        self.assertFalse(world.hold(key).published)
        self.assertFalse(key.is_readable())
        self.assertEqual((world.status().locked, world.status().word), (False, "login1"))
        world.clock.advance(10)
        self.assertEqual((world.status().locked, world.status().word), (True, "login1"))

    def test_without_a_system_bus_no_key_is_published(self):
        world = World(CHECKED)
        self.addCleanup(world.close)
        self.expect_lock(world)

    def test_a_system_bus_that_never_answers_is_as_none(self):
        world = World(CHECKED)
        self.addCleanup(world.close)
        deaf = socket.socket(socket.AF_UNIX)
        self.addCleanup(deaf.close)
        deaf.bind(os.path.join(world.directory, "system-bus"))
        deaf.listen()
        self.expect_lock(world)
