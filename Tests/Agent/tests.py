#!/usr/bin/python3
"""The agent against false services: what locks the screen takes the keys away.

Usage: tests.py AGENT QUICK, the agent as installed and one with short times (run.sh); then names of tests."""
import os
import resource
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time
import unittest

import dbus
import dbusmock

from world import (
    HOLD, PUBLISHED, REVOKE, SETPERM, SET_TIMEOUT, STATUS, UNLINK, USER_KEYRING, Desktop, Key, World, kernel_keys,
    keyctl, publish, read_serial, search, wait_until,
)

AGENT, QUICK = sys.argv[1:3]
GNOME, FREEDESKTOP = "org.gnome.ScreenSaver", "org.freedesktop.ScreenSaver"
SAVERS = [GNOME, FREEDESKTOP, "org.mate.ScreenSaver", "org.cinnamon.ScreenSaver", "org.xfce.ScreenSaver"]


class Case(unittest.TestCase):
    program = QUICK

    def setUp(self):
        self.world = Desktop(self.program)
        self.addCleanup(self.world.close)
        self.world.start_agent()
        self.world.wait_for(word="none")

    def unlock(self, **given):
        key = Key(**given)
        reply = self.world.hold(key)
        self.assertEqual((reply.status, reply.published), (0, True))
        self.assertEqual(key.read(), key.bytes)
        return key

    def expect_gone(self, key):
        wait_until(lambda: not key.is_readable(), "the end of the key")
        self.assertIsNone(key.read())


class Keys(Case):
    program = AGENT

    def test_a_key_is_in_the_agents_keyring_and_its_number_in_the_users(self):
        key = self.unlock()
        pointer = search(key.description)
        number = read_serial(pointer)
        self.assertEqual(len(number), 4)
        rows = {row[0]: row for row in kernel_keys(key.description)}
        self.assertEqual(len(rows), 2)
        for serial in (pointer, struct.unpack(">I", number)[0]):
            self.assertIn(rows[serial][2], ("3m", "179s", "2m"))
        self.assertEqual(keyctl(6, pointer, 0, 0), len(f"user;{os.geteuid()};{os.getegid()};003b0000;") + len(key.description) + 1)

    def test_an_agent_that_may_not_lock_memory_goes_on_and_says_so(self):
        self.world.stop_agent()
        errors = self.enterContext(tempfile.TemporaryFile())
        self.world.start_agent(
            stderr=errors, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_MEMLOCK, (0, 0)))
        self.world.wait_for(word="none")
        self.unlock()
        errors.seek(0)
        self.assertEqual(
            errors.read().decode(),
            "tokenkeep-agent: warning: the limit of locked memory is too low: keys may be swapped\n"
            "hint: raise it (LimitMEMLOCK=, ulimit -l), or encrypt the swap space\n")

    def test_a_killed_agent_leaves_no_key(self):
        key = self.unlock()
        self.world.stop_agent(signal.SIGKILL)
        self.expect_gone(key)

    def test_a_stopped_agent_leaves_the_key_for_its_three_minutes_alone(self):
        key = self.unlock()
        self.world.agent.send_signal(signal.SIGSTOP)
        for _, _, left, _ in kernel_keys(key.description):
            self.assertIn(left, ("3m", "2m") + tuple(f"{second}s" for second in range(60, 181)))

    def test_an_agent_that_ends_takes_its_keys_along(self):
        key = self.unlock()
        self.world.stop_agent()
        self.assertFalse(key.is_readable())
        self.assertEqual([row for row in kernel_keys(key.description) if "R" not in row[1]], [])

    def test_sixteen_keys_are_held_and_the_oldest_gives_way(self):
        keys = [self.unlock() for _ in range(17)]
        self.assertFalse(keys[0].is_readable())
        self.assertTrue(all(key.is_readable() for key in keys[1:]))

    def test_a_key_given_again_is_replaced_without_a_gap(self):
        key = self.unlock()
        old = struct.unpack(">I", read_serial(search(key.description)))[0]
        self.assertTrue(self.world.hold(key).published)
        self.assertNotEqual(struct.unpack(">I", read_serial(search(key.description)))[0], old)
        self.assertEqual(key.read(), key.bytes)

    def test_only_a_second_agent_of_the_user_is_refused(self):
        second = subprocess.run([AGENT], env=self.world.environment, capture_output=True, timeout=10)
        self.assertEqual(second.returncode, 4)
        self.assertIn(b"another agent", second.stderr)
        self.assertEqual(self.world.status().status, 0)

    def test_it_links_no_library_of_ours(self):
        section = subprocess.run(["readelf", "-d", AGENT], capture_output=True, text=True, check=True).stdout
        needed = [line.split("[")[1].split(".so")[0] for line in section.splitlines() if "(NEEDED)" in line]
        self.assertEqual(sorted(needed), ["libc", "libsystemd"])

    def test_other_programs_see_no_memory_nor_swap_and_no_core_is_dumped(self):
        self.unlock()
        pid = self.world.agent.pid
        with open(f"/proc/{pid}/limits", encoding="utf-8") as limits:
            self.assertIn("Max core file size        0                    0", limits.read())
        with open(f"/proc/{pid}/status", encoding="utf-8") as status:
            locked = next(line.split()[1] for line in status if line.startswith("VmLck:"))
        self.assertGreater(int(locked), 0)
        with self.assertRaises(PermissionError):
            open(f"/proc/{pid}/mem", "rb").close()
        with self.assertRaises(PermissionError):
            open(f"/proc/{pid}/environ", "rb").close()


