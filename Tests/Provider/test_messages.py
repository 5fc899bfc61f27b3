"""The words of the program's errors."""
import os
import unittest

from client import COLLECTION, ITEM, LOGIN, ROOT, SERVICE, Refused
from test_interface import Case
from world import World


class Words(Case):
    def said(self, text, call, *arguments, **options):
        with self.assertRaises(Refused) as caught:
            call(*arguments, **options)
        self.assertIn(text, str(caught.exception))

    def test_attributes_beyond_the_limits(self):
        self.said("the item has more than 256 lookup attributes", self.client.create, {str(n): "" for n in range(257)}, b"")
        self.said("the name of a lookup attribute is longer than 255 bytes", self.client.create, {"x" * 256: ""}, b"")
        self.said("the value of a lookup attribute is longer than 16384 bytes", self.client.create, {"x": "y" * 16385}, b"")
        self.said("the lookup attributes are longer than 49152 bytes together", self.client.create,
                  {str(n): "y" * 16384 for n in range(4)}, b"")
        self.said("the content type is longer than 255 bytes", self.client.create, {}, b"", content_type="x" * 256)
        self.said("two names of attributes are Unicode spellings of the same text", self.client.create,
                  {"\u00e9": "1", "e\u0301": "2"}, b"")

    def test_labels_and_content_types_beyond_the_limits(self):
        session, long = f"{ROOT}/collection/session", "x" * 4097
        stored, kept = self.client.create({"a": "1"}, b"1"), self.client.create({"a": "1"}, b"1", collection=session)
        for path, interface in ((stored, ITEM), (kept, ITEM), (LOGIN, COLLECTION), (session, COLLECTION)):
            self.said("the label is longer than 4096 bytes", self.client.set, path, interface, "Label", "s", long)
        self.said("the label is longer than 4096 bytes", self.client.call, ROOT, SERVICE, "CreateCollection", "a{sv}s",
                  {f"{COLLECTION}.Label": ("s", long)}, "")
        for path in (stored, kept):
            self.said("the content type is longer than 255 bytes", self.client.call, path, ITEM, "SetSecret", "(oayays)",
                      self.client.secret(b"1", "x" * 256))

    def test_a_secret_of_another_sessions_key(self):
        algorithm = "dh-ietf1024-sha256-aes128-cbc-pkcs7"
        _, session = self.client.call(ROOT, SERVICE, "OpenSession", "sv", algorithm, ("ay", b"\2" * 100))
        path = self.client.create({"a": "1"}, b"1")
        self.said("the secret was encrypted for another session", self.client.call, path, ITEM, "SetSecret", "(oayays)",
                  (session, b"i" * 16, b"\0" * 64, ""))
        self.said("the length of an encrypted secret is not a multiple of 16", self.client.call, path, ITEM, "SetSecret",
                  "(oayays)", (session, b"i" * 16, b"\0" * 63, ""))
        self.said("the public key is not of the group", self.client.call, ROOT, SERVICE, "OpenSession", "sv", algorithm,
                  ("ay", b"\1"))

    def test_an_item_that_another_program_cleared(self):
        path = self.client.create({"service": "s", "username": "u"}, b"1")
        self.world.tokenkeep("clear", "s", "u")
        self.said(f"there is no item {path}", self.client.value, path)

    def test_an_item_that_needs_the_password_at_each_use_does_not_exist_for_clients(self):
        self.world.set_password()
        self.world.tokenkeep("save", "--user-presence", "s", "u", "--password-file", self.world.password_file(), input="own")
        self.assertEqual(self.client.search({}), ([], []))
        path = self.client.create({"service": "s", "username": "u"}, b"theirs")
        self.assertEqual(self.client.search({"service": "s"}), ([path], []))
        self.assertEqual(self.client.value(path), b"theirs")
        self.assertEqual(
            self.world.tokenkeep("load", "s", "u", "--password-file", self.world.password_file()).stdout.strip(), "own")

    def test_attributes_of_an_item_that_needs_the_password_at_each_use_can_be_given(self):
        self.world.set_password()
        self.world.tokenkeep("save", "--user-presence", "s", "u", "--password-file", self.world.password_file(), input="own")
        attributes = {"service": "s", "username": "u"}
        for before in ({"a": "1"}, {"service": "other", "username": "u"}):
            path = self.client.create(before, b"theirs")
            self.client.set(path, ITEM, "Attributes", "a{ss}", attributes)
            self.assertEqual(self.client.search(attributes), ([path], []))
            self.assertEqual(self.client.search(before), ([], []))
            self.assertEqual(self.client.value(path), b"theirs")
            self.client.call(path, ITEM, "Delete")
        self.assertNotIn("at each use", self.world.logged())
        self.assertEqual(
            self.world.tokenkeep("load", "s", "u", "--password-file", self.world.password_file()).stdout.strip(), "own")


