"""A Secret Service that misbehaves as it is told: one JSON object, given as the argument or by Configure later.

items         path -> {attributes, label, secret, created, modified, locked}
override      member -> {do: hang | late | tell | exit | error | reply, ...}; GetAll, Get and Set by their bare names.
              hang: Held counts these calls, and Release answers them. late: sets the tests' clock forward by "seconds" first
default       whether there is a default collection (true)
session       whether /collection/session is its session collection (false): else a collection like others
fleeting      whether the session collection is the default collection (false)
locked        whether the collection is locked: then nothing is found in it (false)
encrypted     whether it knows encrypted sessions (false): else plain ones alone
damage        what is wrong with secrets of an encrypted session: session | parameters | truncated | padding | empty | garbage
refusals      how many negotiations of encrypted sessions it refuses from its start (0)
bad           for how many encrypted sessions from its start it has another key (0); what becomes of secrets then:
badReads      what it sends: undecryptable | binary (decrypts to bytes that are no text)
badWrites     what it does with a secret that it gets: refuse | garble; as in KWallet, CreateItem makes an item even so
signals       whether it tells of items that are made or changed (false); Configure tells of every item then
tellsOf       what Configure tells of the collection besides, as a signal's name ("")
alias         another name that it has on the bus from its start ("")
prompt        accept | dismiss | never: what becomes of a prompt that is shown
createPrompts whether CreateItem asks first (false)
deletePrompts whether Delete asks first (false)
latency       how long its answers take, in milliseconds (0): it sets the tests' clock forward, once for all calls that wait
hangs         whether it sets the clock forward and then answers nothing but a Ping (false)
An override with "path" holds for the objects whose paths end so.
"""

import hashlib
import hmac
import json
import os
import secrets
import subprocess
import sys

import dbus
import dbus.bus
import dbus.lowlevel
import dbus.mainloop.glib
from gi.repository import GLib

NAME = "org.freedesktop.secrets"
SERVICE = "/org/freedesktop/secrets"
DEFAULT = SERVICE + "/aliases/default"
PROMPT = SERVICE + "/prompt/p1"
ERROR = "org.freedesktop.Secret.Error."

state = {
    "items": {},
    "override": {},
    "default": True,
    "session": False,
    "fleeting": False,
    "locked": False,
    "prompt": "accept",
    "createPrompts": False,
    "deletePrompts": False,
    "encrypted": False,
    "damage": "",
    "refusals": 0,
    "bad": 0,
    "badReads": "undecryptable",
    "badWrites": "refuse",
    "signals": False,
    "tellsOf": "",
    "alias": "",
    "latency": 0,
    "hangs": False,
}
session_key = [b""]
negotiations = [0]
sessions = [0]
calls = []
held = []
late = []
clock = [1000]


class Failure(Exception):
    pass


def configure(text):
    state.update(json.loads(text))
    for path in state["items"]:
        tell("ItemChanged", path)
    if state["tellsOf"]:
        signal(SERVICE, "org.freedesktop.Secret.Service", state["tellsOf"], SERVICE + "/collection/c")


def tell(member, path):
    """As gnome-keyring does: neither of a secret that is set nor of what is deleted."""
    if state["signals"]:
        signal(SERVICE + "/collection/c", "org.freedesktop.Secret.Collection", member, path)


def signal(sender, interface, member, path):
    message = dbus.lowlevel.SignalMessage(sender, interface, member)
    message.append(dbus.ObjectPath(path), signature="o")
    connection.send_message(message)


def default_collection():
    return SERVICE + "/collection/" + ("session" if state["fleeting"] else "c")


def read_alias(name):
    if name == "session" and state["session"]:
        return "o", (dbus.ObjectPath(SERVICE + "/collection/session"),)
    return "o", (dbus.ObjectPath(default_collection() if state["default"] and name == "default" else "/"),)


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


def session_path():
    return "%s/session/s%d" % (SERVICE, sessions[0])


def is_bad():
    return bool(session_key[0]) and sessions[0] <= state["bad"]


