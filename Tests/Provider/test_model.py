"""Random histories of clients, `tokenkeep` processes, locks and restarts against a model of the specification."""
import os
import random
import unittest

from client import COLLECTION, DEFAULT, ITEM, LOGIN, ROOT, SERVICE, Client, Refused
from test_interface import Case

HISTORIES = int(os.environ.get("HISTORIES", "3"))
STEPS = int(os.environ.get("STEPS", "60"))
SEED = int(os.environ.get("SEED", "1"))
CLIENTS = 8
VOLATILE = f"{ROOT}/collection/session"


class Item:
    def __init__(self, collection, attributes, label, value, kind):
        self.collection, self.attributes, self.label, self.value, self.kind = collection, attributes, label, value, kind
        # Other programs of ours know this item by service and username alone.
        self.is_own = False

    def matches(self, attributes):
        return all(self.attributes.get(name) == value for name, value in attributes.items())


class Model:
    """The items by their paths, the one that was changed last at the end."""

    def __init__(self):
        self.items = {}
        self.collections = {LOGIN, VOLATILE}
        self.locked = False

    def is_locked(self, collection):
        return self.locked and collection != VOLATILE

    def shared(self, attributes):
        if not {"service", "username"} <= set(attributes) <= {"service", "username", "application", "target"}:
            return None
        return attributes["service"], attributes["username"]

    def target(self, collection, attributes, replace):
        """The path of the item that CreateItem replaces; None for a new one."""
        if replace:
            for path in reversed(self.items):
                if self.items[path].collection == collection and self.items[path].attributes == attributes:
                    return path
        pair = self.shared(attributes)
        return self.of_pair(pair) if collection == LOGIN and pair else None

    def of_pair(self, pair):
        return next((path for path, item in self.items.items() if item.collection == LOGIN and (
            (item.attributes["service"], item.attributes["username"]) if item.is_own else self.shared(item.attributes)) == pair), None)

    def put(self, path, item):
        self.items.pop(path, None)
        self.items[path] = item

    def found(self, attributes):
        return [path for path in reversed(self.items) if self.items[path].matches(attributes)]


