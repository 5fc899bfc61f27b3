"""Writes records deterministically: right ones and, where told to, wrong ones that authenticate."""

import struct
from dataclasses import dataclass, field

from vault_format import Metadata, item_version
from vault_primitives import BOX_OVERHEAD, hash_bytes, length_prefixed, subkey
from vault_writer import CREATED_AT, Fields, sealed, seeded


def encode_fields(pairs):
    """Fields as they are given: nobody sorts or checks them."""
    return b"".join(struct.pack("<HI", tag, len(value)) + value for tag, value in pairs)


def attribute(name, value):
    return bytes([len(name)]) + name + value


def lookup_attributes(pairs):
    """The value of field 0x8004, in the order given."""
    return b"".join(struct.pack("<H", len(text)) + text for pair in pairs for text in pair)


def pending_part(kind, module=b"a-module-of-old-times", base=(), in_flight=(), module_length=None, machine=None):
    head = struct.pack("<B16sq16sq", kind, machine or seeded("machine", 16), CREATED_AT, seeded("boot", 16), CREATED_AT * 1000)
    head += bytes([len(module) if module_length is None else module_length]) + module
    return head + bytes([len(base)]) + b"".join(base) + bytes([len(in_flight)]) + b"".join(in_flight)


@dataclass
class ItemPlan:
    """An item of a vault; `sealed_record` makes its record. Overrides replace what the item would give."""

    service: str
    account: str
    secret: bytes
    namespace: str = ""
    label: str = ""
    level: int = 2
    flags: int = 0
    expires_at: int | None = None
    attributes: list = field(default_factory=list)
    modified_at: int = CREATED_AT

    def names(self):
        return (self.namespace, self.service, self.account)

    def version(self, vault):
        texts = (*self.names(), self.label)
        metadata = Metadata(*texts, CREATED_AT, self.modified_at, self.expires_at, 0, self.attributes)
        return item_version(vault.journal_key.secret, metadata, self.level, self.flags, self.secret)

    def metadata_pairs(self, vault):
        texts = [text.encode("utf-8") for text in (*self.names(), self.label)]
        pairs = [(tag + 1, text) for tag, text in enumerate(texts)]
        pairs += [(5, struct.pack("<q", CREATED_AT)), (6, struct.pack("<q", self.modified_at))]
        if self.expires_at is not None:
            pairs.append((7, struct.pack("<q", self.expires_at)))
        pairs.append((8, struct.pack("<Q", self.version(vault))))
        pairs += [(9, attribute(name.encode("ascii"), value.encode("utf-8"))) for name, value in self.attributes]
        return pairs


def reversioned(vault, item, pairs):
    """The same metadata with the version that their bytes give, right or wrong: so a wrong field is the only fault."""
    key = subkey(vault.journal_key.secret, 3, b"TKjourn_")
    first = {}
    for tag, value in pairs:
        first.setdefault(tag, value)
    parts = [first.get(tag, b"") for tag in (1, 2, 3, 4)]
    parts += [struct.pack("<I", item.level), struct.pack("<I", item.flags), first.get(7, bytes(8))]
    for tag, value in pairs:
        if tag == 9:
            end = 1 + (value[0] if value else 0)
            parts += [value[1:end], value[end:]]
    parts.append(hash_bytes(32, key, item.secret))
    number = int.from_bytes(hash_bytes(16, key, length_prefixed(parts))[:8], "little") or 1
    return [(tag, struct.pack("<Q", number) if tag == 8 else value) for tag, value in pairs]


def state_pairs(*more):
    return [(2, struct.pack("<q", CREATED_AT)), *more]


