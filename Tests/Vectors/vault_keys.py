"""`keyfile` and `header`: docs/format.md, sections 2 and 3."""

import hmac
import struct
from dataclasses import dataclass, field

from vault_primitives import BOX_OVERHEAD, Corrupt, Cursor, Denied, argon2id, hash_bytes, open_box, subkey

KEYFILE_SIZE = 96
HEADER_MAXIMUM = 65536
MAC_SIZE = 32
WRAPPED_KEY_BOX = 32 + BOX_OVERHEAD
SLOT_KEYFILE, SLOT_PASSWORD, SLOT_RECOVERY, SLOT_DEVICE = 1, 2, 3, 4
PURPOSE_NAME, PURPOSE_METADATA, PURPOSE_PRESENCE = 16, 17, 18
PURPOSES_IN_SLOTS = {1, 2, 3, 4, 5, PURPOSE_METADATA, PURPOSE_PRESENCE}
CURRENT, RETIRING = 0, 1


@dataclass
class Keyfile:
    vault_id: bytes
    key: bytes

    def key_encryption_key(self):
        return subkey(self.key, 1, b"TKkeyfil")


@dataclass
class WrappedKey:
    purpose: int
    state: int
    key_id: int
    box: bytes


@dataclass
class Slot:
    type: int
    known: bool
    rest: bytes
    slot_id: int = 0
    passes: int = 0
    memory_kib: int = 0
    salt: bytes = b""
    wrapped: list = field(default_factory=list)


@dataclass
class Header:
    """`opened` and `wrapped` name keys by (purpose, key id); `opened` holds those whose slot could be opened."""

    epoch: int
    created_at: int
    name_key_id: int
    name_key: bytes
    slots: list
    opened: dict
    wrapped: dict


def parse_keyfile(data, where="keyfile"):
    cursor = Cursor(data, where)
    cursor.magic_and_version(b"TKKEYFIL")
    if len(data) != KEYFILE_SIZE:
        raise Corrupt(where, f"{len(data)} bytes instead of {KEYFILE_SIZE}")
    cursor.zero(6)
    keyfile = Keyfile(cursor.take(16), cursor.take(32))
    if cursor.take(32) != hash_bytes(32, None, data[:64]):
        raise Corrupt(where, "checksum differs")
    return keyfile


def wrapped_key_data(vault_id, slot_type, slot_id, purpose, state, key_id):
    return b"TKwrappedkey" + struct.pack("<H16sHQBBQ", 1, vault_id, slot_type, slot_id, purpose, state, key_id)


def parse_header(data, keyfile, where, password=None, code=None):
    cursor = Cursor(data, where)
    cursor.magic_and_version(b"TKHEADER")
    slot_count = cursor.integer(2, 1, 64)
    length = cursor.integer(4, 0, HEADER_MAXIMUM)
    if length != len(data):
        raise Corrupt(where, f"says it has {length} bytes and has {len(data)}")
    if cursor.take(16) != keyfile.vault_id:
        raise Corrupt(where, "belongs to another vault than the keyfile")
    epoch, created_at = cursor.integer(8, 1), cursor.time()
    name_key_id = cursor.integer(8, 1)
    cursor.zero(8)
    name_key_box = cursor.take(WRAPPED_KEY_BOX)
    if cursor.left() < MAC_SIZE:
        raise Corrupt(where, "no place for the MAC")
    slots_cursor = Cursor(cursor.take(cursor.left() - MAC_SIZE), where)
    slots = [parse_slot(slots_cursor, where) for _ in range(slot_count)]
    slots_cursor.end()
    box_data = wrapped_key_data(keyfile.vault_id, SLOT_KEYFILE, 0, PURPOSE_NAME, CURRENT, name_key_id)
    name_key = open_box(keyfile.key_encryption_key(), box_data, name_key_box, where + ", name key")
    if not hmac.compare_digest(header_mac(name_key, data[:-MAC_SIZE]), data[-MAC_SIZE:]):
        raise Corrupt(where, "the MAC differs")
    header = Header(epoch, created_at, name_key_id, name_key, slots, {}, {})
    unwrap_keys(header, keyfile, where)
    for slot_type, secret in ((SLOT_PASSWORD, password), (SLOT_RECOVERY, code and normalized_code(code))):
        if secret is not None:
            unlock(header, keyfile, slot_type, secret, where)
    return header