def aes(parameters):
    from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
    return Cipher(algorithms.AES(session_key[0]), modes.CBC(parameters))


def encrypted(plain):
    """What travels for a secret: the initial vector and the blocks, with what is wrong with them as told."""
    damage, parameters = state["damage"], secrets.token_bytes(16)
    if is_bad() and state["badReads"] == "binary":
        plain = b"\x00\xff" + plain
    elif is_bad():
        damage = "padding"
    count = 16 - len(plain) % 16
    padding = bytes([count]) * count
    if damage == "padding":
        padding = bytes(count - 1) + b"\x20"
    blocks = plain + padding
    encryptor = aes(parameters).encryptor()
    blocks = encryptor.update(blocks) + encryptor.finalize()
    if damage == "truncated":
        blocks = blocks[:-1]
    elif damage == "empty":
        blocks = b""
    elif damage == "garbage":
        blocks = secrets.token_bytes(len(blocks))
    return parameters[:8] if damage == "parameters" else parameters, blocks


def secret_text(secret, refusal):
    if is_bad() and state["badWrites"] == "refuse":
        raise Failure(refusal)
    value = bytes(secret[2])
    if session_key[0]:
        decryptor = aes(bytes(secret[1])).decryptor()
        value = decryptor.update(value) + decryptor.finalize()
        value = value[:-value[-1]]
    if is_bad():
        value = b"\xfe" + value[::-1]
    return value.decode("latin-1")


def secret_struct(item, session):
    return as_secret(item["secret"].encode("latin-1"), session)


def as_secret(value, session):
    parameters = b""
    if session_key[0]:
        parameters, value = encrypted(value)
    session += "/another" if state["damage"] == "session" else ""
    return dbus.Struct(
        (dbus.ObjectPath(session), dbus.ByteArray(parameters), dbus.ByteArray(value), "text/plain"), signature="oayays")


def get_secrets(paths, session):
    there = {path: state["items"][path] for path in paths if path in state["items"]}
    secrets = {dbus.ObjectPath(path): secret_struct(item, session) for path, item in there.items() if not is_locked(item)}
    return "a{o(oayays)}", (dbus.Dictionary(secrets, signature="o(oayays)"),)


# The group of RFC 2409, section 6.2.
PRIME = int(
    "FFFFFFFFFFFFFFFFC90FDAA22168C234C4C6628B80DC1CD129024E088A67CC74020BBEA63B139B22514A08798E3404DD"
    "EF9519B3CD3A431B302B0A6DF25F14374FE1356D6D51C245E485B576625E7EC6F44C42E9A637ED6B0BFF5CB6F406B7ED"
    "EE386BFB5A899FA5AE9F24117C4B1FE649286651ECE65381FFFFFFFFFFFFFFFF", 16)


def agree(theirs):
    """Our part of the key exchange, after which the key is known."""
    private = secrets.randbelow(PRIME - 3) + 2
    shared = pow(int.from_bytes(theirs, "big"), private, PRIME).to_bytes(128, "big")
    extracted = hmac.new(bytes(32), shared, hashlib.sha256).digest()
    session_key[0] = hmac.new(extracted, b"\x01", hashlib.sha256).digest()[:16]
    return pow(2, private, PRIME).to_bytes(128, "big")


def open_session(algorithm, theirs):
    session_key[0] = b""
    if algorithm == "dh-ietf1024-sha256-aes128-cbc-pkcs7" and state["encrypted"]:
        negotiations[0] += 1
        if negotiations[0] <= state["refusals"]:
            raise Failure("org.freedesktop.DBus.Error.InvalidArgs")
        sessions[0] += 1
        return "vo", (dbus.ByteArray(agree(bytes(theirs)), variant_level=1), dbus.ObjectPath(session_path()))
    if algorithm != "plain":
        raise Failure("org.freedesktop.DBus.Error.NotSupported")
    sessions[0] += 1
    return "vo", (dbus.String("", variant_level=1), dbus.ObjectPath(session_path()))