class Histories(Case):
    def history(self, seed):
        self.chance, self.model, self.count = random.Random(seed), Model(), 0
        self.clients = [self.connect() for _ in range(CLIENTS)]
        self.observer = self.connect()
        with self.observer.signals(interface=COLLECTION) as queue:
            for number in range(STEPS):
                step = self.chance.choices(
                    [self.create, self.delete, self.set_secret, self.set_label, self.set_attributes, self.make_collection,
                     self.save, self.clear, self.lock, self.restart, self.check], [24, 8, 8, 4, 6, 1, 6, 3, 3, 1, 8])[0]
                self.observer.seen_signals(queue)
                with self.subTest(seed=seed, number=number, step=step.__name__):
                    expected = step(self.chance.choice(self.clients))
                    self.clients[0].get(DEFAULT, COLLECTION, "Locked")
                    seen = sorted((member, body[0]) for path, member, body in self.observer.seen_signals(queue)
                                  if "/aliases/" not in path)
                    if expected is not None:
                        self.assertEqual(seen, sorted(expected))
        self.model.locked = False
        self.clients[0].call(ROOT, SERVICE, "Unlock", "ao", [LOGIN])
        self.check(self.clients[0])
        for path in self.model.found({}):
            self.clients[0].call(path, ITEM, "Delete")

    def attributes(self):
        names = self.chance.choice([["service", "username"], ["service", "username", "application"], ["a"], ["a", "b"], []])
        return {name: self.chance.choice("12") for name in names}

    def value(self):
        self.count += 1
        return b"%d" % self.count

    def create(self, client):
        collection, attributes = self.chance.choice(sorted(self.model.collections)), self.attributes()
        value, replace = self.value(), self.chance.random() < 0.7
        kind, label = self.chance.choice(["text/plain", "", "x/y; z=1"]), f"label {self.count}"
        where = collection.replace(LOGIN, DEFAULT) if self.chance.random() < 0.5 else collection
        create = lambda: client.create(attributes, value, label, replace, where, kind)  # noqa: E731
        if self.model.is_locked(collection):
            self.refused("IsLocked", create)
            return []
        before = self.model.target(collection, attributes, replace)
        path = create()
        self.assertTrue(path.startswith(collection + "/"), path)
        if before is None:
            self.assertNotIn(path, self.model.items)
        else:
            self.assertEqual(path, before)
        self.model.put(path, Item(collection, attributes, label, value, kind))
        return [("ItemChanged" if before else "ItemCreated", path)]

    def some(self):
        return self.chance.choice([*self.model.items, f"{LOGIN}/{'0' * 32}"])

    def change(self, call):
        """Calls a method of an item. Returns the item's path; None if the call was rightly refused."""
        path = self.some()
        item = self.model.items.get(path)
        name = path.replace(LOGIN, DEFAULT) if self.chance.random() < 0.5 else path
        if item is None or self.model.is_locked(item.collection):
            self.refused("NoSuchObject" if item is None else "IsLocked", call, name)
            return None
        call(name)
        return path

    def delete(self, client):
        path = self.change(lambda path: client.call(path, ITEM, "Delete"))
        if path is None:
            return []
        del self.model.items[path]
        return [("ItemDeleted", path)]

    def set_secret(self, client):
        value = self.value()
        path = self.change(lambda path: client.call(path, ITEM, "SetSecret", "(oayays)", client.secret(value, "k/l")))
        if path is None:
            return []
        item = self.model.items[path]
        item.value, item.kind = value, "k/l"
        self.model.put(path, item)
        return [("ItemChanged", path)]

    def set_label(self, client):
        label = f"renamed {self.value()}"
        path = self.change(lambda path: client.set(path, ITEM, "Label", "s", label))
        if path is None:
            return []
        self.model.items[path].label = label
        self.model.put(path, self.model.items[path])
        return [("ItemChanged", path)]

    def set_attributes(self, client):
        attributes = {**self.attributes(), "unique": str(self.value())}
        path = self.change(lambda path: client.set(path, ITEM, "Attributes", "a{ss}", attributes))
        if path is None:
            return []
        item = self.model.items[path]
        item.attributes, item.is_own = attributes, False
        self.model.put(path, item)
        return [("ItemChanged", path)]

    def make_collection(self, client):
        call = lambda: client.call(ROOT, SERVICE, "CreateCollection", "a{sv}s", {f"{COLLECTION}.Label": ("s", "More")}, "")  # noqa: E731
        if self.model.locked:
            self.refused("IsLocked", call)
        else:
            path, prompt = call()
            self.assertEqual(prompt, "/")
            self.assertNotIn(path, self.model.collections)
            self.model.collections.add(path)
        return []

    def save(self, client):
        pair, value = (self.chance.choice("12"), self.chance.choice("12")), self.value()
        self.world.tokenkeep("save", *pair, input=value.decode())
        path = self.model.of_pair(pair)
        if path is not None:
            item = self.model.items[path]
            item.value, item.label = value, f"{pair[0]} ({pair[1]})"
            self.model.put(path, item)
            return None if self.model.locked else [("ItemChanged", path)]
        if self.model.locked:
            # The item is found once the vault is open.
            self.unlock()
        found = [path for path in client.search({"service": pair[0], "username": pair[1]})[0] if path not in self.model.items]
        self.assertEqual(len(found), 1)
        attributes = client.get(found[0], ITEM, "Attributes")
        item = Item(LOGIN, attributes, client.get(found[0], ITEM, "Label"), value, "text/plain")
        item.is_own = True
        self.model.put(found[0], item)
        return None

    def clear(self, client):
        pair = (self.chance.choice("12"), self.chance.choice("12"))
        path = self.model.of_pair(pair)
        done = self.world.tokenkeep("clear", *pair, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        if path is None:
            return []
        del self.model.items[path]
        client.call(ROOT, SERVICE, "ReadAlias", "s", "default")
        return [("ItemDeleted", path)]

    def lock(self, client):
        if self.model.locked:
            return self.unlock()
        self.assertEqual(client.call(ROOT, SERVICE, "Lock", "ao", [DEFAULT]), ([DEFAULT], "/"))
        self.model.locked = True
        return None

    def unlock(self):
        self.assertEqual(self.clients[0].call(ROOT, SERVICE, "Unlock", "ao", [DEFAULT]), ([DEFAULT], "/"))
        self.model.locked = False

    def restart(self, _):
        self.world.stop(self.provider)
        self.provider = self.world.provider()
        for client in self.clients:
            client.session = None
        self.model.locked = False
        for path in [path for path, item in self.model.items.items() if item.collection == VOLATILE]:
            del self.model.items[path]
        return None

    def check(self, client):
        """Every item is found by its attributes, the newest first, with its secret, label, content type."""
        attributes = self.attributes()
        found = self.model.found(attributes)
        open_items = [path for path in found if not self.model.is_locked(self.model.items[path].collection)]
        locked = [path for path in found if path not in open_items]
        if not found and self.model.locked:
            self.refused("IsLocked", client.search, attributes)
        else:
            self.assertEqual(client.search(attributes), (open_items, locked))
        for path, item in self.model.items.items():
            seen = client.get_all(path, ITEM)
            is_locked = self.model.is_locked(item.collection)
            self.assertEqual((seen["Label"], seen["Attributes"], seen["Locked"]), (item.label, item.attributes, is_locked))
            if not is_locked:
                value = client.call(path, ITEM, "GetSecret", "o", client.session or client.open_session())
                self.assertEqual((bytes(value[2]), value[3]), (item.value, item.kind))
        self.assertEqual(set(client.get(ROOT, SERVICE, "Collections")), self.model.collections)
        return []

    def test_histories_of_clients_programs_locks_and_restarts(self):
        for seed in range(SEED, SEED + HISTORIES):
            if seed > SEED:
                self.tearDown()
                self.doCleanups()
                self.setUp()
            self.history(seed)


if __name__ == "__main__":
    unittest.main()
