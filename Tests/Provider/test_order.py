"""Calls of one client that are sent without waiting for the replies: each pair on one item or collection keeps its order."""
import fcntl
import os
import struct

from client import COLLECTION, ITEM, LOGIN, PROPERTIES, ROOT, SERVICE
from jeepney import DBusErrorResponse, HeaderFields, MessageType
from patience import wait_until
from test_interface import Case

REPETITIONS = int(os.environ.get("REPETITIONS", "30"))
F_OFD_SETLK = 37
# The bytes of a vault's lock file that stand for items.
ITEMS = 1 << 62
PAIR = {"service": "s", "username": "u"}


class Ordered(Case):
    def setUp(self):
        super().setUp()
        self.client.open_session()

    # The calls, as messages.
    def create(self, attributes, value, replace=True, collection=LOGIN):
        properties = {f"{ITEM}.Label": ("s", "label"), f"{ITEM}.Attributes": ("a{ss}", attributes)}
        return (collection, COLLECTION, "CreateItem", "a{sv}(oayays)b", properties, self.client.secret(value), replace)

    def set_secret(self, path, value):
        return (path, ITEM, "SetSecret", "(oayays)", self.client.secret(value))

    def get_secret(self, path):
        return (path, ITEM, "GetSecret", "o", self.client.session)

    def get_secrets(self, *paths):
        return (ROOT, SERVICE, "GetSecrets", "aoo", list(paths), self.client.session)

    def set_property(self, path, interface, name, signature, value):
        return (path, PROPERTIES, "Set", "ssv", interface, name, (signature, value))

    def set_attributes(self, path, attributes):
        return self.set_property(path, ITEM, "Attributes", "a{ss}", attributes)

    def set_label(self, path, label):
        return self.set_property(path, ITEM, "Label", "s", label)

    def search(self, attributes):
        return (ROOT, SERVICE, "SearchItems", "a{ss}", attributes)

    def search_login(self, attributes):
        return (LOGIN, COLLECTION, "SearchItems", "a{ss}", attributes)

    def items(self, collection=LOGIN):
        return (collection, PROPERTIES, "Get", "ss", COLLECTION, "Items")

    def create_collection(self, label):
        return (ROOT, SERVICE, "CreateCollection", "a{sv}s", {f"{COLLECTION}.Label": ("s", label)}, "")

    @staticmethod
    def get(path, interface, name):
        return (path, PROPERTIES, "Get", "ss", interface, name)

    @staticmethod
    def delete(path, interface=ITEM):
        return (path, interface, "Delete")

    def send(self, *calls):
        """Sends the calls at once. Returns their serial numbers."""
        serials = [next(self.client.connection.outgoing_serial) for _ in calls]
        for serial, call in zip(serials, calls):
            self.client.connection.send(self.client.message(*call), serial=serial)
        return serials

    def results(self, serials):
        """The results of calls that were sent, and of no others: a reply's values, or the last part of an error's name."""
        found = {reply.header.fields[HeaderFields.reply_serial]: self.result(reply) for reply in self.client.replies(len(serials))}
        self.assertEqual(set(found), set(serials))
        return [found[serial] for serial in serials]

    def together(self, *calls):
        return self.results(self.send(*calls))

    @staticmethod
    def result(reply):
        if reply.header.message_type == MessageType.error:
            return DBusErrorResponse(reply).name.rsplit(".", 1)[-1]
        return reply.body[0] if len(reply.body) == 1 else reply.body

    def each(self, body):
        for number in range(REPETITIONS):
            with self.subTest(number=number):
                body(number)


