"""A Secret Service that misbehaves as it is told: one JSON object, given as the argument or by Configure later.

items         path -> {attributes, label, secret, created, modified, locked}
override      member -> {do: hang | late | exit | error | reply, ...}; GetAll, Get and Set by their bare names
default       whether there is a default collection (true)
locked        whether the collection is locked: then nothing is found in it (false)
prompt        accept | dismiss | never: what becomes of a prompt that is shown
createPrompts whether CreateItem asks first (false)
deletePrompts whether Delete asks first (false)
It knows plain sessions only.
"""

import json
import os
import sys

import dbus
import dbus.bus
import dbus.lowlevel
import dbus.mainloop.glib
from gi.repository import GLib

NAME = "org.freedesktop.secrets"
SERVICE = "/org/freedesktop/secrets"
DEFAULT = SERVICE + "/aliases/default"
SESSION = SERVICE + "/session/s1"
PROMPT = SERVICE + "/prompt/p1"
ERROR = "org.freedesktop.Secret.Error."

state = {
    "items": {},
    "override": {},
    "default": True,
    "locked": False,
    "prompt": "accept",
    "createPrompts": False,
    "deletePrompts": False,
}
calls = []
clock = [1000]


class Failure(Exception):
    pass


def configure(text):
    state.update(json.loads(text))


def read_alias(name):
    return "o", (dbus.ObjectPath(SERVICE + "/collection/c" if state["default"] and name == "default" else "/"),)


def is_locked(item):
    return state["locked"] or item.get("locked", False)


def search(attributes):
    found = ([], [])
    for path, item in sorted(state["items"].items()):
        have = item["attributes"]
        if state["locked"] or any(have.get(key) != value for key, value in attributes.items()):
            continue
        found[1 if is_locked(item) else 0].append(dbus.ObjectPath(path))
    return "aoao", found


def find(path):
    if path not in state["items"]:
        raise Failure(ERROR + "NoSuchObject")
    return state["items"][path]


def find_unlocked(path):
    item = find(path)
    if is_locked(item):
        raise Failure(ERROR + "IsLocked")
    return item


def secret_text(secret):
    return bytes(secret[2]).decode("latin-1")


def secret_struct(item):
    value = dbus.ByteArray(item["secret"].encode("latin-1"))
    return dbus.Struct((dbus.ObjectPath(SESSION), dbus.ByteArray(b""), value, "text/plain"), signature="oayays")


def get_secrets(paths, _session):
    there = {path: state["items"][path] for path in paths if path in state["items"]}
    secrets = {dbus.ObjectPath(path): secret_struct(item) for path, item in there.items() if not is_locked(item)}
    return "a{o(oayays)}", (dbus.Dictionary(secrets, signature="o(oayays)"),)


def open_session(algorithm, _input):
    if algorithm != "plain":
        raise Failure("org.freedesktop.DBus.Error.NotSupported")
    return "vo", (dbus.String("", variant_level=1), dbus.ObjectPath(SESSION))


def create_item(properties, secret, _replace):
    if not state["default"]:
        raise Failure("org.freedesktop.DBus.Error.UnknownObject")
    if state["locked"]:
        raise Failure(ERROR + "IsLocked")
    if state["createPrompts"]:
        return "oo", (dbus.ObjectPath("/"), dbus.ObjectPath(PROMPT))
    clock[0] += 1
    path = "%s/collection/c/%d" % (SERVICE, clock[0])
    state["items"][path] = {
        "attributes": dict(properties["org.freedesktop.Secret.Item.Attributes"]),
        "label": properties["org.freedesktop.Secret.Item.Label"],
        "secret": secret_text(secret), "created": clock[0], "modified": clock[0],
    }
    return "oo", (dbus.ObjectPath(path), dbus.ObjectPath("/"))


def get_all(path):
    item = find(path)
    return "a{sv}", ({
        "Attributes": dbus.Dictionary(item["attributes"], signature="ss"), "Label": item.get("label", ""),
        "Locked": dbus.Boolean(is_locked(item)), "Created": dbus.UInt64(item.get("created", 1)),
        "Modified": dbus.UInt64(item.get("modified", 1)),
    },)


def set_secret(path, secret):
    item = find_unlocked(path)
    clock[0] += 1
    item["secret"], item["modified"] = secret_text(secret), clock[0]
    return "", ()


def set_property(path, name, value):
    item = find_unlocked(path)
    item["attributes" if name == "Attributes" else "label"] = dict(value) if name == "Attributes" else str(value)
    return "", ()


