"""Kills of the provider, damaged records, hostile clients."""
import os
import resource
import random
import signal
import socket
import subprocess
import threading
import unittest

from client import COLLECTION, INTROSPECTABLE, ITEM, LOGIN, PROMPT, PROPERTIES, ROOT, SERVICE, SESSION, Client, Refused
from jeepney import HeaderFields, MessageFlag, MessageType
from patience import PATIENCE, wait_until
from test_interface import Case

ROUNDS = int(os.environ.get("ROUNDS", "20"))


class Kills(Case):
    def test_no_acknowledged_change_is_lost(self):
        """kill -9 of the provider while clients write, again and again."""
        acknowledged, paths = {}, {}
        for number in range(ROUNDS):
            ends = []
            for writer in range(4):
                thread = threading.Thread(target=self.write, args=(writer, number, acknowledged, paths))
                thread.start()
                ends.append(thread)
            wait_until(lambda number=number: any(key[1] == number for key in list(acknowledged)), "a write")
            self.world.stop(self.provider, signal.SIGKILL)
            for thread in ends:
                thread.join(PATIENCE)
            self.provider = self.world.provider()
            client = Client(self.world.address)
            for (writer, _), value in [(key, value) for key, value in acknowledged.items() if key[1] == number]:
                found, locked = client.search({"writer": str(writer), "kind": "test"})
                self.assertEqual((len(found), locked), (1, []), "an item is there once")
                self.assertEqual(paths.setdefault(writer, found[0]), found[0], "a path stays")
                # The value whose answer did not come may have been written, too.
                self.assertGreaterEqual(int(client.value(found[0])), value)
            client.close()

    def write(self, writer, number, acknowledged, paths):
        client = Client(self.world.address)
        try:
            for count in range(100000):
                value = number * 100000 + count
                paths.setdefault(writer, client.create({"writer": str(writer), "kind": "test"}, str(value).encode()))
                acknowledged[(writer, number)] = value
        except (Refused, OSError, EOFError):
            pass
        finally:
            client.close()


class Damages(Case):
    def test_a_damaged_record_is_missing_and_stays(self):
        good = self.client.create({"a": "1"}, b"good")
        bad = self.client.create({"a": "1", "b": "2"}, b"bad")
        self.world.stop(self.provider)
        era = os.path.join(self.world.home, "vault", os.readlink(os.path.join(self.world.home, "vault", "current")))
        damaged = max((os.path.join(era, "records", name) for name in os.listdir(os.path.join(era, "records"))),
                      key=lambda path: os.stat(path).st_mtime_ns)
        with open(damaged, "r+b") as file:
            file.seek(-1, os.SEEK_END)
            file.truncate()
        self.world.provider()
        self.assertEqual(self.client.search({"a": "1"}), ([good], []))
        self.refused("NoSuchObject", self.client.get, bad, ITEM, "Label")
        self.assertTrue(os.path.exists(damaged))
        self.assertEqual(self.world.logged().count("is damaged"), 1)

    def test_a_vault_that_cannot_be_written_is_well_again_later(self):
        path = self.client.create({"a": "1"}, b"1")
        vault = os.path.join(self.world.home, "vault")
        os.rename(vault, vault + ".away")
        for _ in range(2):
            with self.assertRaises(Refused) as caught:
                self.client.search({"a": "1"})
            self.assertIn("the vault's directory is gone", str(caught.exception))
        self.assertEqual(self.world.logged().count("the vault's directory is gone, for python3 (pid "), 1)
        with open(vault, "w", encoding="utf-8"):
            pass
        with self.assertRaises(Refused):
            self.client.create({"a": "2"}, b"2")
        os.remove(vault)
        os.rename(vault + ".away", vault)
        self.assertEqual(self.client.value(path), b"1")
        self.assertEqual(self.client.create({"a": "1"}, b"3"), path)

    def test_an_item_whose_move_failed_can_be_deleted(self):
        path = self.client.create({"a": "1"}, b"1" * 100000)
        before = resource.prlimit(self.provider.pid, resource.RLIMIT_FSIZE)
        # Room for a line of the log, and none for the record.
        resource.prlimit(self.provider.pid, resource.RLIMIT_FSIZE, (50000, before[1]))
        with self.assertRaises(Refused) as caught:
            self.client.set(path, ITEM, "Attributes", "a{ss}", {"service": "s", "username": "u"})
        self.assertIn("File too large", str(caught.exception))
        resource.prlimit(self.provider.pid, resource.RLIMIT_FSIZE, before)
        self.client.call(path, ITEM, "Delete")
        self.assertEqual(self.client.search({}), ([], []))


