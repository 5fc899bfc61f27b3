"""The interface of the Secret Service, call by call."""
import json
import unittest

from client import (
    COLLECTION, DEFAULT, INTROSPECTABLE, ITEM, LOGIN, PROMPT, PROPERTIES, ROOT, SERVICE, SESSION, Client, Refused)
from jeepney import HeaderFields, MessageType
from patience import wait_until
from world import World


class Case(unittest.TestCase):
    def setUp(self):
        self.world = World()
        self.addCleanup(self.world.close)
        self.provider = self.world.provider()
        self.client = self.connect()

    def connect(self, **options):
        client = Client(self.world.address, **options)
        self.addCleanup(client.close)
        return client

    def refused(self, name, call, *arguments, **options):
        with self.assertRaises(Refused) as caught:
            call(*arguments, **options)
        self.assertEqual(caught.exception.name, name, str(caught.exception))


class Items(Case):
    def test_an_item_is_stored_found_and_deleted(self):
        path = self.client.create({"a": "1", "b": "2"}, b"secret", label="My label")
        self.assertRegex(path, LOGIN + "/[0-9a-f]{32}$")
        self.assertEqual(self.client.search({"a": "1"}), ([path], []))
        self.assertEqual(self.client.search({"a": "2"}), ([], []))
        self.assertEqual(self.client.value(path), b"secret")
        self.assertEqual(self.client.secrets([path, LOGIN + "/missing"]), {path: b"secret"})
        found = self.client.get_all(path, ITEM)
        self.assertEqual((found["Label"], found["Attributes"], found["Locked"]), ("My label", {"a": "1", "b": "2"}, False))
        self.assertEqual(self.client.call(path, ITEM, "Delete"), "/")
        self.assertEqual(self.client.search({"a": "1"}), ([], []))
        self.refused("NoSuchObject", self.client.value, path)

    def test_replace_means_equal_attributes(self):
        first = self.client.create({"a": "1"}, b"1")
        other = self.client.create({"a": "1", "b": "2"}, b"2")
        self.assertNotEqual(first, other)
        self.assertEqual(self.client.create({"a": "1"}, b"3"), first)
        self.assertEqual(self.client.value(first), b"3")
        self.assertEqual(self.client.value(other), b"2")
        self.assertNotEqual(self.client.create({"a": "1"}, b"4", replace=False), first)

    def test_two_spellings_of_one_text_are_two_attributes(self):
        composed, decomposed = "\u00e9", "e\u0301"
        for attributes in (lambda text: {"a": text}, lambda text: {text: "1"}, lambda text: {"service": text, "username": "u"}):
            first = self.client.create(attributes(composed), b"first")
            second = self.client.create(attributes(decomposed), b"second")
            self.assertNotEqual(first, second)
            self.assertEqual(self.client.secrets([first, second]), {first: b"first", second: b"second"})
            self.assertEqual(self.client.search(attributes(composed)), ([first], []))
            self.assertEqual(self.client.search(attributes(decomposed)), ([second], []))
            self.assertEqual(self.client.get(second, ITEM, "Attributes"), attributes(decomposed))

    def test_another_spelling_of_an_attribute_is_a_change(self):
        texts = ["\u00e9", "e\u0301"]
        path = self.client.create({"a": texts[0]}, b"1")
        with self.client.signals(interface=PROPERTIES, path=path) as queue:
            # More than once: the item's date, which changes too, has seconds.
            for text in (texts[1], texts[0], texts[1]):
                self.client.set(path, ITEM, "Attributes", "a{ss}", {"a": text})
                self.assertEqual(self.client.search({"a": text}), ([path], []))
                (_, _, (_, changed, _)), = self.client.seen_signals(queue)
                self.assertEqual(changed["Attributes"], ("a{ss}", {"a": text}))

    def test_the_newest_item_is_found_first(self):
        paths = [self.client.create({"a": "1", "number": str(number)}, b"") for number in range(5)]
        self.assertEqual(self.client.search({"a": "1"})[0], paths[::-1])
        self.client.call(paths[1], ITEM, "SetSecret", "(oayays)", self.client.secret(b"2"))
        paths.append(paths.pop(1))
        self.assertEqual(self.client.search({"a": "1"})[0], paths[::-1])
        self.restart()
        self.assertEqual(self.client.search({"a": "1"})[0], paths[::-1])

    def test_any_bytes_and_content_types_are_kept(self):
        for number, (value, content_type) in enumerate([
                (b"", ""), (b"\0\n\xff", "application/octet-stream"), (b"x" * (1 << 20), "text/plain; charset=utf8"),
                ("ä\n".encode(), "plain/text")]):
            path = self.client.create({"number": str(number)}, value, content_type=content_type)
            session, _, found, kept = self.client.call(path, ITEM, "GetSecret", "o", self.client.session)
            self.assertEqual((bytes(found), kept, session), (value, content_type, self.client.session))

    def test_labels_and_attributes_are_kept_as_given(self):
        attributes = {"Ä name": "line\nline", "": "", "x" * 255: "y" * 16384}
        path = self.client.create(attributes, b"1", label="a\nlabel\t")
        self.restart()
        found = self.client.get_all(path, ITEM)
        self.assertEqual((found["Label"], found["Attributes"]), ("a\nlabel\t", attributes))

    def restart(self):
        self.world.stop(self.provider)
        self.provider = self.world.provider()
        self.client = self.connect()

    def test_a_secret_beyond_the_limit_is_refused(self):
        self.refused("LimitsExceeded", self.client.create, {"a": "1"}, b"x" * ((1 << 20) + 1))
        self.refused("InvalidArgs", self.client.create, {"x" * 256: "1"}, b"x")
        self.refused("InvalidArgs", self.client.create, {str(n): "" for n in range(257)}, b"x")

    def test_properties_can_be_set(self):
        path = self.client.create({"a": "1"}, b"1")
        self.client.set(path, ITEM, "Label", "s", "other")
        self.client.set(path, ITEM, "Attributes", "a{ss}", {"b": "2"})
        self.assertEqual(self.client.search({"b": "2"}), ([path], []))
        self.assertEqual(self.client.search({"a": "1"}), ([], []))
        self.assertEqual(self.client.get(path, ITEM, "Label"), "other")
        self.refused("PropertyReadOnly", self.client.set, path, ITEM, "Locked", "b", False)
        self.refused("UnknownProperty", self.client.set, path, ITEM, "Nothing", "b", False)
        self.refused("InvalidArgs", self.client.set, path, ITEM, "Label", "b", False)

    def test_properties_of_the_service_sessions_and_prompts(self):
        self.refused("PropertyReadOnly", self.client.set, ROOT, SERVICE, "Collections", "ao", [])
        self.refused("UnknownProperty", self.client.set, ROOT, SERVICE, "Nothing", "ao", [])
        self.refused("UnknownInterface", self.client.set, ROOT, ITEM, "Collections", "ao", [])
        self.assertEqual(self.client.get_all(self.client.open_session(), SESSION), {})
        self.refused("NoSession", self.client.get_all, f"{ROOT}/session/x", SESSION)
        self.refused("UnknownObject", self.client.get_all, f"{ROOT}/prompt/x", PROMPT)

    def test_a_path_stays_when_attributes_change_the_name(self):
        path = self.client.create({"a": "1"}, b"value")
        self.client.set(path, ITEM, "Attributes", "a{ss}", {"service": "s", "username": "u"})
        self.assertEqual(self.world.tokenkeep("load", "s", "u").stdout.strip(), "value")
        self.assertEqual(self.client.search({"service": "s"}), ([path], []))
        self.client.set(path, ITEM, "Attributes", "a{ss}", {"c": "3"})
        self.assertEqual(self.world.tokenkeep("load", "s", "u", check=False).returncode, 1)
        self.assertEqual(self.client.search({}), ([path], []))
        self.assertEqual(self.client.value(path), b"value")

    def test_of_two_moves_to_one_name_at_once_one_is_made(self):
        # Until the moves met each other.
        wait_until(self.move_at_once, "a refused move")

    def move_at_once(self):
        """Gives four items the same service and username. Returns whether any was refused."""
        paths = [self.client.create({"a": str(number)}, str(number).encode()) for number in range(4)]
        for path in paths:
            self.client.connection.send(self.client.message(
                path, PROPERTIES, "Set", "ssv", ITEM, "Attributes", ("a{ss}", {"service": "s", "username": "u"})))
        errors = [reply for reply in self.client.replies(len(paths)) if reply.header.message_type == MessageType.error]
        for error in errors:
            self.assertEqual(error.header.fields[HeaderFields.error_name], "org.freedesktop.Secret.Error.AlreadyExists")
        kept = self.client.search({})[0]
        found = [self.client.get(path, ITEM, "Attributes") for path in kept]
        self.assertEqual((len([one for one in found if "a" in one]), len([one for one in found if "service" in one])), (len(errors), 1))
        for path in kept:
            self.client.call(path, ITEM, "Delete")
        return bool(errors)


