"""A strict second reader of TokenKeep vaults, written from docs/format.md alone.

VaultReader opens a vault directory; it never writes. Errors: Corrupt, Unsupported, NotFound, Locked.
"""

import os
import stat
import struct
from dataclasses import dataclass, field

from vault_keys import HEADER_MAXIMUM, KEYFILE_SIZE, PURPOSE_METADATA, PURPOSE_PRESENCE, parse_header, parse_keyfile
from vault_primitives import (
    BOX_OVERHEAD,
    Corrupt,
    Cursor,
    Locked,
    NotFound,
    VaultError,
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
HOME, OWED, TOMBSTONE = 1, 2, 3
STATE_NAMES = {HOME: "home", OWED: "owed", TOMBSTONE: "tombstone"}
FLAG_PRESENCE = 2
ITEM_FLAGS = 7
KIND_VALUE = 1


class UnknownKey(Corrupt):
    """The header does not know a key id; it is read again once."""


@dataclass
class Prefix:
    data: bytes
    level: int
    flags: int
    metadata_key_id: int
    class_key_id: int
    state_box: bytes
    metadata_box: bytes
    secret_box: bytes

    def metadata_data(self):
        return b"TKmetada" + self.data[8:52] + self.data[64:72]

    def secret_data(self):
        return b"TKsecret" + self.data[8:52] + self.data[72:80] + self.metadata_box

    def state_data(self):
        return b"TKstate_" + self.data + hash_bytes(32, None, self.metadata_box + self.secret_box)


@dataclass
class Debt:
    kind: str
    machine_id: str
    since: int
    module: str
    base: list
    in_flight: list


@dataclass
class State:
    state: int
    changed_at: int
    debts: list
    pending_refresh: bytes | None
    outbox_flags: int | None


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


def item_version(name_key, metadata, level, flags, secret):
    key = subkey(name_key, 4, b"TKname__")
    parts = [text.encode("utf-8") for text in (metadata.namespace, metadata.service, metadata.account, metadata.label)]
    parts += [struct.pack("<I", level), struct.pack("<I", flags), struct.pack("<q", metadata.expires_at or 0)]
    for name, value in metadata.attributes:
        parts += [name.encode("ascii"), value.encode("utf-8")]
    parts.append(hash_bytes(32, key, secret))
    return int.from_bytes(hash_bytes(16, key, length_prefixed(parts))[:8], "little") or 1


def parse_record(data, name, vault_id, name_key_id, where):
    """The prefix and the three boxes, still sealed."""
    cursor = Cursor(data, where)
    cursor.magic_and_version(b"TKRECORD")
    cursor.integer(1, KIND_VALUE, KIND_VALUE)
    cursor.zero(1)
    level = cursor.integer(1, 0, 5)
    cursor.zero(3)
    if cursor.take(16) != vault_id:
        raise Corrupt(where, "belongs to another vault")
    if cursor.take(16).hex() != name:
        raise Corrupt(where, "holds another NAME than its file")
    flags = cursor.integer(4, 0, 7)
    cursor.zero(4)
    if cursor.integer(8) != name_key_id:
        raise UnknownKey(where, "unknown key id of the name key")
    metadata_key_id, class_key_id = cursor.integer(8), cursor.integer(8)
    state_length = cursor.integer(4, BOX_OVERHEAD, STATE_BOX_MAXIMUM)
    low = BOX_OVERHEAD if level else 0
    metadata_length = cursor.integer(4, low, METADATA_BOX_MAXIMUM if level else 0)
    secret_length = cursor.integer(4, low, SECRET_BOX_MAXIMUM if level else 0)
    cursor.zero(4)
    if not level and (metadata_key_id or class_key_id):
        raise Corrupt(where, "a tombstone that names keys")
    boxes = [cursor.take(length) for length in (state_length, metadata_length, secret_length)]
    cursor.end()
    return Prefix(data[:PREFIX_SIZE], level, flags, metadata_key_id, class_key_id, *boxes)


def parse_state(data, level, name, name_key, where):
    fields = parse_fields(data, {3: 64}, {1, 2, 3, 4, 16, 17}, where)
    state = field_integer(fields, 1, 1, where)
    debts = [parse_debt(value, where) for value in fields.get(3, [])]
    pending = fields.get(16, [None])[0]
    if state not in STATE_NAMES:
        raise Corrupt(where, f"state {state}")
    if (state == TOMBSTONE) != (level == 0):
        raise Corrupt(where, f"state {STATE_NAMES[state]} in a record of level {level}")
    if state == HOME and debts:
        raise Corrupt(where, "a home with debts")
    if 4 in fields:
        if state != TOMBSTONE:
            raise Corrupt(where, "a name in the state of a record that is no tombstone")
        if item_name(name_key, *parse_names(fields[4][0], where)) != name:
            raise Corrupt(where, "the state names another item than NAME")
    if pending is not None and len(pending) > 32768:
        raise Corrupt(where, "a pending refresh of more than 32768 bytes")
    changed_at = field_integer(fields, 2, 8, where, signed=True)
    return State(state, changed_at, debts, pending, field_integer(fields, 17, 4, where, required=False))


def parse_names(data, where):
    """Namespace, service and account."""
    cursor = Cursor(data, where)
    names = [decode_text(cursor.take(cursor.integer(4)), *limits, where) for limits in ((0, 64), (1, 255), (0, 255))]
    cursor.end()
    return tuple(names)


def parse_debt(data, where):
    cursor = Cursor(data, where + ", debt")
    kind = {1: "put", 2: "delete"}[cursor.integer(1, 1, 2)]
    machine_id, since = cursor.take(16).hex(), cursor.time()
    module = decode_word(cursor.take(cursor.integer(1)), cursor.where)
    base = [cursor.take(16).hex() for _ in range(cursor.integer(1, 0, 1))]
    in_flight = [cursor.take(16).hex() for _ in range(cursor.integer(1, 0, 16))]
    cursor.end()
    return Debt(kind, machine_id, since, module, base, in_flight)


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
    return Metadata(*texts, created_at, modified_at, expires_at, version, attributes)


def parse_attribute(data, where):
    cursor = Cursor(data, where)
    name = decode_word(cursor.take(cursor.integer(1)), where)
    return name, decode_text(cursor.take(cursor.left()), 0, 1024, where)


class VaultReader:
    """A vault that is there. `password` and `code` (bytes) open slots besides the keyfile slot."""

    def __init__(self, directory, password=None, code=None):
        self.directory, self.password, self.code = directory, password, code
        if not any(self.exists(name) for name in ("header", "header.2")):
            if self.record_names():
                raise Corrupt("header", "there are records, but no header")
            raise NotFound(directory, "no vault")
        if not self.exists("keyfile"):
            raise Corrupt("keyfile", "there is a header, but no keyfile")
        self.keyfile = parse_keyfile(self.read("keyfile", KEYFILE_SIZE + 1))
        self.read_header()

    def exists(self, name):
        return os.path.lexists(os.path.join(self.directory, name))

    def read(self, name, limit):
        """At most `limit` bytes of the file."""
        try:
            descriptor = os.open(os.path.join(self.directory, name), os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        except FileNotFoundError:
            raise NotFound(name, "no such file") from None
        with os.fdopen(descriptor, "rb") as file:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                raise Corrupt(name, "not a regular file")
            return file.read(limit)

    def read_header_copy(self, name):
        return parse_header(self.read(name, HEADER_MAXIMUM + 1), self.keyfile, name, self.password, self.code)

    def read_header(self):
        try:
            self.header = self.read_header_copy("header")
        except VaultError as first:
            try:
                self.header = self.read_header_copy("header.2")
            except NotFound:
                raise first from None
            except VaultError as second:
                raise (second if isinstance(first, NotFound) else first) from None

    def record_names(self):
        try:
            names = os.listdir(os.path.join(self.directory, "records"))
        except FileNotFoundError:
            return []
        return sorted(name for name in names if len(name) == 32 and set(name) <= set("0123456789abcdef"))

    def load(self, namespace, service, account):
        """The item with its secret."""
        name = item_name(self.header.name_key, namespace, service, account)
        item = self.read_item(name)
        if item.state.state == TOMBSTONE:
            raise NotFound("records/" + name, "cleared")
        if item.secret is None:
            raise Locked("records/" + name, "its keys are in no slot that could be opened")
        return item

    def read_item(self, name):
        """The item as far as the opened slots reach; a tombstone too."""
        data = self.read("records/" + name, RECORD_MAXIMUM + 1)
        try:
            return self.parse_item(data, name)
        except UnknownKey:
            self.read_header()
            return self.parse_item(data, name)

    def parse_item(self, data, name):
        where, name_key = "records/" + name, self.header.name_key
        prefix = parse_record(data, name, self.keyfile.vault_id, self.header.name_key_id, where)
        state_plain = open_box(
            subkey(name_key, 2, b"TKname__"), prefix.state_data(), prefix.state_box, where + ", state"
        )
        state = parse_state(state_plain, prefix.level, name, name_key, where + ", state")
        item = Item(name, prefix.level, prefix.flags, state)
        if item.state.state == TOMBSTONE:
            return item
        metadata_key = self.key(PURPOSE_METADATA, prefix.metadata_key_id, where)
        class_key = self.key(prefix.level, prefix.class_key_id, where)
        if metadata_key:
            plain = open_box(metadata_key, prefix.metadata_data(), prefix.metadata_box, where + ", metadata")
            item.metadata = parse_metadata(plain, name, name_key, where + ", metadata")
        if metadata_key and class_key:
            self.open_secret(item, prefix, class_key, where)
        return item

    def key(self, purpose, key_id, where):
        """None where the key stands only in slots that were not opened."""
        if (purpose, key_id) not in self.header.wrapped:
            raise UnknownKey(where, f"key id {key_id:016x} for purpose {purpose} is not in the header")
        return self.header.opened.get((purpose, key_id))

    def secret_keys(self, prefix, class_key):
        """What the secret may be sealed under; nothing where no slot that was opened has the presence key."""
        if not prefix.flags & FLAG_PRESENCE:
            return [class_key]
        presence = [
            (state, key_id) for (purpose, key_id), state in self.header.wrapped.items() if purpose == PURPOSE_PRESENCE
        ]
        opened = [self.header.opened.get((PURPOSE_PRESENCE, key_id)) for _, key_id in sorted(presence)]
        return [hash_bytes(32, class_key, key) for key in opened if key]

    def open_secret(self, item, prefix, class_key, where):
        keys = self.secret_keys(prefix, class_key)
        if not keys:
            return
        item.secret = self.open_with_any(keys, prefix, where + ", secret")
        if (
            item_version(self.header.name_key, item.metadata, item.level, item.flags, item.secret)
            != item.metadata.version
        ):
            raise Corrupt(where, "the version is not the hash of the item")

    @staticmethod
    def open_with_any(keys, prefix, where):
        """A record does not name its presence key, so the current one and then the retiring one are tried."""
        for key in keys[:-1]:
            try:
                return open_box(key, prefix.secret_data(), prefix.secret_box, where)
            except Corrupt:
                continue
        return open_box(keys[-1], prefix.secret_data(), prefix.secret_box, where)