class Locks(Case):
    def test_the_hint_ends_the_key_and_an_unlock_gives_it_back_by_password_alone(self):
        key = self.unlock()
        self.world.set_hint(True)
        self.expect_gone(key)
        self.world.wait_for(word="hint", locked=True, holds=False)
        self.world.set_hint(False)
        self.world.wait_for(locked=False)
        self.assertFalse(key.is_readable())
        self.assertTrue(self.world.status().proved)
        self.unlock()

    def test_a_key_given_while_the_screen_is_locked_waits_for_it(self):
        self.world.set_hint(True)
        self.world.wait_for(locked=True)
        key = Key()
        reply = self.world.hold(key)
        self.assertEqual((reply.status, reply.holds, reply.published, reply.locked), (0, True, False, True))
        self.assertFalse(key.is_readable())
        self.world.set_hint(False)
        wait_until(key.is_readable, "the key after the hint")

    def test_a_key_that_waits_too_long_is_wiped(self):
        self.world.set_hint(True)
        self.world.wait_for(locked=True)
        key = Key()
        self.assertTrue(self.world.hold(key).holds)
        self.world.wait_for(holds=False)
        self.world.set_hint(False)
        self.world.wait_for(locked=False)
        self.assertFalse(key.is_readable())

    def test_a_second_lock_wipes_what_waits(self):
        self.world.set_hint(True)
        self.world.wait_for(locked=True)
        key = Key()
        self.world.hold(key)
        self.world.lock()
        self.world.set_hint(False)
        self.world.wait_for(locked=False)
        self.assertFalse(key.is_readable())

    def test_the_lock_signal_ends_the_key_and_unlock_is_ignored(self):
        key = self.unlock()
        self.world.lock_signal()
        self.expect_gone(key)
        self.world.session().Unlock(dbus_interface="org.freedesktop.login1.Session")
        self.assertTrue(self.world.status().locked)
        self.assertFalse(self.world.status().proved)
        self.unlock()
        self.assertFalse(self.world.status().locked)

    def test_a_hint_after_the_lock_signal_governs_its_end(self):
        self.unlock()
        self.world.lock_signal()
        self.world.set_hint(True)
        self.world.wait_for(word="hint")
        key = Key()
        self.world.hold(key)
        self.world.set_hint(False)
        wait_until(key.is_readable, "the key after the hint")

    def test_sleep_ends_the_key_before_the_machine_sleeps(self):
        wait_until(lambda: len(self.world.inhibitors()) == 1, "the inhibitor")
        key = self.unlock()
        self.world.sleep_signal(True)
        wait_until(lambda: not self.world.inhibitors(), "the inhibitor's end")
        self.assertFalse(key.is_readable())
        self.world.sleep_signal(False)
        wait_until(lambda: len(self.world.inhibitors()) == 1, "the inhibitor")
        self.world.wait_for(word="sleep")
        self.unlock()

    def test_a_request_ends_the_key_until_the_next_unlock(self):
        key = self.unlock()
        reply = self.world.lock()
        self.assertEqual((reply.locked, reply.holds, reply.word), (True, False, "request"))
        self.assertFalse(key.is_readable())
        self.unlock()

    def test_dropping_a_vault_leaves_the_others(self):
        first, second = self.unlock(), self.unlock()
        self.world.drop(first)
        self.assertFalse(first.is_readable())
        self.assertTrue(second.is_readable())

    def test_keys_that_other_programs_published_end_with_the_screen(self):
        key = Key()
        serial = publish(key.description, key.bytes)
        self.assertEqual(key.read(), key.bytes)
        self.world.set_hint(True)
        self.expect_gone(key)
        self.assertNotIn(serial, [row[0] for row in kernel_keys(key.description) if "R" not in row[1]])

    def test_keys_from_before_the_agent_end_with_its_start_but_for_those_of_a_login_that_goes_on(self):
        self.world.stop_agent()
        left, others, unconfirmed = Key(), Key(purpose=2), Key()
        for key in (left, others, unconfirmed):
            publish(key.description, key.bytes)
        mark = f"tokenkeep:{unconfirmed.vault.hex()}:login"
        publish(mark, unconfirmed.bytes)
        self.world.start_agent()
        self.world.wait_for(word="none")
        self.assertFalse(left.is_readable())
        self.assertTrue(others.is_readable() and unconfirmed.is_readable())
        for description in (others.description, unconfirmed.description, mark):
            keyctl(REVOKE, search(description))

    def test_either_of_two_sessions_locks(self):
        self.world.add_session("c2")
        key = self.unlock()
        self.world.set_hint(True, "c2")
        self.expect_gone(key)
        self.world.set_hint(False, "c2")
        self.world.wait_for(locked=False)
        self.world.set_hint(True, "c1")
        self.world.wait_for(locked=True)
        self.world.remove_session("c1")
        self.world.wait_for(locked=False)

    def test_sessions_of_others_and_text_consoles_do_not_lock(self):
        self.world.add_session("x1", uid=os.geteuid() + 1)
        self.world.add_session("t1", kind="tty")
        key = self.unlock()
        self.world.set_hint(True, "x1")
        self.world.set_hint(True, "t1")
        self.world.lock_signal("x1")
        self.world.set_property("Type", "wayland", "x1")
        # A change of ours after theirs: what theirs did is done by then.
        self.world.set_property("IdleHint", True)
        self.world.wait_for(locked=False)
        self.assertTrue(key.is_readable())


