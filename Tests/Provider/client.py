"""A client of the Secret Service over jeepney, which sends exactly what it is told."""
import contextlib

from jeepney import (
    DBusAddress, DBusErrorResponse, HeaderFields, MatchRule, MessageType, message_bus,
    new_method_call)
from jeepney.io.blocking import open_dbus_connection

from patience import PATIENCE

ROOT = "/org/freedesktop/secrets"
LOGIN = f"{ROOT}/collection/login"
DEFAULT = f"{ROOT}/aliases/default"
SERVICE, COLLECTION, ITEM, SESSION, PROMPT = (
    f"org.freedesktop.Secret.{name}" for name in ("Service", "Collection", "Item", "Session", "Prompt"))
INTROSPECTABLE = "org.freedesktop.DBus.Introspectable"
PROPERTIES = "org.freedesktop.DBus.Properties"


class Refused(Exception):
    """A D-Bus error; `name` is its last part."""

    def __init__(self, error):
        super().__init__(f"{error.name}: {error.data}")
        self.full = error.name
        self.name = error.name.rsplit(".", 1)[-1]


class Client:
    def __init__(self, address, destination="org.freedesktop.secrets", fds=False):
        self.connection = open_dbus_connection(address, enable_fds=fds)
        self.destination = destination
        self.session = None

    def close(self):
        self.connection.close()

    def message(self, path, interface, member, signature="", *body):
        return new_method_call(DBusAddress(path, self.destination, interface), member, signature or None, body)

    def call(self, path, interface, member, signature="", *body):
        reply = self.connection.send_and_get_reply(self.message(path, interface, member, signature, *body), timeout=PATIENCE)
        if reply.header.message_type == MessageType.error:
            error = DBusErrorResponse(reply)
            raise Refused(error)
        return reply.body[0] if len(reply.body) == 1 else reply.body

    def replies(self, count):
        """The next replies, errors too, in their order."""
        found = []
        while len(found) < count:
            message = self.connection.receive(timeout=PATIENCE)
            if message.header.message_type in (MessageType.method_return, MessageType.error):
                found.append(message)
        return found

    def replies_so_far(self):
        """The replies that have come, without a wait."""
        found = []
        with contextlib.suppress(TimeoutError):
            while True:
                message = self.connection.receive(timeout=0)
                found += [message] if message.header.message_type in (MessageType.method_return, MessageType.error) else []
        return found

    def open_session(self):
        self.session = self.call(ROOT, SERVICE, "OpenSession", "sv", "plain", ("s", ""))[1]
        return self.session

    def secret(self, value, content_type="text/plain", session=None):
        return (session or self.session or self.open_session(), b"", value, content_type)

    def create(self, attributes, value, label="label", replace=True, collection=LOGIN, content_type="text/plain"):
        properties = {f"{ITEM}.Label": ("s", label), f"{ITEM}.Attributes": ("a{ss}", attributes)}
        return self.call(collection, COLLECTION, "CreateItem", "a{sv}(oayays)b", properties,
                         self.secret(value, content_type), replace)[0]

    def search(self, attributes):
        return self.call(ROOT, SERVICE, "SearchItems", "a{ss}", attributes)

    def value(self, path):
        return bytes(self.call(path, ITEM, "GetSecret", "o", self.session or self.open_session())[2])

    def secrets(self, paths):
        found = self.call(ROOT, SERVICE, "GetSecrets", "aoo", paths, self.session or self.open_session())
        return {path: bytes(secret[2]) for path, secret in found.items()}

    def get(self, path, interface, name):
        return self.call(path, PROPERTIES, "Get", "ss", interface, name)[1]

    def get_all(self, path, interface):
        return {name: value[1] for name, value in self.call(path, PROPERTIES, "GetAll", "s", interface).items()}

    def set(self, path, interface, name, signature, value):
        self.call(path, PROPERTIES, "Set", "ssv", interface, name, (signature, value))

    @contextlib.contextmanager
    def signals(self, **rule):
        """The signals that match, as a queue: `next_signal(queue)`."""
        match = MatchRule(type="signal", **rule)
        self.connection.send_and_get_reply(message_bus.AddMatch(match), timeout=PATIENCE)
        with self.connection.filter(match, bufsize=10000) as queue:
            yield queue

    def next_signal(self, queue):
        message = self.connection.recv_until_filtered(queue, timeout=PATIENCE)
        return (message.header.fields[HeaderFields.path], message.header.fields[HeaderFields.member], message.body)

    def seen_signals(self, queue):
        """The signals that arrived before the reply to a call that is made now."""
        self.call(ROOT, "org.freedesktop.DBus.Peer", "Ping")
        found = [(m.header.fields[HeaderFields.path], m.header.fields[HeaderFields.member], m.body) for m in queue]
        queue.clear()
        return found
