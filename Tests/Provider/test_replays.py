"""Call sequences of clients that Debian does not have, replayed call by call, also against gnome-keyring.

go-keyring (gh, Pulumi, Databricks), node-keytar, keybase's client (docker), Chromium's own client, kubelogin's cache.
"""
import unittest

from client import COLLECTION, DEFAULT, ITEM, LOGIN, PROMPT, PROPERTIES, ROOT, SERVICE, SESSION, Client
from compared import Compared

SCHEMA = {"xdg:schema": "org.freedesktop.Secret.Generic"}


class Replaying(Client):
    """A client that completes prompts as the replayed clients do."""

    def completed(self, prompt):
        """The result of a prompt; None for no prompt."""
        if prompt == "/":
            return None
        with self.signals(interface=PROMPT, path=prompt) as queue:
            self.call(prompt, PROMPT, "Prompt", "s", "")
            _, member, (dismissed, (_, result)) = self.next_signal(queue)
        assert member == "Completed" and not dismissed
        return result

    def unlock(self, path):
        """go-keyring demands one path in reply and result together, and the very path that it sent."""
        unlocked, prompt = self.call(ROOT, SERVICE, "Unlock", "ao", [path])
        found = [*unlocked, *(self.completed(prompt) or [])]
        assert found == [path], found

    def put(self, collection, label, attributes, secret, replace=True):
        properties = {f"{ITEM}.Label": ("s", label), f"{ITEM}.Attributes": ("a{ss}", attributes)}
        path, prompt = self.call(collection, COLLECTION, "CreateItem", "a{sv}(oayays)b", properties, secret, replace)
        return self.completed(prompt) or path


class GoKeyring:
    """zalando/go-keyring 0.2.8, secret_service.go."""

    def __init__(self, client):
        self.client = client

    def session(self):
        return self.client.call(ROOT, SERVICE, "OpenSession", "sv", "plain", ("s", ""))[1]

    def collection(self):
        paths = self.client.call(ROOT, PROPERTIES, "Get", "ss", SERVICE, "Collections")[1]
        return LOGIN if LOGIN in paths else DEFAULT

    def set(self, service, user, password):
        session = self.session()
        collection = self.collection()
        self.client.unlock(collection)
        self.client.put(collection, f"Password for '{user}' on '{service}'", {"username": user, "service": service},
                        (session, b"", password, "text/plain; charset=utf8"))
        self.client.call(session, SESSION, "Close")

    def find(self, attributes):
        collection = self.collection()
        self.client.unlock(collection)
        return self.client.call(collection, COLLECTION, "SearchItems", "a{ss}", attributes)

    def get(self, service, user):
        found = self.find({"username": user, "service": service})
        if not found:
            return None
        session = self.session()
        self.client.unlock(found[0])
        value = self.client.call(found[0], ITEM, "GetSecret", "o", session)
        self.client.call(session, SESSION, "Close")
        return bytes(value[2]), value[3]

    def delete(self, service, user):
        self.client.completed(self.client.call(self.find({"username": user, "service": service})[0], ITEM, "Delete"))

    def users(self, service):
        return sorted(self.client.get(path, ITEM, "Attributes")["username"] for path in self.find({"service": service}))