class Sharing(Case):
    def test_what_a_client_stores_every_program_loads(self):
        self.client.create({"service": "gh:github.com", "username": "ann"}, b"token")
        self.assertEqual(self.world.tokenkeep("load", "gh:github.com", "ann").stdout.strip(), "token")

    def test_what_a_program_saves_a_client_finds(self):
        self.world.tokenkeep("save", "s", "u", input="token")
        (path,), _ = self.client.search({"service": "s", "username": "u"})
        self.assertEqual(self.client.value(path), b"token")
        self.world.tokenkeep("save", "s", "u", input="newer")
        self.assertEqual(self.client.value(path), b"newer")
        self.world.tokenkeep("clear", "s", "u")
        self.assertEqual(self.client.search({"service": "s"}), ([], []))

    def test_items_that_leave_one_name_keep_their_paths(self):
        """The next item of the name hides none of those before."""
        kept = {}
        for number in range(4):
            self.world.tokenkeep("save", "s", "u", input=f"value {number}")
            (path,), _ = self.client.search({"service": "s", "username": "u"})
            self.client.set(path, ITEM, "Attributes", "a{ss}", {"number": str(number)})
            kept[path] = b"value %d" % number
        self.world.tokenkeep("save", "s", "u", input="last")
        (path,), _ = self.client.search({"service": "s", "username": "u"})
        kept[path] = b"last"
        for _ in range(2):
            self.assertEqual(self.client.secrets(list(kept)), kept)
            self.assertEqual(len(self.client.search({})[0]), 5)
            self.world.stop(self.provider)
            self.provider = self.world.provider()
            self.client.open_session()

    def test_a_save_over_a_clients_item_keeps_its_path_and_attributes(self):
        attributes = {"service": "s", "username": "u", "application": "Python keyring library"}
        path = self.client.create(attributes, b"1")
        self.world.tokenkeep("save", "s", "u", input="2")
        self.assertEqual(self.client.search(attributes), ([path], []))
        self.assertEqual(self.client.value(path), b"2")

    def test_one_pair_is_one_item_in_both_orders(self):
        short, long = {"service": "s", "username": "u"}, {"service": "s", "username": "u", "application": "p"}
        for first, second in ((short, long), (long, short)):
            path = self.client.create(first, b"1")
            self.assertEqual(self.client.create(second, b"2"), path)
            self.assertEqual(self.client.search(short), ([path], []))
            self.assertEqual(self.client.value(path), b"2")
            self.client.call(path, ITEM, "Delete")
            self.assertEqual(self.world.tokenkeep("load", "s", "u", check=False).returncode, 1)

    def test_another_namespace_does_not_appear(self):
        self.world.tokenkeep("save", "--namespace", "n", "s", "u", input="x")
        self.assertEqual(self.client.search({}), ([], []))

    def test_no_write_stays_pending_for_the_vault_itself(self):
        self.world.tokenkeep("save", "s", "u", input="x")
        self.client.create({"service": "s2", "username": "u"}, b"1")
        self.world.tokenkeep("save", "s2", "u", input="y")
        status = self.world.tokenkeep("status").stdout
        self.assertIn("it serves this vault: its items are the vault's", status)
        self.assertNotIn("pending", status)
        self.assertEqual(len(self.client.search({})[0]), 2)


    def test_what_a_client_changes_of_a_programs_item_stays(self):
        self.world.tokenkeep("save", "s", "u", "--attribute", "color=red", input="token")
        (path,), _ = self.client.search({"service": "s"})
        before = self.client.get(path, ITEM, "Attributes")
        self.assertEqual(before["tokenkeep:a:color"], "red")
        self.client.call(path, ITEM, "SetSecret", "(oayays)", self.client.secret(b"2", "text/plain; charset=utf8"))
        self.client.set(path, ITEM, "Label", "s", "two\nlines")
        self.world.stop(self.provider)
        self.world.provider()
        self.client.session = None
        found = self.client.get_all(path, ITEM)
        self.assertEqual((found["Label"], found["Attributes"]), ("two\nlines", before))
        self.assertEqual(self.client.call(path, ITEM, "GetSecret", "o", self.client.open_session())[3], "text/plain; charset=utf8")
        self.assertEqual(self.world.tokenkeep("load", "s", "u").stdout.strip(), "2")

    def test_level_flags_and_dates_stay_when_attributes_change_the_name(self):
        self.world.tokenkeep("save", "s", "u", "--level", "when-unlocked", "--attribute", "color=red", "--expires", "+1h", input="1")
        before = self.item("s")
        (path,), _ = self.client.search({"service": "s", "username": "u"})
        created = self.client.get(path, ITEM, "Created")
        self.client.set(path, ITEM, "Attributes", "a{ss}", {"other": "1"})
        self.client.set(path, ITEM, "Attributes", "a{ss}", {"service": "t", "username": "u"})
        after = self.item("t")
        for name in ("level", "flags", "expires_at", "attributes", "created_at"):
            self.assertEqual(after[name], before[name], name)
        self.assertEqual((after["level"], self.client.get(path, ITEM, "Created")), ("when-unlocked", created))

    def item(self, service):
        (item,) = json.loads(self.world.tokenkeep("list", "--json", service).stdout)["items"]
        return item

    def test_a_label_stays_when_attributes_change(self):
        path = self.client.create({"a": "1"}, b"1", label="two\nlines")
        self.client.set(path, ITEM, "Attributes", "a{ss}", {"b": "2"})
        self.assertEqual(self.client.get(path, ITEM, "Label"), "two\nlines")


