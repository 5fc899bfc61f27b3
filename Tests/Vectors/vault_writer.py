"""Writes vaults deterministically, right ones and, where told to, wrong ones that authenticate.

Keys and ids come from a label, nonces from what is sealed: the same input gives the same bytes, whatever was made before.
"""

import struct
from dataclasses import dataclass, field, replace

from vault_format import HOME, Metadata, item_name, item_version
from vault_keys import (
    CURRENT,
    MAC_SIZE,
    PURPOSE_METADATA,
    PURPOSE_NAME,
    SLOT_KEYFILE,
    WRAPPED_KEY_BOX,
    header_mac,
    wrapped_key_data,
)
from vault_primitives import BOX_OVERHEAD, hash_bytes, length_prefixed, seal_box, subkey

CREATED_AT = 1767225600  # 2026-01-01 00:00:00 UTC


def seeded(label, size):
    return hash_bytes(size, b"TokenKeep vectors", label.encode("utf-8"))


def sealed(key, data, plaintext):
    return seal_box(key, data, plaintext, hash_bytes(24, key, data + plaintext))


@dataclass
class Key:
    purpose: int
    key_id: int
    secret: bytes
    state: int = CURRENT


def new_key(label, purpose, state=CURRENT):
    key_id = int.from_bytes(seeded(label + " id", 8), "little")
    return Key(purpose, key_id, seeded(label, 32), state)


@dataclass
class SlotPlan:
    """A slot of type 1 to 4. The keyfile slot is the default; `kek` is its key-encryption key."""

    keys: list
    kek: bytes
    type: int = SLOT_KEYFILE
    slot_id: int = 7
    derivation: int = 0
    passes: int = 0
    memory_kib: int = 0
    salt: bytes = bytes(16)
    extension: bytes = b""


class Fields:
    """Bytes that are put together from named fields, so that one of them can be found and spoilt."""

    def __init__(self):
        self.data, self.places = b"", {}

    def add(self, name, value):
        self.places[name] = (len(self.data), len(value))
        self.data += value

    def add_box(self, name, box):
        self.add(name + "-nonce", box[:24])
        if len(box) > BOX_OVERHEAD:
            self.add(name + "-ciphertext", box[24:-16])
        self.add(name + "-tag", box[-16:])


class VaultPlan:
    """Keys of a vault. `label` makes another vault with other keys."""

    def __init__(self, label="vault"):
        self.vault_id = seeded(label + " id", 16)
        self.keyfile_key = seeded(label + " keyfile", 32)
        self.name_key = new_key(label + " name", PURPOSE_NAME)
        self.metadata_key = new_key(label + " metadata", PURPOSE_METADATA)
        self.class_keys = {level: new_key(f"{label} class {level}", level) for level in (1, 2)}

    def kek(self):
        return subkey(self.keyfile_key, 1, b"TKkeyfil")

    def keyfile_slot(self, **changes):
        keys = [self.class_keys[1], self.class_keys[2], self.metadata_key]
        return replace(SlotPlan(keys, self.kek()), **changes)

    def name_of(self, namespace, service, account):
        return item_name(self.name_key.secret, namespace, service, account)

    def keyfile_fields(self, version=1, reserved=bytes(6)):
        fields = Fields()
        fields.add("magic", b"TKKEYFIL")
        fields.add("version", struct.pack("<H", version))
        fields.add("reserved", reserved)
        fields.add("vault-id", self.vault_id)
        fields.add("key", self.keyfile_key)
        fields.add("checksum", hash_bytes(32, None, fields.data))
        return fields

    def header_fields(self, slots=None, epoch=1, version=1, vault_id=None):
        """`slots`: SlotPlans, and (type, bytes) for a slot of an unknown type."""
        slots = [self.keyfile_slot()] if slots is None else slots
        vault_id = vault_id or self.vault_id
        fields, rest = Fields(), Fields()
        for number, slot in enumerate(slots):
            add_slot(rest, f"slot{number + 1}-", slot, vault_id)
        fields.add("magic", b"TKHEADER")
        fields.add("version", struct.pack("<H", version))
        fields.add("slot-count", struct.pack("<H", len(slots)))
        fields.add("length", struct.pack("<I", 136 + len(rest.data) + MAC_SIZE))
        fields.add("vault-id", vault_id)
        fields.add("epoch", struct.pack("<Q", epoch))
        fields.add("created-at", struct.pack("<q", CREATED_AT))
        fields.add("name-key-id", struct.pack("<Q", self.name_key.key_id))
        fields.add("name-key-reserved", bytes(8))
        data = wrapped_key_data(vault_id, SLOT_KEYFILE, 0, PURPOSE_NAME, CURRENT, self.name_key.key_id)
        fields.add_box("name-key", sealed(self.kek(), data, self.name_key.secret))
        for name, (offset, size) in rest.places.items():
            fields.add(name, rest.data[offset : offset + size])
        fields.add("mac", header_mac(self.name_key.secret, fields.data))
        return fields

    def patched_header(self, field_name, value, fields=None, append=b""):
        """A header with another value in one field (`append`: bytes before the MAC), and a MAC that fits."""
        fields = fields or self.header_fields()
        body = patched(fields, field_name, value)[:-MAC_SIZE] + append
        return body + header_mac(self.name_key.secret, body)


