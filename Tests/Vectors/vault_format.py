"""Records: what stands in them and which rules it keeps. docs/format.md, section 4."""

import struct
from dataclasses import dataclass, field

from vault_copies import ITEM_FLAGS, Copies, parse_copies
from vault_primitives import (
    BOX_OVERHEAD,
    Corrupt,
    Cursor,
    decode_text,
    decode_word,
    field_integer,
    hash_bytes,
    length_prefixed,
    open_box,
    parse_fields,
    subkey,
)

PREFIX_SIZE = 96
STATE_BOX_MAXIMUM = METADATA_BOX_MAXIMUM = 65536 + BOX_OVERHEAD
SECRET_BOX_MAXIMUM = 1048576 + BOX_OVERHEAD
RECORD_MAXIMUM = PREFIX_SIZE + STATE_BOX_MAXIMUM + METADATA_BOX_MAXIMUM + SECRET_BOX_MAXIMUM
FLAG_PRESENCE = 2
KIND_VALUE, KIND_SEALED, KIND_CARRIED_OVER = 1, 2, 4
CARRIED_OVER_MAXIMUM = 2097152 + BOX_OVERHEAD


class NotOfThisHeader(Corrupt):
    """Another era, or a key id that the header does not know: `current` and the header are read again, once."""


@dataclass
class Prefix:
    data: bytes
    level: int
    flags: int
    era: int
    metadata_key_id: int
    class_key_id: int
    state_box: bytes
    metadata_box: bytes
    secret_box: bytes

    def metadata_data(self):
        return b"TKmetada" + self.data[8:52] + self.data[56:64] + self.data[64:72]

    def secret_data(self):
        return b"TKsecret" + self.data[8:52] + self.data[56:64] + self.data[72:80] + self.metadata_box

    def state_data(self):
        return b"TKstate_" + self.data + hash_bytes(32, None, self.metadata_box + self.secret_box)


@dataclass
class PendingPart:
    kind: str
    machine: str
    since: int
    boot: str
    clock_offset: int
    module: str
    base: list
    in_flight: list


@dataclass
class State:
    changed_at: int
    pending: list
    pending_refresh: bytes | None
    outbox_flags: int | None
    copies: Copies | None
    writes: list
    writes_mac: bytes | None

    def keep_removals(self):
        """Passes over the pending writes: nothing proves that the vault made them."""
        self.pending = [part for part in self.pending if part.kind == "remove"]
        self.writes = []


@dataclass
class Metadata:
    namespace: str
    service: str
    account: str
    label: str
    created_at: int
    modified_at: int
    expires_at: int | None
    version: int
    attributes: list = field(default_factory=list)
    lookup: dict | None = None


@dataclass
class Item:
    name: str
    level: int
    flags: int
    state: State
    metadata: Metadata | None = None
    secret: bytes | None = None


def item_name(name_key, namespace, service, account):
    parts = [text.encode("utf-8") for text in (namespace, service, account)]
    return hash_bytes(16, subkey(name_key, 1, b"TKname__"), length_prefixed(parts)).hex()


def item_id(journal_key, namespace, service, account):
    parts = [text.encode("utf-8") for text in (namespace, service, account)]
    return hash_bytes(16, subkey(journal_key, 1, b"TKjourn_"), length_prefixed(parts)).hex()


def machine_hash(journal_key, machine_id):
    """`machine_id`: the 32 digits of /etc/machine-id."""
    return hash_bytes(16, subkey(journal_key, 2, b"TKjourn_"), bytes.fromhex(machine_id)).hex()


def fingerprint(journal_key, value):
    return hash_bytes(16, subkey(journal_key, 4, b"TKjourn_"), value).hex()


def item_version(journal_key, metadata, level, flags, secret):
    key = subkey(journal_key, 3, b"TKjourn_")
    parts = [text.encode("utf-8") for text in (metadata.namespace, metadata.service, metadata.account, metadata.label)]
    parts += [struct.pack("<I", level), struct.pack("<I", flags), struct.pack("<q", metadata.expires_at or 0)]
    for name, value in metadata.attributes:
        parts += [name.encode("ascii"), value.encode("utf-8")]
    parts.append(hash_bytes(32, key, secret))
    return int.from_bytes(hash_bytes(16, key, length_prefixed(parts))[:8], "little") or 1