class Collections(Case):
    def test_the_fixed_collections_and_their_aliases(self):
        self.assertEqual(self.client.get(ROOT, SERVICE, "Collections"), [LOGIN, f"{ROOT}/collection/session"])
        for alias, path in (("default", LOGIN), ("login", LOGIN), ("session", f"{ROOT}/collection/session"),
                            ("other", "/")):
            self.assertEqual(self.client.call(ROOT, SERVICE, "ReadAlias", "s", alias), path)
        self.client.call(ROOT, SERVICE, "SetAlias", "so", "default", LOGIN)
        self.client.call(ROOT, SERVICE, "SetAlias", "so", "default", DEFAULT)
        for path in ("/", f"{ROOT}/collection/session"):
            self.refused("NotSupported", self.client.call, ROOT, SERVICE, "SetAlias", "so", "default", path)
        self.assertIn("the alias default stays with login: python3 (pid ", self.world.logged())
        for path in (LOGIN, f"{ROOT}/collection/x", "/"):
            self.refused("NotSupported", self.client.call, ROOT, SERVICE, "SetAlias", "so", "other", path)
        self.refused("NoSuchObject", self.client.call, ROOT, SERVICE, "SetAlias", "so", "default", f"{ROOT}/collection/x")

    def test_items_answer_below_an_alias(self):
        path = self.client.create({"a": "1"}, b"1", collection=DEFAULT)
        self.assertTrue(path.startswith(LOGIN))
        alias = path.replace(LOGIN, DEFAULT)
        self.assertEqual(self.client.value(alias), b"1")
        self.assertEqual(self.client.get(alias, ITEM, "Label"), "label")
        self.assertEqual(self.client.secrets([alias]), {alias: b"1"})
        self.assertEqual(self.client.call(ROOT, SERVICE, "Unlock", "ao", [DEFAULT, alias, DEFAULT, "/x"]),
                         ([DEFAULT, alias], "/"))
        self.client.call(alias, ITEM, "Delete")

    def test_a_collection_is_made_filled_and_deleted(self):
        make = lambda label, alias="": self.client.call(  # noqa: E731
            ROOT, SERVICE, "CreateCollection", "a{sv}s", {f"{COLLECTION}.Label": ("s", label)}, alias)
        first, prompt = make("My things!")
        self.assertEqual((first, prompt), (f"{ROOT}/collection/My_20things_21", "/"))
        second, _ = make("My things!")
        self.assertNotEqual(first, second)
        self.assertEqual(make("x", "default"), (LOGIN, "/"))
        self.refused("NotSupported", make, "x", "other")
        path = self.client.create({"service": "s", "username": "u"}, b"1", collection=first)
        self.assertTrue(path.startswith(first + "/"))
        self.assertEqual(self.world.tokenkeep("load", "s", "u", check=False).returncode, 1)
        self.assertEqual(self.client.get(first, COLLECTION, "Label"), "My things!")
        self.client.set(first, COLLECTION, "Label", "s", "Other")
        self.world.stop(self.provider)
        self.world.provider()
        self.assertEqual(self.client.get_all(first, COLLECTION)["Label"], "Other")
        self.assertEqual(self.client.get(first, COLLECTION, "Items"), [path])
        self.assertEqual(self.client.call(first, COLLECTION, "Delete"), "/")
        self.refused("NoSuchObject", self.client.get, first, COLLECTION, "Label")
        self.assertEqual(self.client.search({}), ([], []))
        self.refused("NotSupported", self.client.call, LOGIN, COLLECTION, "Delete")

    def test_two_collections_of_a_long_label_that_is_not_ascii(self):
        """Each byte of such a label takes three of the path's."""
        label = "\u041c\u043e\u0438 \u0441\u0435\u043a\u0440\u0435\u0442\u044b " * 3
        paths = [self.client.call(ROOT, SERVICE, "CreateCollection", "a{sv}s", {f"{COLLECTION}.Label": ("s", label)}, "")[0]
                 for _ in range(2)]
        items = [self.client.create({"a": "1"}, b"1", collection=path) for path in paths]
        for path, item in zip(paths, items):
            self.assertEqual(self.client.get(path, COLLECTION, "Label"), label)
            self.assertEqual(self.client.get(path, COLLECTION, "Items"), [item])

    def test_the_session_collection_is_volatile(self):
        session = f"{ROOT}/collection/session"
        path = self.client.create({"a": "1"}, b"1", collection=session)
        self.assertEqual(self.client.create({"a": "1"}, b"2", collection=session), path)
        self.assertEqual(self.client.search({"a": "1"}), ([path], []))
        self.assertEqual(self.client.value(path), b"2")
        self.assertEqual(self.world.tokenkeep("list", "--namespace", "org.freedesktop.secrets").stdout, "no items\n")
        self.world.stop(self.provider)
        self.world.provider()
        self.assertEqual(self.client.search({"a": "1"}), ([], []))

    def test_introspection_names_the_objects(self):
        path = self.client.create({"a": "1"}, b"1")
        for where, word in ((ROOT, SERVICE), (f"{ROOT}/collection", '"login"'), (LOGIN, path.rsplit("/", 1)[1]),
                            (path, ITEM), (DEFAULT, COLLECTION), (f"{ROOT}/aliases", '"default"')):
            self.assertIn(word, self.client.call(where, INTROSPECTABLE, "Introspect"))
        # Programs that list a bus's objects begin at the root.
        for where, word in (("/", "org"), ("/org", "freedesktop"), ("/org/freedesktop", "secrets"), ("/org/tokenkeep", "SecretService1"),
                            (ROOT, "collection"), (ROOT, "aliases")):
            self.assertIn(f'<node name="{word}"/>', self.client.call(where, INTROSPECTABLE, "Introspect"))