class Options(unittest.TestCase):
    def setUp(self):
        self.world = World()
        self.addCleanup(self.world.close)

    def refused(self, code, text, *arguments, **environment):
        done = self.world.run(os.environ["PROVIDER"], *arguments, check=False, environment=environment)
        self.assertEqual(done.returncode, code, done.stderr)
        self.assertIn(text, done.stderr)

    def test_wrong_options(self):
        self.refused(2, "there is no option --nothing (see --help)", "--nothing")
        self.refused(2, "--pinentry takes a value", "--pinentry")
        self.refused(2, "--prompt takes auto or none", "--prompt", "always")
        self.refused(2, "--password-fd takes the number of a descriptor", "--password-fd", "x")
        self.refused(2, "--password-file and --password-fd exclude each other", "--password-file", "x", "--password-fd", "3")
        self.refused(2, "/dev/null has no password in its first line", "--password-file", "/dev/null")
        self.refused(7, "cannot read /nonexistent: No such file or directory", "--password-file", "/nonexistent")
        self.refused(2, "no command is given (tokenkeep secret-service run -- COMMAND)", "run")
        self.refused(1, "no provider of org.freedesktop.secrets runs on this bus", "lock-running")

    def test_a_password_file_that_others_may_change_is_refused(self):
        path = self.world.password_file()
        os.chmod(path, 0o622)
        self.refused(5, f"other users may change {path} (chmod go-w the file)", "--password-file", path)

    def test_help_and_version(self):
        self.assertIn("Usage: tokenkeep-secret-service", self.world.run(os.environ["PROVIDER"], "--help").stdout)
        version = self.world.tokenkeep("--version").stdout.split()[1]
        self.assertEqual(self.world.run(os.environ["PROVIDER"], "--version").stdout, f"tokenkeep-secret-service {version}\n")

    def test_a_bus_or_a_provider_that_does_not_start(self):
        folder = os.path.join(self.world.home, "bin")
        os.mkdir(folder)
        with open(os.path.join(folder, "dbus-daemon"), "w", encoding="utf-8", opener=lambda p, f: os.open(p, f, 0o755)) as file:
            file.write("#!/bin/sh\nexit 1\n")
        self.refused(4, "dbus-daemon did not start", "run", "--", "true", PATH=folder + ":" + os.environ["PATH"])
        self.world.tokenkeep("save", "s", "u", input="x")
        self.world.set_password()
        self.refused(4, "the provider ended with 5", "run", "--password-file", self.world.password_file("wrong"), "--", "true")

    def test_a_file_of_another_keyring_is_never_overwritten(self):
        path = os.path.join(self.world.home, "data/dbus-1/services/org.freedesktop.secrets.service")
        os.makedirs(os.path.dirname(path))
        with open(path, "w", encoding="utf-8") as file:
            file.write("[D-BUS Service]\nName=org.freedesktop.secrets\nExec=/usr/bin/other\n")
        self.refused(5, f"{path} is another keyring's (move the file away, then enable again)", "enable", "--replace")
        with open(path, encoding="utf-8") as file:
            self.assertIn("/usr/bin/other", file.read())

    def test_a_program_alone_has_no_provider(self):
        program = os.path.join(self.world.home, "tokenkeep")
        os.link(os.environ["TOKENKEEP"], program)
        done = self.world.run(program, "secret-service", "status", check=False)
        self.assertEqual(done.returncode, 4)
        self.assertIn("tokenkeep-secret-service is not installed beside this program", done.stderr)


if __name__ == "__main__":
    unittest.main()