class Pairs(Ordered):
    def test_a_secret_is_set_and_read(self):
        path, other = self.client.create({"a": "1"}, b"0"), self.client.create({"b": "1"}, b"other")

        def pair(number):
            value = b"%d" % number
            _, secret = self.together(self.set_secret(path, value + b"a"), self.get_secret(path))
            self.assertEqual(secret[2], value + b"a")
            _, secrets = self.together(self.set_secret(path, value + b"b"), self.get_secrets(path))
            self.assertEqual(secrets[path][2], value + b"b")
            _, secrets = self.together(self.set_secret(path, value + b"c"), self.get_secrets(other, path))
            self.assertEqual((secrets[path][2], secrets[other][2]), (value + b"c", b"other"))
            secrets, _ = self.together(self.get_secrets(other, path), self.set_secret(path, value + b"d"))
            self.assertEqual(secrets[path][2], value + b"c")
            *_, secrets = self.together(
                self.set_secret(path, value + b"e"), self.set_secret(path, value + b"f"), self.get_secrets(path, other))
            self.assertEqual(secrets[path][2], value + b"f")
        self.each(pair)

    def test_an_item_is_created_and_found(self):
        def pair(number):
            wanted = {"number": str(number)}
            (path, _), found = self.together(self.create(wanted, b"1"), self.search(wanted))
            self.assertEqual(found, ([path], []))
            wanted["second"] = "x"
            (path, _), found = self.together(self.create(wanted, b"1"), self.search_login(wanted))
            self.assertEqual(found, [path])
            wanted["third"] = "x"
            found, (path, _), items = self.together(self.search(wanted), self.create(wanted, b"1"), self.items())
            self.assertEqual(found, ([], []))
            self.assertIn(path, items[1])
        self.each(pair)

    def test_an_item_is_replaced_and_read(self):
        paths, other = [self.client.create({"a": "1"}, b"0")], self.client.create({"b": "1"}, b"other")

        def pair(number):
            path, value = paths[-1], b"%d" % number
            (made, _), secrets = self.together(self.create({"a": "1"}, value), self.get_secrets(path, other))
            self.assertEqual((made, secrets[path][2]), (path, value))
            _, _, secret = self.together(
                self.set_secret(path, b"never"), self.create({"a": "1"}, value + b"b"), self.get_secret(path))
            self.assertEqual(secret[2], value + b"b")
            _, (made, _), refused = self.together(
                self.delete(path), self.create({"a": "1"}, b"c"), self.set_secret(path, b"d"))
            self.assertNotEqual(made, path)
            self.assertEqual((refused, self.client.value(made)), ("NoSuchObject", b"c"))
            paths.append(made)
        self.each(pair)

    def test_two_items_of_equal_attributes(self):
        def pair(number):
            wanted = {"number": str(number)}
            (first, _), (second, _) = self.together(self.create(wanted, b"1"), self.create(wanted, b"2"))
            self.assertEqual((first, self.client.value(first)), (second, b"2"))
            (third, _), (fourth, _) = self.together(
                self.create(wanted, b"3", replace=False), self.create(wanted, b"4", replace=False))
            self.assertEqual(self.client.search(wanted), ([fourth, third, first], []))
            self.assertEqual([self.client.value(path) for path in (first, third, fourth)], [b"2", b"3", b"4"])
        self.each(pair)

    def test_the_item_of_one_service_and_user(self):
        def pair(number):
            value = b"%d" % number
            (path, _), (again, _), found = self.together(self.create(PAIR, b"first"), self.create(PAIR, value), self.search(PAIR))
            self.assertEqual((again, found, self.client.value(path)), (path, ([path], []), value))
            _, refused, found = self.together(self.delete(path), self.get_secret(path), self.search(PAIR))
            self.assertEqual((refused, found), ("NoSuchObject", ([], [])))
        self.each(pair)

    def test_an_item_is_deleted_and_looked_for(self):
        def pair(number):
            wanted = {"number": str(number)}
            path = self.client.create(wanted, b"1")
            self.assertEqual(self.together(self.delete(path), self.search(wanted))[1], ([], []))
            path = self.client.create(wanted, b"2")
            self.assertEqual(self.together(self.delete(path), self.search_login(wanted))[1], [])
            path = self.client.create(wanted, b"3")
            self.assertEqual(self.together(self.delete(path), self.get(path, ITEM, "Label"))[1], "NoSuchObject")
            path = self.client.create(wanted, b"4")
            self.assertEqual(self.together(self.delete(path), self.get_secrets(path))[1], {})
            path = self.client.create(wanted, b"5")
            self.assertEqual(self.together(self.delete(path), self.delete(path))[1], "NoSuchObject")
            path = self.client.create(wanted, b"6")
            found, _ = self.together(self.search(wanted), self.delete(path))
            self.assertEqual(found, ([path], []))
        self.each(pair)

    def test_attributes_are_set_and_looked_for(self):
        path = self.client.create({"a": "1"}, b"1")

        def pair(number):
            new, old = {"new": str(number)}, self.client.get(path, ITEM, "Attributes")
            self.assertEqual(self.together(self.set_attributes(path, new), self.search(new))[1], ([path], []))
            self.assertEqual(self.client.search(old), ([], []))
            pairs = {"service": str(number), "username": "u"}
            _, gone, found = self.together(self.set_attributes(path, pairs), self.search(new), self.search(pairs))
            self.assertEqual((gone, found), (([], []), ([path], [])))
            attributes = self.together(self.set_attributes(path, new), self.get(path, ITEM, "Attributes"))[1]
            self.assertEqual(attributes[1], new)
            _, (made, _) = self.together(self.set_attributes(path, {"x": str(number)}), self.create(new, b"2"))
            self.assertNotEqual(made, path)
            _, (made, _) = self.together(self.set_attributes(path, {"y": str(number)}), self.create({"y": str(number)}, b"3"))
            self.assertEqual((made, self.client.value(path)), (path, b"3"))
        self.each(pair)

    def test_two_items_get_one_name(self):
        """As by a client that waits for the replies: the second replaces the first."""
        def pair(number):
            first, second = self.client.create({"a": str(number)}, b"1"), self.client.create({"b": str(number)}, b"2")
            wanted = {"service": "s", "username": str(number)}
            _, _, found = self.together(
                self.set_attributes(first, wanted), self.set_attributes(second, wanted), self.search(wanted))
            self.assertEqual((found, self.client.value(second)), (([second], []), b"2"))
        self.each(pair)

    def test_a_label_is_set_and_read(self):
        path = self.client.create({"a": "1"}, b"1")

        def pair(number):
            label = str(number)
            self.assertEqual(self.together(self.set_label(path, label), self.get(path, ITEM, "Label"))[1][1], label)
            *_, found = self.together(
                self.set_label(path, label + "a"), self.set_label(path, label + "b"),
                (path, PROPERTIES, "GetAll", "s", ITEM))
            self.assertEqual(found["Label"][1], label + "b")
        self.each(pair)

    def test_two_collections_of_one_label(self):
        def pair(number):
            label = f"label{number}"
            (first, _), (second, _) = self.together(self.create_collection(label), self.create_collection(label))
            self.assertNotEqual(first, second)
            self.assertEqual({first, second} - set(self.client.get(ROOT, SERVICE, "Collections")), set())
            _, made = self.together(self.delete(first, COLLECTION), self.create_collection(label))
            self.assertEqual(made[0], first)
        self.each(pair)

    def test_two_clients_make_collections_of_one_label(self):
        other = self.connect()

        def pair(number):
            for client in (self.client, other):
                client.connection.send(client.message(*self.create_collection(f"label{number}")))
            made = [self.result(client.replies(1)[0])[0] for client in (self.client, other)]
            self.assertEqual(len(set(made)), 2)
        self.each(pair)

    def test_a_collection_is_made_filled_read_and_deleted(self):
        def pair(number):
            path = f"{ROOT}/collection/label{number}"
            (made, _), label, (item, _), items = self.together(
                self.create_collection(f"label{number}"), self.get(path, COLLECTION, "Label"),
                self.create({"a": "1"}, b"1", collection=path), self.items(path))
            self.assertEqual((made, label[1], items[1]), (path, f"label{number}", [item]))
            label = self.set_property(path, COLLECTION, "Label", "s", "other")
            self.assertEqual(self.together(label, self.get(path, COLLECTION, "Label"))[1][1], "other")
            _, listed, found, secrets, created = self.together(
                self.delete(path, COLLECTION), self.get(ROOT, SERVICE, "Collections"), self.search({"a": "1"}),
                self.get_secrets(item), self.create({"a": "1"}, b"1", collection=path))
            self.assertNotIn(path, listed[1])
            self.assertEqual((found, secrets, created), (([], []), {}, "NoSuchObject"))
        self.each(pair)

    def test_a_lock_comes_before_what_follows(self):
        path = self.client.create({"a": "1"}, b"1")
        self.world.set_password()

        def pair(_):
            self.world.unlock()
            secret, _, refused, locked = self.together(
                self.get_secret(path), (ROOT, SERVICE, "Lock", "ao", [LOGIN]), self.get_secret(path),
                self.get(LOGIN, COLLECTION, "Locked"))
            self.assertEqual((secret[2], refused, locked[1]), (b"1", "IsLocked", True))
        for number in range(min(REPETITIONS, 5)):
            pair(number)