class Sessions(Case):
    def test_another_algorithm_is_not_supported(self):
        self.refused("NotSupported", self.client.call, ROOT, SERVICE, "OpenSession", "sv", "rot13", ("s", ""))

    def test_a_public_key_outside_the_group_is_refused(self):
        prime = int("FFFFFFFFFFFFFFFFC90FDAA22168C234C4C6628B80DC1CD129024E088A67CC74020BBEA63B139B22514A08798E3404DD"
                    "EF9519B3CD3A431B302B0A6DF25F14374FE1356D6D51C245E485B576625E7EC6F44C42E9A637ED6B0BFF5CB6F406B7ED"
                    "EE386BFB5A899FA5AE9F24117C4B1FE649286651ECE65381FFFFFFFFFFFFFFFF", 16)
        open_session = lambda key: self.client.call(  # noqa: E731
            ROOT, SERVICE, "OpenSession", "sv", "dh-ietf1024-sha256-aes128-cbc-pkcs7", ("ay", key))
        for key in (b"", b"\0", b"\1", prime.to_bytes(128, "big"), (prime - 1).to_bytes(128, "big"), b"\2" * 129):
            self.refused("InvalidArgs", open_session, key)
        for key in (b"\2", b"\0" * 127 + b"\5", b"\x7f" * 128):
            (signature, ours), path = open_session(key)
            self.assertEqual((signature, len(ours)), ("ay", 128))
            self.assertTrue(path.startswith(f"{ROOT}/session/"))

    def test_a_session_is_its_clients_alone(self):
        path = self.client.create({"a": "1"}, b"1")
        other = self.connect()
        self.refused("AccessDenied", other.call, path, ITEM, "GetSecret", "o", self.client.session)
        self.refused("NoSession", other.call, ROOT, SERVICE, "GetSecrets", "aoo", [path], self.client.session)
        self.refused("AccessDenied", other.call, self.client.session, SESSION, "Close")
        self.client.call(self.client.session, SESSION, "Close")
        self.refused("NoSession", self.client.value, path)

    def test_a_session_is_not_valid_after_a_restart(self):
        path = self.client.create({"a": "1"}, b"1")
        self.world.stop(self.provider)
        self.world.provider()
        self.refused("NoSession", self.client.value, path)

    def test_a_client_has_at_most_64_sessions(self):
        for _ in range(64):
            self.client.open_session()
        self.refused("LimitsExceeded", self.client.open_session)
        self.assertTrue(self.connect().open_session())


