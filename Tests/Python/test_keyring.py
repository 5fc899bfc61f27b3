"""The backend for keyring, beside SecretService's on a real gnome-keyring."""
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

import keyring
import keyring.backend
import keyring.errors
from case import PASSWORD, PATIENCE, ROOT, StoreCase, in_child
from tokenkeep.keyring import Keyring, escaped, unescaped

sys.path.insert(0, os.path.join(ROOT, "Tests", "Benchmarks"))
from private_keyring import PrivateKeyring  # noqa: E402

# Fails if an import loads the library, opens a socket, or looks for a vault.
QUIET_IMPORT = """
import os, sys
seen = []
def audit(event, arguments):
    if event in ("ctypes.dlopen", "socket.connect", "subprocess.Popen") or event == "open" and "vault" in str(arguments[0]):
        seen.append((event, arguments))
import keyring.backend, ctypes
sys.addaudithook(audit)
import tokenkeep.keyring
assert not seen, seen
"""


class NameTests(unittest.TestCase):
    def test_names_with_control_characters_are_escaped_and_come_back(self):
        for name, kept in (
                ("ann", "ann"), ("two\nlines", "%:two%0Alines"), ("%:", "%:%25%3A"), ("a\x85", "%:a%C2%85"), ("%", "%"), ("", ""),
                ("a\0b", "%:a%00b"), ("\x7f", "%:%7F"), ("ä b", "ä b"), ("ä\t", "%:%C3%A4%09")):
            self.assertEqual(escaped(name), kept)
            self.assertEqual(unescaped(kept), name)

    def test_a_text_that_is_no_escape_is_itself(self):
        for name in ("%:plain", "%:%zz", "%:%ff", "%:two%0alines"):
            self.assertEqual(unescaped(name), name)


class BackendTests(StoreCase):
    def setUp(self):
        super().setUp()
        self.ring = Keyring().with_properties(stack="any required vault", timeout=PATIENCE)

    def test_passwords_are_set_read_and_deleted(self):
        self.assertIsNone(self.ring.get_password("example.com", "ann"))
        self.ring.set_password("example.com", "ann", "pässword")
        self.ring.set_password("two\nlines", "%:", "odd")
        self.assertEqual(self.ring.get_password("example.com", "ann"), "pässword")
        self.assertEqual(self.ring.get_password("two\nlines", "%:"), "odd")
        self.assertEqual([item.service for item in self.open().list()], ["%:two%0Alines", "example.com"])
        self.ring.delete_password("example.com", "ann")
        self.assertIsNone(self.ring.get_password("example.com", "ann"))
        with self.assertRaises(keyring.errors.PasswordDeleteError):
            self.ring.delete_password("example.com", "ann")

    def test_under_names_that_no_item_has_there_is_no_password(self):
        # The escape makes a name of 86 line feeds longer than 255 bytes.
        for service, username in (("", "ann"), ("s" * 256, "ann"), ("ä" * 128, "ann"), ("\n" * 86, "ann"), ("s", "u" * 256), ("\ud800", "a")):
            self.assertIsNone(self.ring.get_password(service, username))
            self.assertIsNone(self.ring.get_credential(service, username))
            with self.assertRaises(keyring.errors.PasswordDeleteError):
                self.ring.delete_password(service, username)
        for service in ("", "s" * 256):
            self.assertIsNone(self.ring.get_credential(service, None))
            with self.assertRaises(keyring.errors.PasswordSetError):
                self.ring.set_password(service, "ann", "p")
        self.ring.set_password("s" * 255, "u" * 255, "p")
        self.assertEqual(self.ring.get_password("s" * 255, "u" * 255), "p")

    def test_credentials(self):
        self.assertIsNone(self.ring.get_credential("example.com", None))
        self.ring.set_password("example.com", "a\tb", "old")
        found = self.ring.get_credential("example.com", None)
        self.assertEqual((found.username, found.password), ("a\tb", "old"))
        self.assertEqual(self.ring.get_credential("example.com", "a\tb").password, "old")
        self.assertIsNone(self.ring.get_credential("example.com", "nobody"))

    def test_without_a_username_the_last_saved_is_found_also_within_a_second(self):
        for account in ("mia", "zoe", "ann", "lea"):
            self.ring.set_password("example.com", account, "p")
            self.assertEqual(self.ring.get_credential("example.com", None).username, account)
        self.open().save("example.com", "mia", "q", attributes={"mine": "kept"})
        self.ring.set_password("example.com", "zoe", "q")
        self.ring.set_password("example.com", "mia", "q")
        self.assertEqual(self.ring.get_credential("example.com", None).username, "mia")
        self.assertEqual(self.open().load("example.com", "mia").attributes["mine"], "kept")

    def test_a_credential_without_a_username_is_anonymous(self):
        self.open().save("example.com", "", "token")
        found = self.ring.get_credential("example.com", None)
        self.assertEqual(found.password, "token")
        if hasattr(keyring.credentials, "AnonymousCredential"):
            self.assertIsInstance(found, keyring.credentials.AnonymousCredential)
        else:
            self.assertEqual(found.username, "")

    def test_an_expired_password_is_none(self):
        self.open().save("example.com", "ann", "old", expires_at=1)
        self.assertIsNone(self.ring.get_password("example.com", "ann"))
        self.assertIsNone(self.ring.get_credential("example.com", None))

    def test_a_locked_vault_is_said_and_nothing_is_deleted(self):
        self.ring.set_password("example.com", "ann", "one")
        self.set_password()
        store = self.open()
        store.lock()
        for call in (lambda: self.ring.get_password("example.com", "ann"), lambda: self.ring.set_password("example.com", "ann", "x"),
                     lambda: self.ring.delete_password("example.com", "ann"), lambda: self.ring.get_credential("example.com", None),
                     lambda: self.ring.get_credential("example.com", "ann")):
            with self.assertRaises(keyring.errors.KeyringLocked):
                call()
        store.unlock(PASSWORD)
        self.assertEqual(self.ring.get_password("example.com", "ann"), "one")
        store.lock()

    def test_failures_are_keyrings_own(self):
        with self.assertRaises(keyring.errors.PasswordSetError):
            self.ring.set_password("x" * 256, "ann", "x")
        self.open().save("example.com", "ann", b"\xff")
        with self.assertRaises(keyring.errors.KeyringError):
            self.ring.get_password("example.com", "ann")
        with self.assertRaises(keyring.errors.KeyringError):
            self.ring.with_properties(timeout="soon").get_password("example.com", "ann")

    def test_an_empty_property_is_the_default(self):
        self.ring.set_password("example.com", "ann", "x")
        self.assertEqual(self.ring.with_properties(timeout=" ").get_password("example.com", "ann"), "x")
        self.set_variable("KEYRING_PROPERTY_STACK", "")
        self.set_variable("KEYRING_PROPERTY_TIMEOUT", "")
        # Opening a store reads the configuration alone.
        self.assertIsNotNone(Keyring()._store())

    def test_properties_come_from_the_environment(self):
        for name, value in (("STACK", "any required vault"), ("NAMESPACE", "tests"), ("TIMEOUT", "60"), ("INTERACTIVE", "0")):
            self.set_variable(f"KEYRING_PROPERTY_{name}", value)
        Keyring().set_password("example.com", "ann", "x")
        self.assertEqual([item.account for item in self.open(namespace="tests").list()], ["ann"])
        self.assertIsNone(self.ring.get_password("example.com", "ann"))

    def test_a_child_uses_the_backend_of_its_parent(self):
        self.ring.set_password("example.com", "ann", "one")
        self.assertEqual(in_child(lambda: self.ring.get_password("example.com", "ann")), "one")

    def test_the_import_touches_neither_library_nor_bus_nor_vault(self):
        subprocess.run([sys.executable, "-c", QUIET_IMPORT], check=True)

    def test_the_priority_stands_between_kwallet_and_the_chainer(self):
        self.assertEqual(Keyring.priority, 5.5)
        self.assertTrue(Keyring.viable)
        self.assertEqual(str(self.ring), "tokenkeep.keyring.Keyring (priority: 5.5)")