class Memory(Case):
    def test_no_secret_is_left_in_the_memory_of_the_provider(self):
        """Copies of secrets of a plain session, in a core of the process."""
        needle = b"NEEDLE-" + os.urandom(8).hex().encode()
        path = self.client.create({"a": "1"}, needle)
        for length in (0, 17, 205, 5000):
            other = self.client.create({"length": str(length)}, needle + b"y" * length)
            self.client.value(other)
        self.client.call(path, ITEM, "SetSecret", "(oayays)", self.client.secret(needle * 2))
        self.client.secrets([path])
        self.client.create({"b": "1"}, needle, collection=f"{ROOT}/collection/session")
        core = os.path.join(self.world.home, "core")
        subprocess.run(["gcore", "-o", core, str(self.provider.pid)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                       check=True)
        with open(f"{core}.{self.provider.pid}", "rb") as file:
            text = file.read()
        self.assertGreater(text.count(b"org.freedesktop.Secret"), 0, "the core is one")
        self.assertEqual(text.count(needle), 0)


class Hostile(Case):
    def fuzzed(self, seed):
        """A call whose arguments are random bytes below a random signature."""
        chance = random.Random(seed)
        signature = chance.choice(["sv", "a{ss}", "ao", "aoo", "a{sv}(oayays)b", "o", "(oayays)", "ssv", "ss", "", "h", "a{sv}s", "so"])
        path = chance.choice([ROOT, LOGIN, f"{ROOT}/aliases/default", f"{LOGIN}/{'0' * 32}", f"{ROOT}/session/x",
                              f"{ROOT}/prompt/x", "/org/tokenkeep/SecretService1", "/org/freedesktop/portal/desktop"])
        interface, member = chance.choice([
            (SERVICE, "OpenSession"), (SERVICE, "SearchItems"), (SERVICE, "Unlock"), (SERVICE, "Lock"), (SERVICE, "GetSecrets"),
            (SERVICE, "CreateCollection"), (SERVICE, "SetAlias"), (COLLECTION, "CreateItem"), (COLLECTION, "SearchItems"),
            (ITEM, "GetSecret"), (ITEM, "SetSecret"), ("org.freedesktop.DBus.Properties", "Set"),
            ("org.freedesktop.DBus.Properties", "GetAll"), ("org.tokenkeep.SecretService1", "Unlock"),
            ("org.freedesktop.impl.portal.Secret", "RetrieveSecret")])
        return path, interface, member, signature, chance

    def body(self, signature, chance):
        """Values of a signature."""
        text = lambda: "".join(chance.choice("ab/_ä\n") for _ in range(chance.choice([0, 1, 7, 300])))  # noqa: E731
        path = lambda: chance.choice(["/", LOGIN, f"{ROOT}/x", f"{LOGIN}/x", f"{ROOT}/session/x"])  # noqa: E731
        data = lambda: chance.randbytes(chance.choice([0, 1, 16, 128, 129, 5000]))  # noqa: E731
        variant = lambda: chance.choice([("s", text()), ("ay", data()), ("i", 1), ("a{ss}", {text(): text()})])  # noqa: E731
        values = {
            "sv": lambda: (text(), variant()), "a{ss}": lambda: ({text(): text() for _ in range(chance.randrange(5))},),
            "ao": lambda: ([path() for _ in range(chance.randrange(5))],),
            "aoo": lambda: ([path()], path()), "o": lambda: (path(),), "so": lambda: (text(), path()),
            "a{sv}(oayays)b": lambda: ({f"{ITEM}.Label": variant()}, (path(), data(), data(), text()), True),
            "(oayays)": lambda: ((path(), data(), data(), text()),), "ssv": lambda: (text(), text(), variant()),
            "ss": lambda: (text(), text()), "": lambda: (), "a{sv}s": lambda: ({text(): variant()}, text())}
        return values[signature]()

    def test_any_message_gets_an_answer_and_the_provider_lives(self):
        for seed in range(400):
            path, interface, member, signature, chance = self.fuzzed(seed)
            if signature == "h":
                continue
            try:
                self.client.call(path, interface, member, signature, *self.body(signature, chance))
            except Refused as refused:
                self.assertRegex(refused.full, r"^org\.freedesktop\.(DBus|Secret)\.Error\.")
                self.assertNotEqual(refused.name, "NoReply")
        self.assertIsNone(self.provider.poll(), self.world.logged())
        self.assertEqual(self.client.value(self.client.create({"z": "1"}, b"fine")), b"fine")

    def test_a_client_that_expects_no_reply_gets_none(self):
        message = self.client.message(ROOT, SERVICE, "ReadAlias", "s", "default")
        message.header.flags |= MessageFlag.no_reply_expected
        self.client.connection.send(message)
        self.client.call(ROOT, SERVICE, "ReadAlias", "s", "default")

    def test_one_clients_flood_does_not_keep_another_from_its_token(self):
        path = self.client.create({"a": "1"}, b"token")
        other = self.connect()
        other.open_session()
        properties = {f"{ITEM}.Attributes": ("a{ss}", {"flood": "1"})}
        for _ in range(200):
            message = other.message(LOGIN, COLLECTION, "CreateItem", "a{sv}(oayays)b", properties,
                                    other.secret(b"x" * 100000), False)
            other.connection.send(message)
        self.assertEqual(self.client.value(path), b"token")
        # The flood's client drops its calls: what was refused is LimitsExceeded, what was taken is stored.
        replies = other.replies(200)
        refused = [reply for reply in replies if reply.header.message_type == MessageType.error]
        self.assertTrue(all(reply.header.fields[HeaderFields.error_name].endswith("LimitsExceeded") for reply in refused))
        self.assertEqual(len(self.client.search({"flood": "1"})[0]), 200 - len(refused))


    def test_a_flood_of_searches_does_not_keep_another_from_its_token(self):
        """Calls of clients have their turns: 4 000 calls of one client stand before the other's, which is answered first."""
        paths = [self.client.create({"a": "1", "number": str(number)}, b"token") for number in range(20)]
        other = self.connect()
        for _ in range(4000):
            other.connection.send(other.message(ROOT, SERVICE, "SearchItems", "a{ss}", {}))
        self.assertEqual(self.client.value(paths[0]), b"token")
        other.replies(4000)

    def test_threads_that_a_burst_needed_end_after_it(self):
        clients = [self.connect() for _ in range(8)]
        for client in clients:
            client.open_session()
            properties = {f"{ITEM}.Label": ("s", "label")}
            for number in range(4):
                properties[f"{ITEM}.Attributes"] = ("a{ss}", {"number": str(number)})
                client.connection.send(client.message(
                    LOGIN, COLLECTION, "CreateItem", "a{sv}(oayays)b", properties, client.secret(b"x"), False))
        for client in clients:
            for reply in client.replies(4):
                self.assertEqual(reply.header.message_type, MessageType.method_return)
        wait_until(lambda: len(os.listdir(f"/proc/{self.provider.pid}/task")) <= 3, "the threads' end")
        self.assertEqual(len(self.client.search({"number": "1"})[0]), 8)

    def test_arguments_beyond_8_mib_are_refused(self):
        """An array of D-Bus has at most 64 MiB."""
        long = {f"{number:04}": "x" * 16384 for number in range(600)}
        self.refused("LimitsExceeded", self.client.call, ROOT, SERVICE, "SearchItems", "a{ss}", long)
        self.refused("LimitsExceeded", self.client.call, ROOT, SERVICE, "Unlock", "ao", [LOGIN] * 300000)
        self.refused("LimitsExceeded", self.client.create, {"a": "1"}, b"x" * (63 << 20))
        self.assertEqual(self.client.search({}), ([], []))

    def test_secrets_beyond_16_mib_are_too_many_for_one_answer(self):
        paths = [self.client.create({"number": str(number)}, b"x" * (1 << 20)) for number in range(17)]
        self.assertEqual(len(self.client.secrets(paths[:16] * 3)), 16)
        with self.assertRaises(Refused) as caught:
            self.client.secrets(paths)
        self.assertIn("LimitsExceeded", str(caught.exception))
        self.assertIn("the secrets are longer than 16777216 bytes together", str(caught.exception))

    def test_the_session_collection_is_full_at_16_mib(self):
        session = f"{ROOT}/collection/session"
        paths = [self.client.create({"n": str(n)}, b"x" * (1 << 20), collection=session) for n in range(16)]
        with self.assertRaises(Refused) as caught:
            self.client.create({"n": "16"}, b"x", collection=session)
        self.assertIn("LimitsExceeded: ('the collection session is full',)", str(caught.exception))
        self.client.call(paths[0], ITEM, "SetSecret", "(oayays)", self.client.secret(b"y" * (1 << 20)))
        self.client.call(paths[0], ITEM, "Delete")
        self.client.create({"n": "16"}, b"x", collection=session)

    def test_ten_thousand_sessions_of_a_hundred_and_sixty_clients(self):
        path = self.client.create({"a": "1"}, b"token")
        for _ in range(160):
            client = Client(self.world.address)
            for _ in range(64):
                client.connection.send(client.message(ROOT, SERVICE, "OpenSession", "sv", "plain", ("s", "")))
            sessions = {reply.body[1] for reply in client.replies(64)}
            self.assertEqual(len(sessions), 64)
            self.refused("LimitsExceeded", client.open_session)
            client.close()
        self.assertEqual(self.client.value(path), b"token")

    def test_a_client_that_begins_sessions_all_at_once_gets_64(self):
        for _ in range(100):
            self.client.connection.send(self.client.message(
                ROOT, SERVICE, "OpenSession", "sv", "dh-ietf1024-sha256-aes128-cbc-pkcs7", ("ay", b"\x7f" * 128)))
        replies = self.client.replies(100)
        self.assertEqual(sum(reply.header.message_type == MessageType.error for reply in replies), 36)


class Fuzzed(Case):
    """Calls of random types. The bus passes on nothing that is not well-formed, so values are random, not bytes."""

    OBJECTS = {
        ROOT: (SERVICE, ("OpenSession", "CreateCollection", "SearchItems", "Unlock", "Lock", "GetSecrets", "ReadAlias", "SetAlias")),
        LOGIN: (COLLECTION, ("Delete", "SearchItems", "CreateItem")), f"{ROOT}/aliases/default": (COLLECTION, ("CreateItem",)),
        f"{LOGIN}/{'0' * 32}": (ITEM, ("Delete", "GetSecret", "SetSecret")), f"{ROOT}/session/x": (SESSION, ("Close",)),
        f"{ROOT}/prompt/x": (PROMPT, ("Prompt", "Dismiss")), f"{ROOT}/collection": (INTROSPECTABLE, ("Introspect",)),
        "/org/tokenkeep/SecretService1": ("org.tokenkeep.SecretService1", ("Unlock", "Lock")),
        "/org/freedesktop/portal/desktop": ("org.freedesktop.impl.portal.Secret", ("RetrieveSecret",))}
    TRUE_SIGNATURES = {
        "OpenSession": "sv", "CreateCollection": "a{sv}s", "SearchItems": "a{ss}", "Unlock": "ao", "Lock": "ao", "GetSecrets": "aoo",
        "ReadAlias": "s", "SetAlias": "so", "CreateItem": "a{sv}(oayays)b", "GetSecret": "o", "SetSecret": "(oayays)",
        "Get": "ss", "GetAll": "s", "Set": "ssv", "Prompt": "s"}

    def type(self, depth):
        simple = self.chance.choice("ybnqiuxtdsog" + "ssoo")
        kind = self.chance.random() if depth else 0
        if kind < 0.5:
            return simple
        if kind < 0.65:
            return "a" + self.type(depth - 1)
        if kind < 0.75:
            return "a{s" + self.type(depth - 1) + "}"
        if kind < 0.9:
            return "(" + "".join(self.type(depth - 1) for _ in range(self.chance.randrange(1, 4))) + ")"
        return "v"

    def value(self, signature, depth=3):
        """A value of the first type of a signature, and the rest of the signature."""
        chance, first, rest = self.chance, signature[0], signature[1:]
        if first == "a":
            inner = self.end(rest)
            if rest.startswith("{"):
                found = {self.value(rest[1], depth)[0]: self.value(rest[2:inner - 1], depth)[0] for _ in range(chance.randrange(4))}
            elif rest.startswith("y"):
                found = chance.randbytes(chance.choice([0, 1, 16, 128, 129, 3000]))
            else:
                found = [self.value(rest[:inner], depth)[0] for _ in range(chance.choice([0, 1, 2, 40]))]
            return found, rest[inner:]
        if first == "(":
            values = []
            while not rest.startswith(")"):
                value, rest = self.value(rest, depth)
                values.append(value)
            return tuple(values), rest[1:]
        if first == "v":
            inner = self.type(max(depth - 1, 0))
            return (inner, self.value(inner, max(depth - 1, 0))[0]), rest
        return self.simple(first), rest

    def simple(self, letter):
        chance = self.chance
        if letter == "s":
            known = [f"{ITEM}.Label", f"{ITEM}.Attributes", "plain", "default", ITEM, COLLECTION, SERVICE, "Locked", "Label"]
            return chance.choice(["", "a", "ä\n\x7f", "x" * 300, *known])
        if letter == "o":
            return chance.choice(["/", "/x", *self.objects, f"{ROOT}/aliases/session", self.client.session])
        if letter == "g":
            return chance.choice(["", "s", "a{sv}"])
        if letter == "b":
            return chance.random() < 0.5
        if letter == "d":
            return chance.random()
        bits = {"y": 8, "n": 15, "q": 16, "i": 31, "u": 32, "x": 63, "t": 64}[letter]
        return chance.choice([0, 1, 2 ** bits - 1])

    @staticmethod
    def end(signature):
        """The length of the first type."""
        depth = 0
        for place, letter in enumerate(signature):
            depth += letter in "({"
            depth -= letter in ")}"
            if depth == 0 and letter != "a":
                return place + 1
        raise AssertionError(signature)

    def send(self, client):
        path = self.chance.choice(list(self.objects))
        interface, members = self.objects[path]
        if self.chance.random() < 0.3:
            interface, members = PROPERTIES, ("Get", "GetAll", "Set")
        member = self.chance.choice(members)
        signature = self.TRUE_SIGNATURES.get(member, "")
        if self.chance.random() < 0.3:
            signature = "".join(self.type(3) for _ in range(self.chance.randrange(4)))
        body, rest = [], signature
        while rest:
            value, rest = self.value(rest)
            body.append(value)
        client.connection.send(client.message(path, interface, member, signature, *body))

    def make_objects(self, client):
        """Objects that the calls find, of which they may delete some."""
        made, _ = client.call(ROOT, SERVICE, "CreateCollection", "a{sv}s", {f"{COLLECTION}.Label": ("s", "fuzz")}, "")
        paths = [client.create({"fuzz": "1"}, b"x", collection=where) for where in (LOGIN, made, f"{ROOT}/collection/session")]
        self.objects = {**self.OBJECTS, made: self.OBJECTS[LOGIN], **{path: self.OBJECTS[f"{LOGIN}/{'0' * 32}"] for path in paths}}
        for path in client.get(ROOT, SERVICE, "Collections"):
            if path not in (LOGIN, made, f"{ROOT}/collection/session"):
                client.call(path, COLLECTION, "Delete")

    def test_every_call_is_answered_and_another_client_served(self):
        self.chance = random.Random(int(os.environ.get("SEED", "1")))
        path = self.client.create({"service": "token", "username": "u"}, b"token")
        self.client.open_session()
        other = self.connect()
        for count in range(int(os.environ.get("MESSAGES", "2000")) // 50):
            if count % 20 == 0:
                self.make_objects(other)
            for _ in range(50):
                self.send(other)
            self.client.get(path, ITEM, "Label")
            for reply in other.replies(50):
                if reply.header.message_type == MessageType.error:
                    self.assertRegex(reply.header.fields[HeaderFields.error_name], r"^org\.freedesktop\.(DBus|Secret)\.Error\.")
            if self.client.get(LOGIN, COLLECTION, "Locked"):
                self.client.call(ROOT, SERVICE, "Unlock", "ao", [LOGIN])
            self.assertEqual(self.client.value(path), b"token")
        self.assertIsNone(self.provider.poll(), self.world.logged())


class Portal(Case):
    def retrieve(self, client, program, handle="/org/freedesktop/portal/desktop/request/1/t"):
        ours, theirs = socket.socketpair()
        with ours:
            with theirs:
                answer = client.call(
                    "/org/freedesktop/portal/desktop", "org.freedesktop.impl.portal.Secret", "RetrieveSecret", "osha{sv}",
                    handle, program, theirs, {"handle_token": ("s", "t")})
            found = b""
            while part := ours.recv(100):
                found += part
        return answer, found

    def test_each_program_keeps_its_secret(self):
        client = self.connect(fds=True)
        found = {}
        for program in ("", "org.example.A", "org.example.B"):
            answer, found[program] = self.retrieve(client, program)
            self.assertEqual(answer, (0, {}))
            self.assertEqual(len(found[program]), 64)
        self.assertEqual(len(set(found.values())), 3)
        self.world.set_password()
        self.world.stop(self.provider)
        self.world.provider()
        for program, secret in found.items():
            self.assertEqual(self.retrieve(client, program)[1], secret)
        self.assertEqual(self.client.search({}), ([], []))

    def test_a_secret_stays_with_new_keys_and_in_another_vault(self):
        client = self.connect(fds=True)
        found = {program: self.retrieve(client, program)[1] for program in ("", "org.example.A")}
        self.world.set_password()
        self.world.unlock()
        self.world.tokenkeep("password", "change", "--compromised", "--stdin", input="pw\nother\n")
        for program, secret in found.items():
            self.assertEqual(self.retrieve(client, program), ((0, {}), secret))
        export = os.path.join(self.world.home, "export")
        self.world.tokenkeep("export", export, "--stdin", input="phrase\n")
        self.world.stop(self.provider)
        self.world.environment["TOKENKEEP_VAULT"] = os.path.join(self.world.home, "second")
        self.world.tokenkeep("import", export, "--stdin", input="phrase\n")
        self.world.provider()
        for program, secret in found.items():
            self.assertEqual(self.retrieve(client, program), ((0, {}), secret))

    def test_a_locked_vault_answers_at_once(self):
        self.world.set_password()
        self.world.lock()
        self.assertEqual(self.retrieve(self.connect(fds=True), "org.example.A"), ((2, {}), b""))


if __name__ == "__main__":
    unittest.main()