def patched(fields, name, value):
    offset, size = fields.places[name]
    if len(value) != size:
        raise ValueError(f"{name} has {size} bytes")
    return fields.data[:offset] + value + fields.data[offset + size :]


def add_slot(fields, prefix, slot, vault_id):
    if isinstance(slot, tuple):
        fields.add(prefix + "type", struct.pack("<H", slot[0]))
        fields.add(prefix + "reserved", bytes(2))
        fields.add(prefix + "length", struct.pack("<I", len(slot[1])))
        fields.add(prefix + "rest", slot[1])
        return
    fields.add(prefix + "type", struct.pack("<H", slot.type))
    fields.add(prefix + "reserved", bytes(2))
    fields.add(prefix + "length", struct.pack("<I", 52 + 96 * len(slot.keys) + len(slot.extension)))
    fields.add(prefix + "id", struct.pack("<Q", slot.slot_id))
    fields.add(prefix + "derivation", bytes([slot.derivation]))
    fields.add(prefix + "derivation-reserved", bytes(3))
    fields.add(prefix + "passes", struct.pack("<I", slot.passes))
    fields.add(prefix + "memory", struct.pack("<I", slot.memory_kib))
    fields.add(prefix + "salt", slot.salt)
    fields.add(prefix + "created-at", struct.pack("<q", CREATED_AT))
    fields.add(prefix + "key-count", struct.pack("<H", len(slot.keys)))
    fields.add(prefix + "key-count-reserved", bytes(2))
    fields.add(prefix + "extension-length", struct.pack("<I", len(slot.extension)))
    for number, key in enumerate(slot.keys):
        add_wrapped_key(fields, f"{prefix}key{number + 1}-", key, slot, vault_id)
    if slot.extension:
        fields.add(prefix + "extension", slot.extension)


def add_wrapped_key(fields, prefix, key, slot, vault_id):
    fields.add(prefix + "purpose", bytes([key.purpose]))
    fields.add(prefix + "state", bytes([key.state]))
    fields.add(prefix + "reserved", bytes(6))
    fields.add(prefix + "id", struct.pack("<Q", key.key_id))
    fields.add(prefix + "id-reserved", bytes(8))
    data = wrapped_key_data(vault_id, slot.type, slot.slot_id, key.purpose, key.state, key.key_id)
    box = sealed(slot.kek, data, key.secret)
    assert len(box) == WRAPPED_KEY_BOX
    fields.add_box(prefix + "box", box)


def encode_fields(pairs):
    """Fields as they are given: nobody sorts or checks them."""
    return b"".join(struct.pack("<HI", tag, len(value)) + value for tag, value in pairs)


def attribute(name, value):
    return bytes([len(name)]) + name + value


def debt(kind, module=b"a-module-of-old-times", base=(), in_flight=(), module_length=None):
    head = struct.pack("<B16sq", kind, seeded("machine", 16), CREATED_AT)
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
        return item_version(vault.name_key.secret, metadata, self.level, self.flags, self.secret)

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
    key = subkey(vault.name_key.secret, 4, b"TKname__")
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


def state_pairs(state=HOME, *more):
    return [(1, bytes([state])), (2, struct.pack("<q", CREATED_AT)), *more]


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
            "name_key_id": vault.name_key.key_id,
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
        data = b"TKmetada" + self.head()[8:52] + self.head()[64:72]
        self.metadata_box = sealed(self.metadata_key.secret, data, plain)

    def seal_secret(self):
        data = b"TKsecret" + self.head()[8:52] + self.head()[72:80] + self.metadata_box
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
    ("name-key-id", 8),
    ("metadata-key-id", 8),
    ("class-key-id", 8),
    ("state-length", 4),
    ("metadata-length", 4),
    ("secret-length", 4),
    ("last-reserved", 4),
]


def without_boxes(vault, item, state, **prefix):
    """A record of a prefix and a state box alone: a tombstone where the state says so."""
    zeros = {"level": 0, "flags": 0, "metadata_key_id": 0, "class_key_id": 0, **prefix}
    record = RecordPlan(vault, item, state, **zeros)
    record.metadata_box = record.secret_box = b""
    return record