class SecretServiceTests(StoreCase):
    """Both backends on a gnome-keyring of their own."""

    @classmethod
    def setUpClass(cls):
        if not all(map(shutil.which, ("gnome-keyring-daemon", "dbus-daemon", "gdbus"))):
            raise unittest.SkipTest("gnome-keyring is not installed")
        cls.place = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.place.cleanup)
        cls.service = PrivateKeyring(cls.place.name + "/keyring")
        cls.service.__enter__()
        cls.addClassCleanup(cls.service.__exit__)

    def setUp(self):
        super().setUp()
        self.set_variable("DBUS_SESSION_BUS_ADDRESS", self.service.environment["DBUS_SESSION_BUS_ADDRESS"])
        from keyring.backends.SecretService import Keyring as Other
        self.other, self.ring = Other(), Keyring().with_properties(stack="any required secret-service", timeout=PATIENCE)

    def test_what_the_other_backend_stored_is_read_and_replaced_and_deleted(self):
        self.other.set_password("theirs.example", "ann", "one")
        self.assertEqual(self.ring.get_password("theirs.example", "ann"), "one")
        self.assertEqual(self.ring.get_credential("theirs.example", None).username, "ann")
        self.ring.set_password("theirs.example", "ann", "two")
        self.assertEqual(self.other.get_password("theirs.example", "ann"), "two")
        self.ring.delete_password("theirs.example", "ann")
        self.assertIsNone(self.other.get_password("theirs.example", "ann"))

    def test_the_other_backend_reads_and_deletes_what_ours_stored(self):
        self.ring.set_password("ours.example", "bob", "one")
        self.assertEqual(self.other.get_password("ours.example", "bob"), "one")
        self.other.delete_password("ours.example", "bob")
        self.assertIsNone(self.ring.get_password("ours.example", "bob"))

    def test_a_locked_keyring_is_said(self):
        self.other.set_password("locked.example", "ann", "one")
        call = ["gdbus", "call", "--session", "--dest", "org.freedesktop.secrets", "--object-path", "/org/freedesktop/secrets",
                "--method", "org.freedesktop.Secret.Service.Lock", "['/org/freedesktop/secrets/collection/login']"]
        subprocess.run(call, check=True, stdout=subprocess.DEVNULL)
        for ask in (lambda: self.ring.get_password("locked.example", "ann"), lambda: self.ring.get_credential("locked.example", None),
                    lambda: self.ring.delete_password("locked.example", "ann")):
            with self.assertRaises(keyring.errors.KeyringLocked):
                ask()
        # gnome-keyring without a prompter cannot be unlocked again: the next tests get another.
        type(self).service.__exit__()
        shutil.rmtree(self.place.name + "/keyring")
        type(self).service = PrivateKeyring(self.place.name + "/keyring")
        type(self).service.__enter__()