def parse_record(data, name, vault_id, where):
    """The prefix and the three boxes, still sealed."""
    cursor = Cursor(data, where)
    cursor.magic_and_version(b"TKRECORD")
    cursor.integer(1, KIND_VALUE, KIND_VALUE)
    level, flags, era = parse_identity(cursor, name, vault_id)
    metadata_key_id, class_key_id = cursor.integer(8), cursor.integer(8)
    state_length = cursor.integer(4, BOX_OVERHEAD, STATE_BOX_MAXIMUM)
    low = BOX_OVERHEAD if level else 0
    metadata_length = cursor.integer(4, low, METADATA_BOX_MAXIMUM if level else 0)
    secret_length = cursor.integer(4, low, SECRET_BOX_MAXIMUM if level else 0)
    cursor.zero(4)
    if bool(level) != bool(metadata_key_id) or bool(level) != bool(class_key_id):
        raise Corrupt(where, "a tombstone that names keys, or a value that names none")
    boxes = [cursor.take(length) for length in (state_length, metadata_length, secret_length)]
    cursor.end()
    return Prefix(data[:PREFIX_SIZE], level, flags, era, metadata_key_id, class_key_id, *boxes)


def parse_identity(cursor, name, vault_id):
    """Level, flags and era: bytes 11 to 63 of a prefix."""
    cursor.zero(1)
    level = cursor.integer(1, 0, 5)
    cursor.zero(3)
    if cursor.take(16) != vault_id:
        raise Corrupt(cursor.where, "belongs to another vault")
    if cursor.take(16).hex() != name:
        raise Corrupt(cursor.where, "holds another NAME")
    flags = cursor.integer(4, 0, ITEM_FLAGS)
    cursor.zero(4)
    return level, flags, cursor.integer(8)


def parse_one_box(data, kind, name, vault_id, box_maximum, where):
    """A prefix of kind 2 or 4 and the one box behind it, still sealed."""
    cursor = Cursor(data, where)
    cursor.magic_and_version(b"TKRECORD")
    cursor.integer(1, kind, kind)
    level, flags, era = parse_identity(cursor, name, vault_id)
    cursor.integer(8, 0, 0)
    class_key_id = cursor.integer(8)
    cursor.zero(8)
    length = cursor.integer(4, BOX_OVERHEAD, box_maximum)
    cursor.zero(4)
    box = cursor.take(length)
    cursor.end()
    if level == 0:
        raise Corrupt(where, "level 0")
    return Prefix(data[:PREFIX_SIZE], level, flags, era, 0, class_key_id, b"", b"", box)


def open_state(prefix, name_key, where):
    return open_box(subkey(name_key, 2, b"TKname__"), prefix.state_data(), prefix.state_box, where + ", state")


def parse_state(data, level, name, name_key, where):
    fields = parse_fields(data, {3: 64, 6: 64}, {2, 3, 4, 5, 6, 7, 16, 17}, where)
    writes_mac = fields.get(7, [None])[0]
    if writes_mac is not None and len(writes_mac) != 32:
        raise Corrupt(where, "a MAC of pending writes that has not 32 bytes")
    pending = [parse_pending(value, where) for value in fields.get(3, [])]
    refresh = fields.get(16, [None])[0]
    names = None
    if 4 in fields:
        if level != 0 and 5 not in fields:
            raise Corrupt(where, "a name in the state of a record that has a value and no sealed copies")
        names = parse_names(fields[4][0], where, may_remove_service=True)
        if item_name(name_key, *names) != name:
            raise Corrupt(where, "the state names another item than NAME")
    if refresh is not None and len(refresh) > 32768:
        raise Corrupt(where, "a pending refresh of more than 32768 bytes")
    changed_at = field_integer(fields, 2, 8, where, signed=True)
    outbox_flags = field_integer(fields, 17, 4, where, required=False)
    writes = [value for value, part in zip(fields.get(3, []), pending) if part.kind == "write"]
    copies = parse_copies(fields, names, where)
    return State(changed_at, pending, refresh, outbox_flags, copies, writes, writes_mac)


def writes_mac(metadata_key, prefix, writes):
    """The MAC of a record's pending writes; None if there are none."""
    if not writes:
        return None
    boxes = hash_bytes(32, None, prefix.metadata_box + prefix.secret_box)
    return hash_bytes(32, subkey(metadata_key, 1, b"TKmetada"), b"TKwrites" + prefix.data[8:52] + boxes + length_prefixed(writes))