def create_item(properties, secret, _replace):
    if not state["default"]:
        raise Failure("org.freedesktop.DBus.Error.UnknownObject")
    if state["locked"]:
        raise Failure(ERROR + "IsLocked")
    if state["createPrompts"]:
        return "oo", (dbus.ObjectPath("/"), dbus.ObjectPath(PROMPT))
    clock[0] += 1
    path = "%s/%d" % (default_collection(), clock[0])
    state["items"][path] = {
        "attributes": dict(properties["org.freedesktop.Secret.Item.Attributes"]),
        "label": properties["org.freedesktop.Secret.Item.Label"],
        "secret": "", "created": clock[0], "modified": clock[0],
    }
    state["items"][path]["secret"] = secret_text(secret, "org.qtproject.QtDBus.Error.InvalidObjectPath")
    tell("ItemCreated", path)
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
    item["secret"], item["modified"] = secret_text(secret, "org.freedesktop.DBus.Error.UnknownObject"), clock[0]
    return "", ()


def set_property(path, name, value):
    item = find_unlocked(path)
    item["attributes" if name == "Attributes" else "label"] = dict(value) if name == "Attributes" else str(value)
    tell("ItemChanged", path)
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
    if name == "Modified":
        return "v", (dbus.UInt64(find(path).get("modified", 1), variant_level=1),)
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
        "GetSecret": lambda: ("(oayays)", (secret_struct(find_unlocked(path), *arguments),)),
        "Close": lambda: ("", ()),
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
    if member == "Ping":
        return dbus.lowlevel.HANDLER_RESULT_NOT_YET_HANDLED  # the library answers it
    if member == "Configure":
        configure(str(message.get_args_list()[0]))
        reply_to(message, "", ())
    elif member == "Calls":
        reply_to(message, "s", (" ".join(calls),))
        calls.clear()
    elif member == "Items":
        reply_to(message, "s", (json.dumps(state["items"], sort_keys=True),))
    elif member == "Held":
        reply_to(message, "s", (str(len(held)),))
    elif member == "Release":
        while held:
            regular(held.pop(0))
        reply_to(message, "", ())
    elif state["latency"]:
        late.append(message)
        if len(late) == 1:
            GLib.timeout_add(20, answer_late)  # what is sent at once has arrived
    else:
        handle_call(message, member)
    return dbus.lowlevel.HANDLER_RESULT_HANDLED


def advance(seconds):
    subprocess.run(["test-clock", "advance", str(seconds)], check=True)


def answer_late():
    advance(state["latency"] / 1000)
    waiting = list(late)
    late.clear()
    for message in waiting if not state["hangs"] else []:
        handle_call(message, message.get_member())
    return False


def handle_call(message, member):
    calls.append(member)
    override = state["override"].get(member)
    if not override or not message.get_path().endswith(override.get("path", "")):
        regular(message)
    elif override["do"] == "hang":
        held.append(message)
    elif override["do"] == "late":
        advance(override["seconds"])
        regular(message)
    elif override["do"] == "tell":
        tell("ItemChanged", message.get_path())
        regular(message)
    elif override["do"] == "exit":
        os._exit(0)
    elif override["do"] == "error":
        error_to(message, override["name"])
    elif override["do"] == "reply":
        reply_to(message, override["signature"], override["values"])
    elif override["do"] == "large":
        paths, session = message.get_args_list()
        secret, path = as_secret(b"x" * override["count"], session), paths[0]
        reply_to(message, "a{o(oayays)}", (dbus.Dictionary({path: secret}, signature="o(oayays)"),))


dbus.mainloop.glib.DBusGMainLoop(set_as_default=True)
connection = dbus.bus.BusConnection(os.environ["DBUS_SESSION_BUS_ADDRESS"])
configure(sys.argv[1])
connection.add_message_filter(handle)
if state["alias"]:
    connection.request_name(state["alias"])
connection.request_name(NAME)
print("ready", flush=True)
GLib.MainLoop().run()
