"""`tokenkeep import --from secret-service`: what another keyring holds, taken over as it is."""
import os
import unittest

from client import COLLECTION, ITEM, LOGIN, ROOT, SERVICE, Client
from odd_keyring import Item, Keyring
from real_keyring import WithKeyring

CHROMIUM = {"application": "chromium", "xdg:schema": "chrome_libsecret_os_crypt_password_v2"}
SIGNAL = {"application": "Signal", "xdg:schema": "chrome_libsecret_os_crypt_password_v2"}
PORTAL = {"app_id": "org.example.App", "xdg:schema": "org.freedesktop.portal.Secret"}


class Importing(WithKeyring):
    def connect(self, **options):
        client = Client(self.world.address, **options)
        self.addCleanup(client.close)
        return client

    def command(self, *arguments, code=0, **options):
        done = self.world.tokenkeep("import", "--from", "secret-service", *arguments, check=False, **options)
        self.assertEqual(done.returncode, code, done.stderr + done.stdout)
        return done

    def other_vault(self):
        return self.world.provider(TOKENKEEP_VAULT=os.path.join(self.world.home, "other"))

    def fill(self, client):
        """Items as programs store them. Returns what a client sees of each."""
        client.create(CHROMIUM, b"4oGjkb+Zf0l9wq3Mjw4nWA==", label="Chromium Safe Storage")
        client.create(SIGNAL, b"key\n\0\xff", label="Chromium Keys/Chromium Safe Storage", content_type="application/octet-stream")
        client.create({"service": "s", "username": "u", "application": "Python keyring library"}, b"token",
                      content_type="text/plain; charset=utf8")
        client.create({"twin": "1"}, b"1", replace=False)
        client.create({"twin": "1"}, b"2", replace=False)
        client.create(PORTAL, b"p" * 64)
        return [found for found in self.seen(client) if "app_id" not in found[0]]

    def seen(self, client):
        """Attributes, label, content type, secret of each item, in the order of a search."""
        client.open_session()
        found = []
        for path in client.search({})[0]:
            attributes = client.get(path, ITEM, "Attributes")
            # gnome-keyring adds this to items without a schema.
            if attributes.get("xdg:schema") == "org.freedesktop.Secret.Generic":
                del attributes["xdg:schema"]
            _, _, value, content_type = client.call(path, ITEM, "GetSecret", "o", client.session)
            found.append((dict(sorted(attributes.items())), client.get(path, ITEM, "Label"), content_type, bytes(value)))
        return sorted(found, key=repr)

    def take_over(self, process):
        """Imports, ends the keyring, and returns a client of the provider."""
        self.assertEqual(self.command("--verbatim", "--dry-run").stdout,
                         "would import 6, already there 0, kept 0, not readable 0\n")
        self.assertFalse(os.path.exists(os.path.join(self.world.home, "vault")))
        self.assertEqual(self.command("--verbatim").stdout, "imported 6, already there 0, kept 0, not readable 0\n")
        self.assertEqual(self.command("--verbatim").stdout, "imported 0, already there 6, kept 0, not readable 0\n")
        self.world.stop(process)
        self.world.provider()
        return self.connect()

    def test_everything_of_a_gnome_keyring(self):
        keyring = self.gnome_keyring()
        client = self.connect()
        expected = self.fill(client)
        client = self.take_over(keyring)
        self.assertEqual(self.seen(client), expected)
        self.assertEqual(self.world.tokenkeep("load", "s", "u").stdout.strip(), "token")
        # Chromium looks into the default collection alone.
        self.assertEqual(len(client.call(f"{ROOT}/aliases/default", COLLECTION, "SearchItems", "a{ss}", {"application": "chromium"})), 1)
        self.assertEqual(self.portal_secret(), b"p" * 64)

    def portal_secret(self):
        client = self.connect(fds=True)
        reading, writing = os.pipe()
        with os.fdopen(reading, "rb") as file, os.fdopen(writing, "wb") as end:
            client.call("/org/freedesktop/portal/desktop", "org.freedesktop.impl.portal.Secret", "RetrieveSecret", "osha{sv}",
                        "/org/freedesktop/portal/desktop/request/1/t", "org.example.App", end, {})
            end.close()
            return file.read()

    def test_another_vault_with_collections_and_dates(self):
        source = self.other_vault()
        client = self.connect()
        made = client.call(ROOT, SERVICE, "CreateCollection", "a{sv}s", {f"{COLLECTION}.Label": ("s", "Mine")}, "")[0]
        client.create({"a": "1"}, b"1", collection=made)
        client.create({"a": "2"}, b"2", collection=f"{ROOT}/collection/session")
        client.create({"service": "s", "username": "u"}, b"3")
        self.assertEqual(self.command().stdout,
                         "imported 1, already there 0, kept 0, not readable 0, left out 1, which --verbatim imports\n")
        self.assertEqual(self.command("--verbatim").stdout, "imported 1, already there 1, kept 0, not readable 0\n")
        dates = client.get_all(client.search({"a": "1"})[0][0], ITEM)["Modified"]
        self.world.stop(source)
        self.world.provider()
        client = self.connect()
        (path,), _ = client.search({"a": "1"})
        self.assertTrue(path.startswith(f"{ROOT}/collection/Mine/"))
        self.assertEqual(client.get(path, ITEM, "Modified"), dates)
        self.assertEqual(client.get(f"{ROOT}/collection/Mine", COLLECTION, "Label"), "Mine")
        self.assertEqual(client.search({"a": "2"}), ([], []))

    def test_an_item_with_another_secret_is_kept(self):
        source = self.other_vault()
        client = self.connect()
        client.create({"service": "s", "username": "u"}, b"theirs", label="A label")
        self.world.tokenkeep("save", "--stack", "any required vault", "s", "u", input="ours")
        done = self.command("--verbatim", code=0)
        self.assertEqual(done.stdout, "imported 0, already there 0, kept 1, not readable 0\n")
        self.assertIn("is not imported: it is there with another secret (to replace it: --replace)", done.stderr)
        self.assertEqual(self.command("--verbatim", "--replace").stdout, "imported 1, already there 0, kept 0, not readable 0\n")
        self.world.stop(source)
        self.assertEqual(self.world.tokenkeep("load", "s", "u", "--stack", "any required vault").stdout.strip(), "theirs")

    def test_the_newest_of_one_pair_is_imported(self):
        keyring = self.gnome_keyring()
        client = self.connect()
        client.create({"service": "s", "username": "u"}, b"1")
        client.create({"service": "s", "username": "u", "application": "p"}, b"2")
        done = self.command("--verbatim")
        self.assertEqual(done.stdout, "imported 1, already there 0, kept 1, not readable 0\n")
        self.assertIn("is not imported: a newer item of the keyring has the same service and username", done.stderr)
        self.world.stop(keyring)

    def test_a_locked_keyring_is_refused(self):
        self.world.stop(self.gnome_keyring())
        keyring = self.gnome_keyring()
        client = self.connect()
        client.create({"a": "1"}, b"1")
        self.assertEqual(client.call(ROOT, SERVICE, "Lock", "ao", [LOGIN])[0], [LOGIN])
        self.assertIn("the collection Login is locked (unlock the keyring (gnome-keyring: tokenkeep unlock --keyring), then import again: nothing was imported)",
                      self.command("--verbatim", code=3).stderr)
        self.world.stop(keyring)
        self.gnome_keyring(unlocks=False)
        self.assertIn(" is locked (unlock the keyring", self.command("--verbatim", code=3).stderr)

    def test_the_vaults_own_provider_and_nobody_are_refused(self):
        self.world.provider()
        self.assertIn("the owner of org.freedesktop.secrets serves this vault: there is no other keyring to import from",
                      self.command("--verbatim", code=5).stderr)
        self.world.stop(self.world.processes[-1])
        self.assertIn("the keyring refused OpenSession: org.freedesktop.DBus.Error.ServiceUnknown", self.command(code=4).stderr)

    def test_the_vaults_own_provider_that_the_import_starts(self):
        self.world.activate()
        for _ in range(2):
            self.assertIn("the owner of org.freedesktop.secrets serves this vault: there is no other keyring to import from",
                          self.command("--verbatim", code=5).stderr)
            # At first neither has a vault.
            self.world.tokenkeep("save", "--stack", "any required vault", "s", "u", input="ours")

    def keyring(self, collections, aliases):
        keyring = Keyring(self.world.address, collections, aliases)
        ended = []
        self.addCleanup(lambda: ended or keyring.close())
        return keyring, lambda: ended.append(keyring.close())

    def test_items_that_cannot_be_read_are_named(self):
        items = [Item({"a": "1"}, b"1"), Item({"a": "2"}, b"2", shows="org.freedesktop.DBus.Error.UnknownObject"),
                 Item({"a": "3"}, b"3", gives="org.freedesktop.Secret.Error.NoSuchObject"), Item({"a": "4"}, b"4")]
        keyring, _ = self.keyring({LOGIN: ("Login", items)}, {"default": LOGIN})
        done = self.command("--verbatim", code=7)
        self.assertEqual(done.stdout, "imported 2, already there 0, kept 0, not readable 2\n")
        self.assertIn(f"{LOGIN}/2 cannot be read: the keyring refused GetAll: org.freedesktop.DBus.Error.UnknownObject", done.stderr)
        self.assertIn(f"({LOGIN}/3) cannot be imported: the keyring refused GetSecret: org.freedesktop.Secret.Error.NoSuchObject",
                      done.stderr)
        # A keyring that locks meanwhile, or that is gone, ends the import.
        items[2].gives = "org.freedesktop.Secret.Error.IsLocked"
        self.command("--verbatim", code=3)
        items[2].gives = "org.freedesktop.DBus.Error.NoReply"
        self.assertIn("the keyring refused GetSecret: org.freedesktop.DBus.Error.NoReply", self.command("--verbatim", code=4).stderr)
        keyring.begins = "org.freedesktop.DBus.Error.AccessDenied"
        self.assertIn("the keyring refused OpenSession: org.freedesktop.DBus.Error.AccessDenied", self.command(code=4).stderr)

    def test_each_collection_stays_its_own(self):
        folder = f"{ROOT}/collection"
        long = "a label that is longer than forty bytes, and then "
        labels = {f"{folder}/Work": "Work", f"{folder}/Work_1": "Work", f"{folder}/long_1": long + "1", f"{folder}/long_2": long + "2",
                  f"{folder}/session": "session", f"{folder}/default": "default", f"{folder}/login": "login", "/else/Work": "Work"}
        collections = {path: (label, [Item({"of": path}, path.encode())]) for path, label in labels.items()}
        collections[f"{folder}/main"] = ("Main", [Item({"of": "main"}, b"main")])
        _, end = self.keyring(collections, {"default": f"{folder}/main"})
        for expected in ("imported 9, already there 0", "imported 0, already there 9"):
            self.assertEqual(self.command("--verbatim").stdout, f"{expected}, kept 0, not readable 0\n")
        end()
        self.world.provider()
        client = self.connect()
        found = {}
        for path, label in labels.items():
            (item,), _ = client.search({"of": path})
            found[path] = item.rsplit("/", 1)[0]
            self.assertEqual((client.get(found[path], COLLECTION, "Label"), client.value(item)), (label, path.encode()))
        self.assertEqual(len(set(found.values()) | {LOGIN, f"{folder}/session"}), len(labels) + 2)
        self.assertEqual(found[f"{folder}/Work_1"], f"{folder}/Work_1")
        self.assertTrue(client.search({"of": "main"})[0][0].startswith(f"{LOGIN}/"))

    def test_a_locked_vault_asks_for_its_password_option(self):
        self.world.tokenkeep("save", "s", "u", input="x")
        self.world.set_password()
        self.world.lock()
        self.other_vault()
        self.command("--verbatim", code=3)
        self.command("--verbatim", "--password-file", self.world.password_file())

    def test_an_item_beyond_the_limits_is_named(self):
        self.gnome_keyring()
        client = self.connect()
        client.create({"a": "x" * 20000}, b"1", label="too long")
        client.create({"b": "1"}, b"2")
        done = self.command("--verbatim", code=7)
        self.assertEqual(done.stdout, "imported 1, already there 0, kept 0, not readable 1\n")
        self.assertIn("\"too long\" (", done.stderr)
        self.assertIn("cannot be imported: the value of a lookup attribute is longer than 16384 bytes", done.stderr)
        self.assertIn("some items were not imported", done.stderr)

    def test_options_that_do_not_fit(self):
        for arguments in (["file"], ["--stack", "any required vault"], ["--namespace", "n"]):
            self.assertIn("--from secret-service reads no file, and saves in the vault alone",
                          self.command(*arguments, code=2).stderr)
        done = self.world.tokenkeep("import", "--from", "netrc", "--verbatim", check=False)
        self.assertIn("--verbatim needs --from secret-service", done.stderr)


if __name__ == "__main__":
    unittest.main()
