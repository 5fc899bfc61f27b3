"""A keyring of the tests' own, with the collections that a test names: it answers what no real keyring can be brought to."""
import threading

from jeepney import (
    DBusAddress, HeaderFields, MessageType, message_bus, new_error, new_method_call, new_method_return)
from jeepney.io.blocking import open_dbus_connection

from client import COLLECTION, ITEM, ROOT, SERVICE


class Refusal(Exception):
    """The name of the D-Bus error with which a call is answered."""


class Item:
    """An item. `shows`, `gives`: None, or the error of its properties, of its secret."""

    def __init__(self, attributes, secret, shows=None, gives=None):
        self.attributes, self.secret, self.shows, self.gives = attributes, secret, shows, gives
        self.modified = 1
        # The secret after the first read; None for the same.
        self.next = None


class Keyring:
    """Owns the name and serves `collections`: label and items, by the path."""

    def __init__(self, address, collections, aliases=None):
        self.collections, self.aliases = collections, aliases or {}
        # The paths of locked collections; whether a deletion asks; the paths of prompts that were dismissed.
        self.locked, self.asks, self.dismissed = set(), False, []
        # The error of a session.
        self.begins = None
        self.items = {f"{path}/{number}": item for path, (_, items) in collections.items() for number, item in enumerate(items, 1)}
        self.connection = open_dbus_connection(address)
        self.connection.send_and_get_reply(message_bus.RequestName("org.freedesktop.secrets"))
        self.thread = threading.Thread(target=self.serve)
        self.thread.start()

    def close(self):
        """Ends by a call to itself, from a connection of its own."""
        self.connection.send(new_method_call(DBusAddress(ROOT, self.connection.unique_name, "end.end"), "End"))
        self.thread.join()
        self.connection.close()

    def serve(self):
        while True:
            message = self.connection.receive()
            if message.header.message_type != MessageType.method_call:
                continue
            fields = message.header.fields
            if fields[HeaderFields.member] == "End":
                return
            try:
                signature, body = self.answer(fields[HeaderFields.path], fields[HeaderFields.member], message.body)
                self.connection.send(new_method_return(message, signature, body))
            except Refusal as refusal:
                self.connection.send(new_error(message, str(refusal)))

    def answer(self, path, member, body):
        if member == "OpenSession":
            self.check(self.begins)
            if body[0] != "plain":
                raise Refusal("org.freedesktop.DBus.Error.NotSupported")
            return "vo", (("s", ""), f"{ROOT}/session/1")
        if member == "ReadAlias":
            return "o", (self.aliases.get(body[0], "/"),)
        if member == "GetSecret":
            item = self.items[path]
            self.check(item.gives)
            secret, item.secret = item.secret, item.next or item.secret
            return "(oayays)", ((f"{ROOT}/session/1", b"", secret, "text/plain"),)
        if member == "Delete":
            if self.asks:
                return "o", (f"{ROOT}/prompt/1",)
            del self.items[path]
            return "o", ("/",)
        if member == "Dismiss":
            self.dismissed.append(path)
            return "", ()
        if member == "Introspect":
            return "s", ("<node/>",)
        return "a{sv}", (self.properties(path, body[0]),)

    def properties(self, path, interface):
        if interface == SERVICE:
            return {"Collections": ("ao", list(self.collections))}
        if interface == COLLECTION:
            paths = [item for item in self.items if item.startswith(f"{path}/")]
            return {"Label": ("s", self.collections[path][0]), "Locked": ("b", path in self.locked), "Items": ("ao", paths)}
        assert interface == ITEM
        self.check(self.items[path].shows)
        return {"Label": ("s", "label"), "Locked": ("b", False), "Attributes": ("a{ss}", self.items[path].attributes),
                "Created": ("t", 1), "Modified": ("t", self.items[path].modified)}

    @staticmethod
    def check(error):
        if error is not None:
            raise Refusal(error)