class ScreenSavers(Case):
    def setUp(self):
        super().setUp()
        for name in SAVERS:
            self.world.start_saver(name)

    def test_active_changed_locks_where_the_hint_was_never_set(self):
        for name in SAVERS:
            key = self.unlock()
            self.world.set_active(name, True)
            self.expect_gone(key)
            self.world.wait_for(word="active", locked=True, proved=True)
            self.world.set_active(name, False)
            self.world.wait_for(locked=False)

    def test_a_screensaver_that_blanks_does_not_lock_where_the_hint_is_set(self):
        self.world.set_hint(True)
        self.world.wait_for(locked=True)
        self.world.set_hint(False)
        self.world.wait_for(locked=False)
        key = self.unlock()
        self.world.set_active(GNOME, True)
        self.world.wait_for(locked=False, word="hint")
        self.assertTrue(key.is_readable())

    def test_a_screensaver_that_dies_while_active_leaves_the_screen_locked(self):
        self.world.set_active(GNOME, True)
        self.world.wait_for(word="active")
        self.world.savers[GNOME][0].kill()
        wait_until(lambda: not self.world.session_connection.name_has_owner(GNOME))
        self.assertTrue(self.world.status().locked)
        self.unlock()

    def test_an_active_screensaver_is_asked_when_the_agent_starts(self):
        self.world.savers[GNOME][1].AddMethod("", "GetActive", "", "b", "ret = True")
        self.world.stop_agent()
        self.world.start_agent()
        self.world.wait_for(word="active", locked=True)

    def test_a_screensaver_that_answers_garbage_is_passed_over(self):
        self.world.savers[GNOME][1].AddMethod("", "GetActive", "", "s", "ret = 'yes'")
        self.world.stop_agent()
        self.world.start_agent()
        self.world.savers[GNOME][1].EmitSignal("", "ActiveChanged", "s", ["yes"])
        self.world.wait_for(locked=False)
        self.unlock()

    def test_the_users_bus_may_end(self):
        key = self.unlock()
        self.world.session_daemon.kill()
        self.world.session_daemon.wait()
        self.assertTrue(key.is_readable())
        self.world.set_hint(True)
        self.expect_gone(key)

    def test_agent1_tells_of_changes_without_values(self):
        from dbus.mainloop.glib import DBusGMainLoop
        from gi.repository import GLib

        bus = dbus.bus.BusConnection(self.world.environment["DBUS_SESSION_BUS_ADDRESS"], mainloop=DBusGMainLoop())
        bus.set_exit_on_disconnect(False)
        heard = []
        bus.add_signal_receiver(lambda *values: heard.append(values), "Changed", "org.tokenkeep.Agent1")
        properties = dbus.Interface(
            bus.get_object("org.tokenkeep.Agent1", "/org/tokenkeep/Agent1"), dbus.PROPERTIES_IFACE)
        self.assertEqual(properties.Get("org.tokenkeep.Agent1", "Locked"), False)
        self.world.set_hint(True)

        def has_heard():
            GLib.MainContext.default().iteration(False)
            return heard

        wait_until(has_heard, "the signal")
        self.assertEqual(heard[0], ())
        self.assertEqual(
            properties.GetAll("org.tokenkeep.Agent1"), {"Locked": True, "LockSource": "hint"})


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
        started = time.monotonic()
        for _ in range(3):
            self.appear()
        wait_until(self.world.started_units, "the first sync")
        self.assertTrue(len(self.world.started_units()) == 1 or time.monotonic() - started >= 1)
        wait_until(lambda: len(self.world.started_units()) == 2, "the second sync")
        self.assertGreaterEqual(time.monotonic() - started, 1)
        self.assertEqual(set(self.world.started_units()), {"tokenkeep-sync.service"})


