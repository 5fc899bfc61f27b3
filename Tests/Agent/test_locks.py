"""What locks the screen takes the keys away."""
import os

import dbus

from case import Case
from patience import wait_until
from world import REVOKE, Key, kernel_keys, keyctl, publish, search

GNOME = "org.gnome.ScreenSaver"
SAVERS = [GNOME, "org.freedesktop.ScreenSaver", "org.mate.ScreenSaver", "org.cinnamon.ScreenSaver", "org.xfce.ScreenSaver"]


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
        self.world.hold(key)
        self.world.clock.advance(29)
        self.assertTrue(self.world.status().holds)
        self.world.clock.advance(2.5)
        self.assertFalse(self.world.status().holds)
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

    def test_the_screen_ends_more_keys_than_one_sweep_reads(self):
        keys = [Key() for _ in range(100)]
        for key in keys:
            publish(key.description, key.bytes)
        self.world.set_hint(True)
        for key in keys:
            self.expect_gone(key)

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
    is_shared = False

    def setUp(self):
        super().setUp()
        self.world.start_saver(GNOME)

    def test_active_changed_locks_where_the_hint_was_never_set(self):
        for name in SAVERS:
            if name not in self.world.savers:
                self.world.start_saver(name)
            key = self.unlock()
            self.world.set_active(name, True)
            self.expect_gone(key)
            self.world.wait_for(word="active", locked=True, proved=True)
            self.world.set_active(name, False)
            self.world.wait_for(locked=False)

    def test_a_screensaver_that_dies_while_active_leaves_the_screen_locked(self):
        self.world.set_active(GNOME, True)
        self.world.wait_for(word="active")
        self.world.savers[GNOME][0].kill()
        wait_until(lambda: not self.world.session_connection.name_has_owner(GNOME), "its end")
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

    def test_nothing_is_made_in_the_home_of_another_user(self):
        path = f"/tmp/tokenkeep-agent-test-{os.getpid()}"
        self.world.stop_agent()
        self.addCleanup(self.world.environment.update, XDG_STATE_HOME=self.world.environment["XDG_STATE_HOME"])
        self.world.environment["XDG_STATE_HOME"] = path + "/state"
        self.world.start_agent()
        self.world.set_hint(True)
        self.world.wait_for(locked=True)
        self.world.set_hint(False)
        self.world.wait_for(proved=True)
        self.assertFalse(os.path.exists(path))

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