class Signals(Case):
    def test_each_change_is_signalled_once(self):
        with self.client.signals(interface=COLLECTION, path=LOGIN) as queue:
            path = self.client.create({"a": "1"}, b"1")
            self.assertEqual(self.client.seen_signals(queue), [(LOGIN, "ItemCreated", (path,))])
            self.client.call(path, ITEM, "SetSecret", "(oayays)", self.client.secret(b"2"))
            self.assertEqual(self.client.seen_signals(queue), [(LOGIN, "ItemChanged", (path,))])
            self.client.set(path, ITEM, "Attributes", "a{ss}", {"service": "s", "username": "u"})
            self.assertEqual(self.client.seen_signals(queue), [(LOGIN, "ItemChanged", (path,))])
            self.client.call(path, ITEM, "Delete")
            self.assertEqual(self.client.seen_signals(queue), [(LOGIN, "ItemDeleted", (path,))])

    def test_changed_properties_are_signalled(self):
        path = self.client.create({"a": "1"}, b"1")
        work, _ = self.client.call(ROOT, SERVICE, "CreateCollection", "a{sv}s", {f"{COLLECTION}.Label": ("s", "Work")}, "")
        with self.client.signals(interface=PROPERTIES) as queue:
            self.client.set(path, ITEM, "Attributes", "a{ss}", {"xdg:schema": "org.example"})
            changed = {where: body[1] for where, _, body in self.client.seen_signals(queue) if body[0] == ITEM}
            self.assertEqual(set(changed), {path, path.replace(LOGIN, DEFAULT), path.replace(LOGIN, f"{ROOT}/aliases/login")})
            self.assertEqual(changed[path]["Type"], ("s", "org.example"))
            for where in (work, LOGIN, f"{ROOT}/collection/session"):
                self.client.set(where, COLLECTION, "Label", "s", "\u00e4")
                seen = [body for path, _, body in self.client.seen_signals(queue) if path == where]
                self.assertEqual([(body[0], body[1]["Label"], body[2]) for body in seen], [(COLLECTION, ("s", "\u00e4"), [])])

    def test_changes_of_other_programs_are_signalled_without_a_call(self):
        self.client.search({})
        with self.client.signals(interface=COLLECTION, path=LOGIN) as queue:
            self.world.tokenkeep("save", "s", "u", input="x")
            _, member, (path,) = self.client.next_signal(queue)
            self.assertEqual(member, "ItemCreated")
            self.world.tokenkeep("save", "s", "u", input="y")
            self.assertEqual(self.client.next_signal(queue), (LOGIN, "ItemChanged", (path,)))
            self.world.tokenkeep("clear", "s", "u")
            self.assertEqual(self.client.next_signal(queue), (LOGIN, "ItemDeleted", (path,)))
            self.assertEqual(self.client.seen_signals(queue), [])