class Proof(Case):
    def test_what_locked_once_is_proved_for_the_next_agent_and_this_desktop_alone(self):
        self.assertFalse(self.world.status().proved)
        self.world.set_hint(True)
        self.world.wait_for(locked=True)
        self.world.set_hint(False)
        self.world.wait_for(proved=True)
        self.world.stop_agent()
        self.world.start_agent()
        self.world.wait_for(proved=True, word="hint")
        self.world.set_property("Type", "x11")
        self.world.wait_for(proved=False, word="none")
        with open(os.path.join(self.world.directory, "state/tokenkeep/lock-source"), encoding="utf-8") as file:
            self.assertEqual(file.read(), "test wayland hint\n")

    def test_a_desktop_without_a_name_is_never_proved(self):
        self.world.set_property("Desktop", "")
        self.world.set_hint(True)
        self.world.wait_for(locked=True)
        self.world.set_hint(False)
        self.world.wait_for(locked=False, word="nameless")
        self.assertFalse(self.world.status().proved)
        path = os.path.join(self.world.directory, "state/tokenkeep")
        self.assertFalse(os.path.exists(path))
        os.makedirs(path, 0o700)
        with open(os.path.join(path, "lock-source"), "wb") as file:
            file.write(b"- wayland hint\n")
        self.world.stop_agent()
        self.world.start_agent()
        self.world.wait_for(word="nameless", proved=False)

    def test_a_screensaver_proves_nothing_of_two_desktops(self):
        self.world.add_session("c2", desktop="other")
        self.world.start_saver(GNOME)
        self.world.set_active(GNOME, True)
        self.world.wait_for(word="active", locked=True)
        self.world.set_active(GNOME, False)
        self.world.wait_for(locked=False, proved=False)
        self.assertFalse(os.path.exists(os.path.join(self.world.directory, "state/tokenkeep/lock-source")))

    def test_a_request_and_a_signal_prove_nothing(self):
        self.world.lock()
        self.world.lock_signal()
        self.assertFalse(self.world.status().proved)
        self.assertFalse(os.path.exists(os.path.join(self.world.directory, "state/tokenkeep/lock-source")))

    def test_a_malformed_file_proves_nothing(self):
        os.makedirs(os.path.join(self.world.directory, "state/tokenkeep"), 0o700)
        path = os.path.join(self.world.directory, "state/tokenkeep/lock-source")
        for content in (b"test wayland", b"test wayland hint more", b"\0\xff" * 4000, b"test wayland Hint\n", b"-" * 70 + b" wayland hint"):
            with open(path, "wb") as file:
                file.write(content)
            self.world.stop_agent()
            self.world.start_agent()
            self.world.wait_for(word="none", proved=False)
        os.remove(path)
        os.mkfifo(path)
        self.world.stop_agent()
        self.world.start_agent()
        self.world.wait_for(word="none", proved=False)