def delete(path):
    if state["deletePrompts"]:
        return "o", (dbus.ObjectPath(PROMPT),)
    find_unlocked(path)
    del state["items"][path]
    return "o", (dbus.ObjectPath("/"),)


def unlock(paths):
    if state["locked"] or any(is_locked(state["items"][path]) for path in paths if path in state["items"]):
        return "aoo", (dbus.Array([], signature="o"), dbus.ObjectPath(PROMPT))
    return "aoo", (paths, dbus.ObjectPath("/"))


def complete(dismissed):
    message = dbus.lowlevel.SignalMessage(PROMPT, "org.freedesktop.Secret.Prompt", "Completed")
    message.append(dismissed, dbus.Array([], signature="o", variant_level=1), signature="bv")
    connection.send_message(message)
    return False


def prompt():
    if state["prompt"] == "accept":
        state["locked"] = False
        for item in state["items"].values():
            item["locked"] = False
    if state["prompt"] != "never":
        GLib.idle_add(complete, state["prompt"] == "dismiss")
    return "", ()


def get_property(path, name):
    if name == "Attributes":
        return "v", (dbus.Dictionary(find(path)["attributes"], signature="ss", variant_level=1),)
    if not state["default"]:
        raise Failure("org.freedesktop.DBus.Error.UnknownObject")
    return "v", (dbus.Boolean(state["locked"], variant_level=1),)


def answer(path, member, arguments):
    return {
        "OpenSession": lambda: open_session(*arguments),
        "SearchItems": lambda: search(*arguments),
        "ReadAlias": lambda: read_alias(*arguments),
        "CreateItem": lambda: create_item(*arguments),
        "GetSecrets": lambda: get_secrets(*arguments),
        "GetSecret": lambda: ("(oayays)", (secret_struct(find_unlocked(path)),)),
        "SetSecret": lambda: set_secret(path, *arguments),
        "Delete": lambda: delete(path),
        "Unlock": lambda: unlock(*arguments),
        "Prompt": prompt,
        "Dismiss": lambda: (complete(True), ("", ()))[1],
        "GetAll": lambda: get_all(path),
        "Get": lambda: get_property(path, arguments[1]),
        "Set": lambda: set_property(path, *arguments[1:]),
    }[member]()


def reply_to(message, signature, values):
    reply = dbus.lowlevel.MethodReturnMessage(message)
    if signature:
        reply.append(*values, signature=signature)
    connection.send_message(reply)
    return False


def error_to(message, name):
    connection.send_message(dbus.lowlevel.ErrorMessage(message, name, "as told"))


def regular(message):
    member = message.get_member()
    try:
        reply_to(message, *answer(message.get_path(), member, message.get_args_list()))
    except Failure as failure:
        error_to(message, str(failure))
    return False


def handle(_connection, message):
    if not isinstance(message, dbus.lowlevel.MethodCallMessage):
        return dbus.lowlevel.HANDLER_RESULT_NOT_YET_HANDLED
    member = message.get_member()
    if member == "Configure":
        configure(str(message.get_args_list()[0]))
        reply_to(message, "", ())
    elif member == "Calls":
        reply_to(message, "s", (" ".join(calls),))
        calls.clear()
    elif member == "Items":
        reply_to(message, "s", (json.dumps(state["items"], sort_keys=True),))
    else:
        calls.append(member)
        override = state["override"].get(member)
        if not override:
            regular(message)
        elif override["do"] == "late":
            GLib.timeout_add(override["ms"], regular, message)
        elif override["do"] == "exit":
            os._exit(0)
        elif override["do"] == "error":
            error_to(message, override["name"])
        elif override["do"] == "reply":
            reply_to(message, override["signature"], override["values"])
        elif override["do"] == "large":
            value = dbus.ByteArray(b"x" * override["count"])
            secret = dbus.Struct((dbus.ObjectPath(SESSION), dbus.ByteArray(b""), value, "text/plain"), signature="oayays")
            path = message.get_args_list()[0][0]
            reply_to(message, "a{o(oayays)}", (dbus.Dictionary({path: secret}, signature="o(oayays)"),))
    return dbus.lowlevel.HANDLER_RESULT_HANDLED


dbus.mainloop.glib.DBusGMainLoop(set_as_default=True)
configure(sys.argv[1])
connection = dbus.bus.BusConnection(os.environ["DBUS_SESSION_BUS_ADDRESS"])
connection.add_message_filter(handle)
connection.request_name(NAME)
print("ready", flush=True)
GLib.MainLoop().run()