def header_mac(name_key, body):
    return hash_bytes(32, subkey(name_key, 3, b"TKname__"), body)


def parse_slot(cursor, where):
    slot_type = cursor.integer(2)
    cursor.zero(2)
    slot = Slot(slot_type, slot_type in (1, 2, 3, 4), cursor.take(cursor.integer(4)))
    if slot.known:
        parse_known_slot(slot, Cursor(slot.rest, f"{where}, slot of type {slot_type}"))
    return slot


def parse_known_slot(slot, cursor):
    slot.slot_id = cursor.integer(8, 1)
    derivation = cursor.integer(1, 0, 1)
    cursor.zero(3)
    slot.passes = cursor.integer(4, derivation, 16 * derivation)
    slot.memory_kib = cursor.integer(4, 8 * derivation, 1048576 * derivation)
    slot.salt = cursor.take(16)
    if derivation == 0 and any(slot.salt):
        raise Corrupt(cursor.where, "a salt without Argon2id")
    expected = {SLOT_KEYFILE: 0, SLOT_PASSWORD: 1, SLOT_RECOVERY: 1}.get(slot.type, derivation)
    if derivation != expected:
        raise Corrupt(cursor.where, f"key derivation {derivation}")
    cursor.time()
    count = cursor.integer(2, 0, 64)
    cursor.zero(2)
    extension_length = cursor.integer(4)
    slot.wrapped = [parse_wrapped_key(cursor) for _ in range(count)]
    if len({(key.purpose, key.state) for key in slot.wrapped}) != count:
        raise Corrupt(cursor.where, "a purpose stands twice in one state")
    cursor.take(extension_length)
    cursor.end()
    if extension_length and slot.type != SLOT_DEVICE:
        raise Corrupt(cursor.where, "an extension, which only a device slot has")


def parse_wrapped_key(cursor):
    purpose, state = cursor.integer(1), cursor.integer(1, CURRENT, RETIRING)
    if purpose not in PURPOSES_IN_SLOTS:
        raise Corrupt(cursor.where, f"a wrapped key of purpose {purpose}")
    cursor.zero(6)
    key_id = cursor.integer(8, 1)
    cursor.zero(8)
    return WrappedKey(purpose, state, key_id, cursor.take(WRAPPED_KEY_BOX))


def unwrap_keys(header, keyfile, where):
    for slot in header.slots:
        for key in slot.wrapped:
            header.wrapped.setdefault((key.purpose, key.key_id), key.state)
        if slot.type == SLOT_KEYFILE:
            open_slot(header, keyfile, slot, keyfile.key_encryption_key(), where)


def unlock(header, keyfile, slot_type, secret, where):
    """Opens the first slot of the type that the password, or the code, opens."""
    slots = [slot for slot in header.slots if slot.type == slot_type]
    for slot in slots:
        try:
            key_encryption_key = argon2id(secret, slot.salt, slot.passes, slot.memory_kib)
            return open_slot(header, keyfile, slot, key_encryption_key, where)
        except Corrupt:
            continue
    raise Denied(where, f"opens none of {len(slots)} slots")


def open_slot(header, keyfile, slot, key_encryption_key, where):
    for key in slot.wrapped:
        data = wrapped_key_data(keyfile.vault_id, slot.type, slot.slot_id, key.purpose, key.state, key.key_id)
        place = f"{where}, slot of type {slot.type}, key of purpose {key.purpose}"
        header.opened[key.purpose, key.key_id] = open_box(key_encryption_key, data, key.box, place)


def normalized_code(code):
    """The symbols of a recovery code that was typed: docs/format.md, section 3."""
    symbols = "0123456789ABCDEFGHJKMNPQRSTVWXY"
    text = code.decode("ascii").upper().translate(str.maketrans("OIL", "011", "- \r\n"))
    values = [symbols.find(symbol) for symbol in text]
    weighted = sum(position * value for position, value in enumerate(values, 1))
    if len(values) != 30 or -1 in values or weighted % 31:
        raise ValueError("no recovery code")
    return text.encode("ascii")