class Replays(Compared):
    def replay(self, sequence):
        """The results of a sequence, which are the same with gnome-keyring."""
        results = []
        for world in (self.provider(), self.gnome_keyring()):
            client = Replaying(world.address)
            self.addCleanup(client.close)
            results.append(sequence(client))
        self.assertEqual(*results)
        return results[0]

    def test_go_keyring(self):
        def sequence(client):
            ring = GoKeyring(client)
            ring.set("gh:github.com", "ann", b"first")
            ring.set("gh:github.com", "", b"active")
            ring.set("gh:github.com", "ann", b"second")
            found = [ring.get("gh:github.com", "ann"), ring.get("gh:github.com", ""), ring.users("gh:github.com")]
            ring.delete("gh:github.com", "ann")
            return [*found, ring.get("gh:github.com", "ann"), ring.users("gh:github.com")]

        kind = "text/plain; charset=utf8"
        found = self.replay(lambda client: [
            value[0] if isinstance(value, tuple) else value for value in sequence(client)])
        self.assertEqual(found, [b"second", b"active", ["", "ann"], None, [""]])
        client = Replaying(self.provider().address)
        self.addCleanup(client.close)
        self.assertEqual(sequence(client)[0], (b"second", kind))

    def test_keytar(self):
        """node-keytar 7.9 on libsecret: setPassword, getPassword, findCredentials, deletePassword."""
        def lookup(client, attributes):
            found, locked = client.search(attributes)
            if locked:
                client.unlock(locked[0])
            return client.secrets(found[:1]) if found else {}

        def sequence(client):
            key = {"service": "VS Code", "account": "github.auth", **SCHEMA}
            client.put(DEFAULT, "VS Code/github.auth", key, client.secret(b"[{}]"))
            first = list(lookup(client, key).values())
            client.put(DEFAULT, "VS Code/other", {**key, "account": "other"}, client.secret(b"2"))
            paths, _ = client.search({"service": "VS Code", **SCHEMA})
            accounts = sorted(client.get_all(path, ITEM)["Attributes"]["account"] for path in paths)
            secrets = sorted(client.secrets(paths).values())
            client.completed(client.call(client.search(key)[0][0], ITEM, "Delete"))
            return first, accounts, secrets, lookup(client, key)

        self.assertEqual(self.replay(sequence), ([b"[{}]"], ["github.auth", "other"], [b"2", b"[{}]"], {}))

    def test_keybases_client(self):
        """keybase/go-keychain secretservice, of which docker's secrets engine is made: alias paths, replace, GetAttributes."""
        self.assertEqual(self.replay(self.keybase), (True, True, "ann", b"2"))

    @staticmethod
    def keybase(client):
        session = client.open_session()
        client.unlock(DEFAULT)
        attributes = {"service_name": "docker", "username": "ann"}
        item = client.put(DEFAULT, "docker", attributes, (session, b"", b"1", "application/octet-stream"))
        again = client.put(DEFAULT, "docker", attributes, (session, b"", b"2", "application/octet-stream"))
        found = client.call(DEFAULT, COLLECTION, "SearchItems", "a{ss}", {"service_name": "docker"})
        client.unlock(found[0])
        given = client.get(found[0], ITEM, "Attributes")
        value = client.value(found[0])
        client.completed(client.call(found[0], ITEM, "Delete"))
        return item == again, found == [item], given["username"], value

    def test_chromium(self):
        """Chromium 156's own client, as it was seen on the bus: plain, the default collection alone, never replace."""
        def sequence(client, key):
            collection = client.call(ROOT, SERVICE, "ReadAlias", "s", "default")
            client.get(collection, COLLECTION, "Label")
            client.unlock(collection)
            session = client.open_session()
            found = client.call(collection, COLLECTION, "SearchItems", "a{ss}", {"application": "chromium"})
            if found:
                client.unlock(found[0])
                value = list(client.secrets([found[0]]).values())[0]
            else:
                client.put(collection, "Chromium Safe Storage",
                           {"application": "chromium", "xdg:schema": "chrome_libsecret_os_crypt_password_v2"},
                           (session, b"", key, "text/plain"), replace=False)
                value = key
            client.call(session, SESSION, "Close")
            client.session = None
            return value

        def starts(client):
            return [sequence(client, b"first key") for _ in range(3)], sequence(client, b"another")

        self.assertEqual(self.replay(starts), ([b"first key"] * 3, b"first key"))

    def test_kubelogins_cache_unlocks_by_the_alias(self):
        """Azure's cache in kubelogin: go-keyring's calls on the alias path, one large value written anew each time."""
        def sequence(client):
            session = client.open_session()
            values = [b"%d" % number * 50000 for number in range(3)]
            for value in values:
                client.unlock(DEFAULT)
                client.put(DEFAULT, "kubelogin", {"service": "kubelogin", "account": "cache"}, (session, b"", value, "text/plain"))
            (path,), _ = client.search({"service": "kubelogin", "account": "cache"})
            return client.value(path) == values[-1]

        self.assertTrue(self.replay(sequence))


if __name__ == "__main__":
    unittest.main()