def parse_names(data, where, may_remove_service=False):
    """Namespace, service and account. The removal of a service has no service, and the service as its account."""
    cursor = Cursor(data, where)
    shortest = 0 if may_remove_service else 1
    names = [decode_text(cursor.take(cursor.integer(4)), *limits, where) for limits in ((0, 64), (shortest, 255), (0, 255))]
    cursor.end()
    if not names[1] and not names[2]:
        raise Corrupt(where, "the removal of a service does not say of which")
    return tuple(names)


def parse_pending(data, where):
    cursor = Cursor(data, where + ", pending part")
    kind = {1: "write", 2: "remove"}[cursor.integer(1, 1, 2)]
    machine, since = cursor.take(16).hex(), cursor.time()
    boot, offset = cursor.take(16).hex(), cursor.time()
    module = decode_word(cursor.take(cursor.integer(1)), cursor.where)
    base = [cursor.take(16).hex() for _ in range(cursor.integer(1, 0, 1))]
    in_flight = [cursor.take(16).hex() for _ in range(cursor.integer(1, 0, 16))]
    cursor.end()
    return PendingPart(kind, machine, since, boot, offset, module, base, in_flight)


def parse_metadata(data, name, name_key, where):
    metadata = parse_metadata_fields(data, where)
    if item_name(name_key, metadata.namespace, metadata.service, metadata.account) != name:
        raise Corrupt(where, "namespace, service and account do not give NAME")
    return metadata


def parse_metadata_fields(data, where):
    fields = parse_fields(data, {9: 32}, range(1, 10), where)
    if any(tag not in fields for tag in (1, 2, 3, 4)):
        raise Corrupt(where, "namespace, service, account or label is missing")
    limits = {1: (0, 64), 2: (1, 255), 3: (0, 255), 4: (0, 1024)}
    texts = [decode_text(fields[tag][0], *limits[tag], f"{where}, field {tag}") for tag in limits]
    created_at, modified_at = (field_integer(fields, tag, 8, where, signed=True) for tag in (5, 6))
    expires_at = field_integer(fields, 7, 8, where, required=False, signed=True)
    version = field_integer(fields, 8, 8, where)
    if version == 0:
        raise Corrupt(where, "version 0")
    attributes = [parse_attribute(value, where + ", attribute") for value in fields.get(9, [])]
    names = [attribute[0] for attribute in attributes]
    if any(first >= second for first, second in zip(names, names[1:])):
        raise Corrupt(where, "attributes twice or out of order")
    return Metadata(*texts, created_at, modified_at, expires_at, version, attributes, parse_lookup(fields, where))


def parse_lookup(fields, where):
    """What a client of the Secret Service gave an item; None for nothing."""
    content_type, label, item_id, attributes = (fields.get(tag, [None])[0] for tag in range(0x8001, 0x8005))
    if content_type is None:
        if label is not None or item_id is not None or attributes:
            raise Corrupt(where, "the content type is missing")
        return None
    return {
        "content_type": decode_any_text(content_type, 255, where),
        "label": None if label is None else decode_any_text(label, 4096, where),
        "item_id": None if item_id is None else decode_item_id(item_id, where),
        "attributes": parse_lookup_attributes(attributes or b"", where),
    }


def decode_any_text(data, high, where):
    """UTF-8 as D-Bus carries it: with control characters, but for NUL."""
    if len(data) > high:
        raise Corrupt(where, f"{len(data)} bytes, allowed are {high}")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        raise Corrupt(where, "not UTF-8") from None


def decode_item_id(data, where):
    if len(data) != 32 or any(c not in b"0123456789abcdef" for c in data):
        raise Corrupt(where, "an item id that is not 32 hexadecimal digits")
    return data.decode("ascii")


def parse_lookup_attributes(data, where):
    cursor, attributes, previous, length = Cursor(data, where), {}, None, 0
    while cursor.left():
        name = cursor.take(cursor.integer(2))
        value = cursor.take(cursor.integer(2))
        if previous is not None and name <= previous:
            raise Corrupt(where, "lookup attributes twice or out of order")
        attributes[decode_any_text(name, 255, where)] = decode_any_text(value, 16384, where)
        previous, length = name, length + len(name) + len(value)
    if len(attributes) > 256 or length > 49152:
        raise Corrupt(where, "lookup attributes beyond their limits")
    return attributes


def parse_attribute(data, where):
    cursor = Cursor(data, where)
    name = decode_word(cursor.take(cursor.integer(1)), where)
    return name, decode_text(cursor.take(cursor.left()), 0, 1024, where)