class RecordPlan:
    """A record before its boxes are joined: every part can be replaced, `fields` seals the state over all of it."""

    def __init__(self, vault, item, state=None, metadata=None, class_key=None, metadata_key=None, **prefix):
        self.vault, self.item = vault, item
        self.metadata_key = metadata_key or vault.metadata_key
        self.class_key = class_key or vault.class_keys[item.level]
        self.prefix = {
            "magic": b"TKRECORD",
            "version": 1,
            "kind": 1,
            "kind_reserved": 0,
            "level": item.level,
            "level_reserved": bytes(3),
            "vault_id": vault.vault_id,
            "name": bytes.fromhex(vault.name_of(*item.names())),
            "flags": item.flags,
            "flags_reserved": 0,
            "era": vault.era,
            "metadata_key_id": self.metadata_key.key_id,
            "class_key_id": self.class_key.key_id,
        }
        self.prefix.update(prefix)
        self.state_plain = encode_fields(state_pairs() if state is None else state)
        metadata_plain = encode_fields(item.metadata_pairs(vault)) if metadata is None else metadata
        self.seal_metadata(metadata_plain)
        self.seal_secret()

    def head(self):
        """Bytes 0 to 79 of the prefix."""
        return struct.pack("<8sHBBB3s16s16sIIQQQ", *self.prefix.values())

    def seal_metadata(self, plain):
        self.metadata_plain = plain
        data = b"TKmetada" + self.head()[8:52] + self.head()[56:72]
        self.metadata_box = sealed(self.metadata_key.secret, data, plain)

    def seal_secret(self):
        data = b"TKsecret" + self.head()[8:52] + self.head()[56:64] + self.head()[72:80] + self.metadata_box
        self.secret_box = sealed(self.class_key.secret, data, self.item.secret)

    def fields(self, state_length=None, metadata_length=None, secret_length=None, last_reserved=0):
        """The record; a length that is given stands in the prefix instead of the true one."""
        lengths = (state_length, metadata_length, secret_length)
        true = (len(self.state_plain) + BOX_OVERHEAD, len(self.metadata_box), len(self.secret_box))
        tail = struct.pack("<4I", *(t if g is None else g for g, t in zip(lengths, true)), last_reserved)
        prefix = self.head() + tail
        data = b"TKstate_" + prefix + hash_bytes(32, None, self.metadata_box + self.secret_box)
        state_box = sealed(subkey(self.vault.name_key.secret, 2, b"TKname__"), data, self.state_plain)
        fields, offset = Fields(), 0
        for name, size in PREFIX_LAYOUT:
            fields.add("prefix-" + name, prefix[offset : offset + size])
            offset += size
        for name, box in (("state", state_box), ("metadata", self.metadata_box), ("secret", self.secret_box)):
            if box:
                fields.add_box(name, box)
        return fields

    def with_writes_mac(self, pairs):
        """The same state with a right MAC of its pending writes."""
        writes = [value for tag, value in pairs if tag == 3 and value[0] == 1]
        boxes = hash_bytes(32, None, self.metadata_box + self.secret_box)
        data = b"TKwrites" + self.head()[8:52] + boxes + length_prefixed(writes)
        mac = hash_bytes(32, subkey(self.metadata_key.secret, 1, b"TKmetada"), data)
        self.state_plain = encode_fields(sorted([*pairs, (7, mac)], key=lambda pair: pair[0]))
        return self

    def data(self, **lengths):
        return self.fields(**lengths).data


PREFIX_LAYOUT = [
    ("magic", 8),
    ("version", 2),
    ("kind", 1),
    ("kind-reserved", 1),
    ("level", 1),
    ("level-reserved", 3),
    ("vault-id", 16),
    ("name", 16),
    ("flags", 4),
    ("flags-reserved", 4),
    ("era", 8),
    ("metadata-key-id", 8),
    ("class-key-id", 8),
    ("state-length", 4),
    ("metadata-length", 4),
    ("secret-length", 4),
    ("last-reserved", 4),
]


def without_boxes(vault, item, state, **prefix):
    """A record of a prefix and a state box alone: a tombstone."""
    zeros = {"level": 0, "flags": 0, "metadata_key_id": 0, "class_key_id": 0, **prefix}
    record = RecordPlan(vault, item, state, **zeros)
    record.metadata_box = record.secret_box = b""
    return record
