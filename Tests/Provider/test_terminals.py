"""Where a question to the user goes: which terminal is the caller's, when it is gone, and what the desktop shows instead."""
import os
import pty
import signal
import termios
import unittest
import unittest.mock

import test_locks
from client import DEFAULT
from jeepney import MessageType, message_bus
from patience import PATIENCE, wait_until

# The caller gets the pseudo-terminal of this number in its own devpts.
FOREIGN_TERMINAL = """
import fcntl, os, termios
guest = None
while guest is None or os.ttyname(guest) != {name!r}:
    _, guest = os.openpty()
os.setsid()
fcntl.ioctl(guest, termios.TIOCSCTTY, 0)
"""
HANGUP = """
import signal
signal.signal(signal.SIGHUP, signal.SIG_{})
"""
IGNORES_HANGUP = HANGUP.format("IGN")
# Whoever runs the tests may ignore it, as nohup does.
ENDS_BY_HANGUP = HANGUP.format("DFL")


def prefixed(text):
    """The programs that ask begin with this text."""
    return unittest.mock.patch.object(test_locks, "ASKING", text + test_locks.ASKING)


class Terminals(test_locks.Asking):
    def terminal(self):
        """A pseudo-terminal: (host, guest)."""
        host, guest = pty.openpty()
        self.addCleanup(self.closed, host)
        self.addCleanup(self.closed, guest)
        return host, guest

    @staticmethod
    def closed(descriptor):
        try:
            os.close(descriptor)
        except OSError:
            pass  # the test closed it

    @unittest.skipUnless(os.geteuid() == 0, "a devpts of its own needs root")
    def test_a_terminal_of_another_devpts_is_not_asked(self):
        """As in a container: the caller's /dev/pts/N is another device than ours."""
        self.begin_asking("pw")
        _, guest = self.terminal()
        own_devpts = ["unshare", "--mount", "sh", "-c",
                      'mount -t devpts -o newinstance,ptmxmode=666 devpts /dev/pts && exec "$@"', "sh"]
        if self.world.run(*own_devpts, "true", check=False).returncode != 0:
            self.skipTest("no mounts here")
        with prefixed(FOREIGN_TERMINAL.format(name=os.ttyname(guest))):
            process = self.ask(wrapper=own_devpts, TERM="xterm")
        self.assertEqual(process.stdout.readline(), "(True, ('ao', []))\n")
        self.assertEqual(self.asked(), [])
        self.assertIn("(pid %d) needs it: run tokenkeep unlock" % process.pid, self.world.logged())

    def test_a_terminal_that_is_closed_takes_its_question_away(self):
        self.begin_asking("wait", "wait")
        for text, shown in ((IGNORES_HANGUP, "(True, ('ao', []))\n"), (ENDS_BY_HANGUP, "")):
            host, guest = self.terminal()
            before = self.asked().count("GETPIN")
            with prefixed(text):
                process = self.ask(terminal=guest, TERM="xterm")
            wait_until(lambda before=before: self.asked().count("GETPIN") > before, "the question")
            self.assertEqual(len(self.children()), 1)
            os.close(guest)
            os.close(host)
            wait_until(lambda: not self.children(), "the end of pinentry")
            self.assertEqual(process.stdout.readline(), shown)
        self.assertEqual(process.wait(PATIENCE), -signal.SIGHUP)

    def shown(self, host, text):
        """Reads what a terminal shows until it has shown a text."""
        shown = b""
        while text not in shown:
            shown += os.read(host, 1024)

    def test_a_real_pinentry_leaves_the_terminal_as_it_was(self):
        """Else the shell reads on without an echo, or as pinentry read: the next password lands in its history."""
        for name in ("tty", "curses"):
            program = f"/usr/bin/pinentry-{name}"
            if not os.path.exists(program):
                continue
            with self.subTest(name):
                self.world.lock()
                self.provider = self.world.provider("--pinentry", program)
                host, guest = self.terminal()
                before = termios.tcgetattr(guest)
                process = self.ask(terminal=guest, TERM="xterm")
                self.shown(host, b"assword")
                wait_until(lambda guest=guest: not termios.tcgetattr(guest)[3] & termios.ECHO, "a terminal without echo")
                process.kill()
                wait_until(lambda: not self.children(), "the end of pinentry")
                self.assertEqual(termios.tcgetattr(guest), before)
                self.world.stop(self.provider)

    def test_a_real_pinentry_ends_with_its_terminal(self):
        self.begin("--pinentry", "/usr/bin/pinentry-tty")
        host, guest = self.terminal()
        with prefixed(IGNORES_HANGUP):
            process = self.ask(terminal=guest, TERM="xterm")
        self.shown(host, b"Password:")
        os.close(guest)
        os.close(host)
        self.assertEqual(process.stdout.readline(), "(True, ('ao', []))\n")
        wait_until(lambda: not self.children(), "the end of pinentry")


class Notifications(test_locks.Asking):
    def notifications(self):
        """A desktop that shows notifications: its connection to the bus."""
        desktop = self.connect()
        reply = desktop.connection.send_and_get_reply(message_bus.RequestName("org.freedesktop.Notifications"), timeout=PATIENCE)
        self.assertEqual(reply.body, (1,))
        return desktop.connection

    def test_a_display_without_pinentry_is_told_on_the_desktop(self):
        desktop = self.notifications()
        self.begin("--pinentry", "/nonexistent")
        process = self.ask(DISPLAY=":7")
        message = desktop.receive(timeout=PATIENCE)
        while message.header.message_type != MessageType.method_call:
            message = desktop.receive(timeout=PATIENCE)
        self.assertEqual(message.body, (
            "TokenKeep", 0, "dialog-password", "The vault is locked",
            f"python3 (pid {process.pid}) waits for the vault. Run: tokenkeep unlock", [], {}, -1))
        # A desktop that does not answer holds nobody up.
        self.assertEqual(self.prompt([DEFAULT]), (True, []))
        self.world.unlock()
        self.assertEqual(process.stdout.readline(), f"(False, ('ao', ['{DEFAULT}']))\n")

    def test_a_caller_without_a_display_is_told_nothing_on_the_desktop(self):
        desktop = self.notifications()
        self.begin("--pinentry", "/nonexistent")
        self.assertEqual(self.prompt([DEFAULT]), (True, []))
        # Had the provider sent a message, it would have come before the bus's answer.
        desktop.send(message_bus.GetId())
        message = desktop.receive(timeout=PATIENCE)
        while message.header.message_type == MessageType.signal:
            message = desktop.receive(timeout=PATIENCE)
        self.assertEqual(message.header.message_type, MessageType.method_return)