class Faults(Case):
    def test_a_hint_of_a_wrong_type_counts_as_locked(self):
        key = self.unlock()
        self.world.set_property("LockedHint", "no")
        self.expect_gone(key)
        self.world.wait_for(locked=True, word="login1", proved=False)
        self.world.set_property("LockedHint", False)
        self.world.wait_for(locked=False)

    def test_a_login1_that_hangs_ends_the_keys(self):
        key = self.unlock()
        self.world.login1.send_signal(signal.SIGSTOP)
        self.expect_gone(key)
        self.world.wait_for(locked=True, word="login1")
        self.world.login1.send_signal(signal.SIGCONT)
        self.world.wait_for(locked=False)
        self.unlock()

    def test_a_login1_that_vanishes_ends_the_keys_and_no_key_is_published_meanwhile(self):
        key = self.unlock()
        self.world.login1.kill()
        self.world.login1.wait()
        self.expect_gone(key)
        self.world.wait_for(locked=True, word="login1")
        self.assertFalse(self.world.hold(Key()).published)
        self.world.start_login1()
        self.world.add_session()
        self.world.wait_for(locked=False)
        self.unlock()

    def test_a_lock_without_an_end_outlasts_an_absence_of_login1(self):
        self.world.lock()
        self.world.login1.kill()
        self.world.login1.wait()
        self.world.wait_for(word="login1")
        self.world.start_login1()
        self.world.add_session()
        self.world.wait_for(word="request", locked=True)
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
        self.expect_gone(key)

    def test_the_system_bus_may_end(self):
        key = self.unlock()
        self.world.processes[0].kill()
        self.world.processes[0].wait()
        self.expect_gone(key)
        self.world.wait_for(locked=True, word="login1")
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

    def expect_renewal(self, key):
        """A renewal gives a key three seconds, of which the kernel shows whole ones."""
        pointer = search(key.description)
        keyctl(SET_TIMEOUT, pointer, 50)
        wait_until(
            lambda: any(row[2] in ("3s", "2s", "1s") for row in kernel_keys(key.description) if row[0] == pointer),
            "a renewal")

    def test_without_a_graphical_session_a_key_is_not_renewed(self):
        self.world.remove_session()
        self.world.wait_for(word="no-session")
        key = self.unlock()
        self.assertFalse(self.world.status().proved)
        self.expect_gone(key)  # after the quick agent's three seconds

    def test_with_a_graphical_session_a_key_is_renewed(self):
        key = self.unlock()
        self.expect_renewal(key)
        self.assertTrue(key.is_readable())

    def test_a_key_that_waited_for_the_screen_is_renewed(self):
        self.world.set_hint(True)
        self.world.wait_for(locked=True)
        key = Key()
        self.assertFalse(self.world.hold(key).published)
        self.world.set_hint(False)
        wait_until(key.is_readable, "the key after the hint")
        self.expect_renewal(key)