class Refusals(Case):
    def test_unknown_objects_methods_and_arguments(self):
        self.client.open_session()
        for path, interface, member, signature, body, name in (
                (f"{ROOT}/nothing", SERVICE, "ReadAlias", "s", ["x"], "UnknownObject"),
                (ROOT, SERVICE, "Nothing", "", [], "UnknownMethod"),
                (ROOT, "org.gnome.keyring.InternalUnsupportedGuiltRiddenInterface", "ChangeWithPrompt", "o", [LOGIN],
                 "UnknownMethod"),
                (ROOT, "org.freedesktop.DBus.ObjectManager", "GetManagedObjects", "", [], "UnknownMethod"),
                (ROOT, SERVICE, "ReadAlias", "i", [1], "InvalidArgs"),
                (LOGIN, COLLECTION, "CreateItem", "a{sv}(oayays)b", [{f"{ITEM}.Type": ("i", 1)}, self.client.secret(b""), False],
                 "InvalidArgs"),
                (ROOT, PROPERTIES, "Get", "ss", [SERVICE, "Nothing"], "UnknownProperty"),
                (LOGIN, PROPERTIES, "Get", "ss", [COLLECTION, "Nothing"], "UnknownProperty"),
                (LOGIN, PROPERTIES, "Get", "ss", [ITEM, "Label"], "UnknownInterface"),
                (LOGIN, PROPERTIES, "Set", "ssv", [COLLECTION, "Items", ("ao", [])], "PropertyReadOnly"),
                (self.client.session, PROPERTIES, "Get", "ss", [SESSION, "Nothing"], "UnknownProperty"),
                (f"{ROOT}/session/x", PROPERTIES, "Get", "ss", [SESSION, "Nothing"], "NoSession"),
                (f"{ROOT}/prompt/x", PROPERTIES, "Get", "ss", [PROMPT, "Nothing"], "UnknownObject"),
                (ROOT, SERVICE, "SearchItems", "a{sv}", [{}], "InvalidArgs"),
                (f"{ROOT}/collection/x", COLLECTION, "SearchItems", "a{ss}", [{}], "NoSuchObject"),
                (f"{ROOT}/prompt/x", PROMPT, "Dismiss", "", [], "UnknownObject"),
                (f"{ROOT}/prompt/x", INTROSPECTABLE, "Introspect", "", [], "UnknownObject"),
                (f"{ROOT}/session/x", INTROSPECTABLE, "Introspect", "", [], "NoSession"),
                (f"{ROOT}/session/x", SESSION, "Close", "", [], "NoSession")):
            self.refused(name, self.client.call, path, interface, member, signature, *body)


if __name__ == "__main__":
    unittest.main()
