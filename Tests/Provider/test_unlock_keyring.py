"""`tokenkeep unlock --keyring`: gnome-keyring is opened from a terminal, without its window."""
import os
import pty
import unittest

from client import COLLECTION, LOGIN, ROOT, SERVICE, Client
from odd_keyring import Keyring
from patience import wait_until
from real_keyring import WithKeyring
from world import TOKENKEEP

# Runs a command without a variable that names a bus, and with a runtime directory of its own, whose bus is the socket "$0".
UNDER_CRON = """
mount -t tmpfs none /run
mkdir -p "/run/user/$(id -u)"
chmod 700 "/run/user/$(id -u)"
ln -s "$0" "/run/user/$(id -u)/bus"
exec env -u DBUS_SESSION_BUS_ADDRESS -u XDG_RUNTIME_DIR "$@"
"""


class UnlockKeyring(WithKeyring):
    def unlock(self, *arguments, code=0, **options):
        done = self.world.tokenkeep("unlock", "--keyring", *arguments, check=False, **options)
        self.assertEqual(done.returncode, code, done.stderr + done.stdout)
        self.assertNotIn("pw", done.stderr + done.stdout)
        return done

    def connect(self):
        client = Client(self.world.address)
        self.addCleanup(client.close)
        return client

    def is_locked(self, collection=LOGIN):
        return self.connect().get(collection, COLLECTION, "Locked")

    def filled(self):
        """A locked gnome-keyring with an item."""
        self.gnome_keyring()
        client = self.connect()
        client.create({"service": "s", "username": "u"}, b"token")
        self.locked_keyring()

    def test_a_password_on_standard_input_in_a_file_or_a_descriptor(self):
        self.filled()
        self.assertIn("unlock the keyring (gnome-keyring: tokenkeep unlock --keyring)", self.world.tokenkeep("load", "s", "u", check=False).stderr)
        self.assertEqual(self.unlock("--stdin", input="pw\n").stdout, "unlocked Login\n")
        self.assertEqual(self.world.tokenkeep("load", "s", "u").stdout, "token")
        self.assertEqual(self.unlock("--stdin", input="pw\n").stdout, "no collection of the keyring is locked\n")
        for options in (["--password-file", self.world.password_file()], ["--password-fd", "0"]):
            self.locked_keyring()
            self.assertTrue(self.is_locked())
            self.unlock(*options, input="pw\n")
            self.assertFalse(self.is_locked())

    def test_a_wrong_password_and_none(self):
        self.filled()
        self.assertIn("the password is wrong for Login", self.unlock("--stdin", input="wrong\n", code=5).stderr)
        self.assertIn("empty", self.unlock("--stdin", input="\n", code=2).stderr)
        # The variable names the password of the vault, which the keyring does not get. There is no terminal to ask on.
        done = self.unlock(code=3, environment={"TOKENKEEP_PASSWORD_FILE": self.world.password_file()})
        self.assertIn("terminal", done.stderr)
        self.assertTrue(self.is_locked())

    @unittest.skipUnless(os.geteuid() == 0, "a /run of one's own needs root")
    def test_under_cron_the_bus_of_the_runtime_directory_is_used(self):
        self.filled()
        self.world.run(
            "unshare", "-m", "sh", "-euc", UNDER_CRON, self.world.address.split("=")[1].split(",")[0], TOKENKEEP, "unlock",
            "--keyring", "--stdin", input="pw\n")
        self.assertFalse(self.is_locked())

    def test_it_asks_on_the_terminal(self):
        self.filled()
        process, terminal = pty.fork()
        if process == 0:
            os.execve(TOKENKEEP, [TOKENKEEP, "unlock", "--keyring"], self.world.environment)
        shown = b""
        while b"password of the keyring: " not in shown:
            shown += os.read(terminal, 100)
        os.write(terminal, b"pw\n")
        wait_until(lambda: not self.is_locked(), "an open keyring")
        os.waitpid(process, 0)
        os.close(terminal)

    def test_each_collection_has_its_password(self):
        self.filled()
        client = self.connect()
        client.open_session()
        client.call(ROOT, "org.gnome.keyring.InternalUnsupportedGuiltRiddenInterface", "CreateWithMasterPassword", "a{sv}(oayays)",
                    {f"{COLLECTION}.Label": ("s", "Work")}, client.secret(b"other"))
        work = next(path for path in client.get(ROOT, SERVICE, "Collections") if client.get(path, COLLECTION, "Label") == "Work")
        client.call(ROOT, SERVICE, "Lock", "ao", [work])
        done = self.unlock("--stdin", input="pw\n")
        self.assertEqual(done.stdout, "unlocked Login\n")
        self.assertIn("Work: locked, with another password", done.stderr)
        self.assertEqual(self.unlock("--stdin", input="other\n").stdout, "unlocked Work\n")
        self.assertFalse(self.is_locked(work))

    def test_other_keyrings_say_so(self):
        self.world.provider()
        done = self.unlock("--stdin", input="pw\n", code=4)
        self.assertIn("a vault of TokenKeep is the keyring (tokenkeep unlock)", done.stderr)
        self.world.stop(self.world.processes[-1])
        keyring = Keyring(self.world.address, {LOGIN: ("Login", [])})
        self.addCleanup(keyring.close)
        keyring.locked = {LOGIN}
        self.assertIn("takes its password in its own window alone", self.unlock("--stdin", input="pw\n", code=4).stderr)

    def test_nobody_serves_and_options_that_do_not_fit(self):
        self.assertIn("ServiceUnknown", self.unlock("--stdin", input="pw\n", code=4).stderr)
        for option in (["--stack", "any required vault"], ["--namespace", "n"], ["--accept-older-header"],
                       ["--timeout", "9s"]):
            self.assertIn(
                "--keyring excludes --accept-older-header, --stack, --namespace and --timeout",
                self.unlock(*option, code=2).stderr)


if __name__ == "__main__":
    unittest.main()