class Revocation(Case):
    def expect_never_again(self, key):
        wait_until(lambda: not self.world.status().holds, "the end of the agent's copy")
        self.assertFalse(key.is_readable())

    def test_a_revoked_key_is_never_published_again(self):
        key = self.unlock()
        keyctl(REVOKE, struct.unpack(">I", read_serial(search(key.description)))[0])
        self.expect_never_again(key)

    def test_nor_is_one_whose_number_was_revoked_or_unlinked(self):
        for operation in (REVOKE, UNLINK):
            key = self.unlock()
            pointer = search(key.description)
            keyctl(operation, pointer, *([USER_KEYRING] if operation == UNLINK else []))
            self.expect_never_again(key)

    def test_a_step_of_the_clock_that_ends_the_key_publishes_it_anew(self):
        key = self.unlock()
        old = struct.unpack(">I", read_serial(search(key.description)))[0]
        for serial, *_ in kernel_keys(key.description):
            keyctl(SET_TIMEOUT, serial, 1)
        self.world.agent.send_signal(signal.SIGSTOP)
        wait_until(lambda: not key.is_readable(), "the end of the key")
        self.world.agent.send_signal(signal.SIGUSR1)
        self.world.agent.send_signal(signal.SIGCONT)
        wait_until(key.is_readable, "the new key")
        self.assertNotEqual(struct.unpack(">I", read_serial(search(key.description)))[0], old)

    def test_a_clock_set_back_does_not_lengthen_a_key(self):
        key = self.unlock()
        for serial, *_ in kernel_keys(key.description):
            keyctl(SET_TIMEOUT, serial, 86400)
        self.world.agent.send_signal(signal.SIGUSR1)
        wait_until(lambda: all(row[2] in ("2s", "3s") for row in kernel_keys(key.description)), "the right time")

    def test_a_step_of_the_clock_brings_no_revoked_key_back(self):
        key = self.unlock()
        keyctl(REVOKE, struct.unpack(">I", read_serial(search(key.description)))[0])
        self.world.agent.send_signal(signal.SIGUSR1)
        self.expect_never_again(key)

    def test_an_agent_that_was_stopped_too_long_drops_its_keys(self):
        key = self.unlock()
        self.world.agent.send_signal(signal.SIGSTOP)
        wait_until(lambda: not key.is_readable(), "the end of the key")
        time.sleep(1.1)  # the agent's own time, by the boot clock, ends within the second
        self.world.agent.send_signal(signal.SIGCONT)
        self.expect_never_again(key)

    def test_a_key_whose_client_gave_up_is_not_published(self):
        self.world.agent.send_signal(signal.SIGSTOP)
        key = Key()
        client = self.world.connect()
        client.send(key.request())
        client.close()
        self.world.agent.send_signal(signal.SIGCONT)
        self.assertFalse(self.world.status().holds)
        self.assertFalse(key.is_readable())

    def test_a_lock_whose_client_gave_up_is_obeyed(self):
        key = self.unlock()
        self.world.agent.send_signal(signal.SIGSTOP)
        client = self.world.connect()
        client.send(b"TKA1\x03")
        client.close()
        self.world.agent.send_signal(signal.SIGCONT)
        self.assertEqual(self.world.status().word, "request")
        self.assertFalse(key.is_readable())


class Socket(Case):
    def test_what_is_no_request_gets_no_reply(self):
        hold = Key().request()
        for message in (b"T", b"TKA1", b"TKA2\x01", b"TKA1\x00", b"TKA1\x05", b"TKA1\x01x", b"TKA1\x03x", hold[:-1],
                        hold + b"x", b"TKA1\x04" + b"v" * 15, b"TKA1\x04" + b"v" * 17, b"x" * 60000,
                        Key(purpose=2).request(), Key(purpose=0).request(), Key(purpose=255).request()):
            self.assertIsNone(self.world.send(message), message[:80])
        self.assertFalse(self.world.status().holds)

    def test_a_thousand_open_connections_do_not_keep_others_out(self):
        held = []
        for _ in range(1000):
            held.append(socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET))
            held[-1].connect(self.world.socket)
        self.unlock()
        for client in held:
            client.close()

    def test_descriptors_that_come_along_are_closed(self):
        import array

        before = self.open_descriptors()
        for _ in range(100):
            with self.world.connect() as client:
                client.sendmsg([b"TKA1\x01"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [0, 1, 2]))])
                self.assertTrue(client.recv(64))
        wait_until(lambda: self.open_descriptors() <= before, "the descriptors' end")

    def open_descriptors(self):
        try:
            return len(os.listdir(f"/proc/{self.world.agent.pid}/fd"))
        except PermissionError:  # not dumpable: root alone counts
            return 0


class Absent(unittest.TestCase):
    def test_without_a_system_bus_no_key_is_published(self):
        world = World(QUICK)
        self.addCleanup(world.close)
        world.start_agent()
        key = Key()
        self.assertFalse(world.hold(key).published)
        self.assertFalse(key.is_readable())
        world.wait_for(locked=True, word="login1")

    def test_a_system_bus_that_never_answers_is_as_none(self):
        world = World(QUICK)
        self.addCleanup(world.close)
        deaf = socket.socket(socket.AF_UNIX)
        self.addCleanup(deaf.close)
        deaf.bind(os.path.join(world.directory, "system-bus"))
        deaf.listen()
        world.start_agent()
        self.assertFalse(world.hold(Key()).published)
        world.wait_for(locked=True, word="login1")


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0]] + sys.argv[3:])