class Slow(Ordered):
    """A call waits for the lock of its item, which another program holds: calls on other items go on."""

    def lock(self, kind, begin, length):
        fcntl.fcntl(self.descriptor, F_OFD_SETLK, struct.pack("hhqqi4x", kind, os.SEEK_SET, begin, length, 0))

    def awaited(self):
        """The bytes of the vault's lock file for whose lock a thread waits, as in "1: -> OFDLCK ADVISORY WRITE -1 00:2a:1234 5 5"."""
        with open("/proc/locks", encoding="ascii") as file:
            lines = [line.split() for line in file]
        status = os.fstat(self.descriptor)
        file = f"{os.major(status.st_dev):02x}:{os.minor(status.st_dev):02x}:{status.st_ino}"
        return [int(words[7]) for words in lines if words[1:3] == ["->", "OFDLCK"] and words[6] == file]

    def hold_item(self, *call):
        """Sends a call, and holds the lock of its item alone. Returns the call's serial number."""
        self.descriptor = os.open(os.path.join(self.world.environment["TOKENKEEP_VAULT"], "lock"), os.O_RDWR)
        self.addCleanup(os.close, self.descriptor)
        self.lock(fcntl.F_WRLCK, 0, ITEMS)
        serial, = self.send(call)
        place, = wait_until(self.awaited, "a call that waits for its item")
        self.lock(fcntl.F_UNLCK, 0, place)
        self.lock(fcntl.F_UNLCK, place + 1, ITEMS - place - 1)
        return serial

    def test_calls_on_other_items_are_answered(self):
        slow, other = self.client.create({"a": "1"}, b"old"), self.client.create({"b": "1"}, b"other")
        waiting = [self.hold_item(*self.set_secret(slow, b"new"))]
        waiting += self.send(self.get_secrets(slow), self.set_label(slow, "new"))
        # The client's calls on other items overtake those that wait.
        secret, _, again, (made, _), _ = self.together(
            self.get_secret(other), self.set_secret(other, b"changed"), self.get_secrets(other),
            self.create({"c": "1"}, b"3"), self.set_label(other, "label"))
        self.assertEqual((secret[2], again[other][2]), (b"other", b"changed"))
        # So do all calls of another client: what it reads of the item is the last value that was stored.
        neighbour = self.connect()
        neighbour.open_session()
        self.assertEqual(neighbour.search({"a": "1"}), ([slow], []))
        self.assertEqual(neighbour.secrets([slow, made]), {slow: b"old", made: b"3"})
        waiting += self.send(self.get(slow, ITEM, "Label"), self.search({}))
        self.lock(fcntl.F_UNLCK, 0, ITEMS)
        _, secrets, _, label, found = self.results(waiting)
        self.assertEqual((secrets[slow][2], label[1], set(found[0])), (b"new", "new", {slow, other, made}))
