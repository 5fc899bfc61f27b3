"""Writes keyfiles and headers deterministically, right ones and, where told to, wrong ones that authenticate.

Keys and ids come from a label, nonces from what is sealed: the same input gives the same bytes, whatever was made before.
"""

import struct
from dataclasses import dataclass, replace

from vault_format import item_id, item_name
from vault_header import HEADER_HEAD, MACS_SIZE, mac_a, mac_b
from vault_keys import (
    CURRENT,
    FORM_BLOB,
    FORM_INDEX,
    FORM_NONE,
    PROVIDER_MACHINE_KEY,
    PROVIDER_SYSTEMD,
    PROVIDER_TPM2,
    PURPOSE_HEADER,
    PURPOSE_JOURNAL,
    PURPOSE_METADATA,
    PURPOSE_NAME,
    PURPOSE_PRESENCE,
    SLOT_DEVICE,
    SLOT_KEYFILE,
    SLOT_PASSWORD,
    SLOT_RECOVERY,
    WRAPPED_KEY_BOX,
    Keyfile,
    device_derived,
    machine_key_name,
    wrapped_key_data,
)
from vault_primitives import BOX_OVERHEAD, argon2id, hash_bytes, seal_box, subkey

CREATED_AT = 1767225600  # 2026-01-01 00:00:00 UTC
SLOT_REST, WRAPPED_KEY = 84, 88


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

    def identity(self):
        return self.purpose, self.state, self.key_id


def new_key(label, purpose, state=CURRENT):
    key_id = int.from_bytes(seeded(label + " id", 8), "little")
    return Key(purpose, key_id, seeded(label, 32), state)


@dataclass
class SlotPlan:
    """A slot of type 1 to 4. `derived`: its key-encryption key and its commitment."""

    keys: list
    derived: bytes
    type: int = SLOT_KEYFILE
    slot_id: int = 7
    derivation: int = 0
    passes: int = 0
    memory_kib: int = 0
    salt: bytes = bytes(16)
    extension: bytes = b""


def argon_slot(keys, secret, slot_type=SLOT_PASSWORD, passes=1, memory_kib=8, slot_id=8):
    salt = seeded(f"salt of slot {slot_id}", 16)
    return SlotPlan(keys, argon2id(secret, salt, passes, memory_kib), slot_type, slot_id, 1, passes, memory_kib, salt)


def device_extension(base, name, provider=PROVIDER_MACHINE_KEY, form=FORM_NONE, data=b"", reserved=b"\0"):
    return struct.pack("<BBBcHH", provider, base, form, reserved, len(name), len(data)) + name + data


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

    def add_all(self, other):
        for name, (offset, size) in other.places.items():
            self.add(name, other.data[offset : offset + size])


class VaultPlan:
    """Keys of an era of a vault. `label` makes another vault with other keys; vault id and journal key outlive eras."""

    def __init__(self, label="vault", era=1):
        own = f"{label} era {era}"
        self.vault_id, self.era = seeded(label + " id", 16), era
        self.journal_key = new_key(label + " journal", PURPOSE_JOURNAL)
        self.keyfile = Keyfile(self.vault_id, era, seeded(own + " keyfile", 32))
        self.name_key = new_key(own + " name", PURPOSE_NAME)
        self.metadata_key = new_key(own + " metadata", PURPOSE_METADATA)
        self.header_key = new_key(own + " header", PURPOSE_HEADER)
        self.presence_key = new_key(own + " presence", PURPOSE_PRESENCE)
        self.class_keys = {level: new_key(f"{own} class {level}", level) for level in range(1, 6)}

    def keys(self):
        """The current keys of a keyfile slot, and of a recovery slot."""
        return [self.class_keys[1], self.class_keys[2], self.metadata_key, self.header_key]

    def keyfile_slot(self, **changes):
        return replace(SlotPlan(self.keys(), self.keyfile.derived()), **changes)

    def password_slot(self, password, retiring=(), **costs):
        return argon_slot([*self.keys(), self.presence_key, *retiring], password, **costs)

    def recovery_slot(self, symbols, retiring=()):
        return argon_slot([*self.keys(), *retiring], symbols, SLOT_RECOVERY, slot_id=9)

    def device_slot(self, base, machine_key, levels=None, slot_id=10, **changes):
        """A device slot whose base is another slot, bound to a machine key."""
        kinds = {SLOT_PASSWORD: (3, 4, 5)}.get(base.type, (3, 4)) if levels is None else levels
        derived = device_derived(base.derived[:32], subkey(machine_key, 1, b"TKmachin"))
        extension = device_extension(base.type, machine_key_name(machine_key))
        costs = (base.derivation, base.passes, base.memory_kib, base.salt)
        keys = [self.class_keys[level] for level in kinds]
        return replace(SlotPlan(keys, derived, SLOT_DEVICE, slot_id, *costs, extension), **changes)

    def tpm_slot(self, base, name, secret, blob=b"blob", levels=None):
        """A device slot whose base is another slot, bound to the TPM of this name, which sealed the secret."""
        extension = device_extension(base.type, name, PROVIDER_TPM2, FORM_BLOB, blob)
        derived = device_derived(base.derived[:32], secret)
        return self.device_slot(base, bytes(32), levels=levels, derived=derived, extension=extension)

    def tpm_index_slot(self, base, name, secret, number, slot_id=11):
        """A device slot whose base is the password's slot; its secret lies in an index of the TPM of this name."""
        extension = device_extension(base.type, name, PROVIDER_TPM2, FORM_INDEX, number)
        derived = device_derived(base.derived[:32], secret)
        return self.device_slot(base, bytes(32), levels=(5,), slot_id=slot_id, derived=derived, extension=extension)

    def systemd_slot(self, base, secret, credential):
        """A device slot whose base is another slot, with the credential in which systemd encrypted the secret."""
        extension = device_extension(base.type, b"", PROVIDER_SYSTEMD, FORM_BLOB, credential)
        return self.device_slot(base, bytes(32), derived=device_derived(base.derived[:32], secret), extension=extension)

    def name_of(self, namespace, service, account):
        return item_name(self.name_key.secret, namespace, service, account)

    def id_of(self, namespace, service, account):
        return item_id(self.journal_key.secret, namespace, service, account)

    def folder(self):
        return f"era-{self.era}/"

    def keyfile_fields(self, version=1, reserved=bytes(6), era=None, era_reserved=bytes(8)):
        fields = Fields()
        fields.add("magic", b"TKKEYFIL")
        fields.add("version", struct.pack("<H", version))
        fields.add("reserved", reserved)
        fields.add("vault-id", self.vault_id)
        fields.add("era", struct.pack("<Q", self.era if era is None else era))
        fields.add("era-reserved", era_reserved)
        fields.add("key", self.keyfile.key)
        fields.add("checksum", hash_bytes(32, None, fields.data))
        return fields

    def header_fields(self, slots=None, epoch=1, version=1, vault_id=None, era=None, **keys):
        """`slots`: SlotPlans, and (type, bytes) for a slot of an unknown type. `keys`: other ones than the vault's,
        as name_key."""
        slots = [self.keyfile_slot()] if slots is None else slots
        keys = {"name_key": self.name_key, "journal_key": self.journal_key, "header_key": self.header_key} | keys
        keyfile = replace(self.keyfile, vault_id=vault_id or self.vault_id, era=self.era if era is None else era)
        fields, rest = Fields(), Fields()
        for number, slot in enumerate(slots):
            add_slot(rest, f"slot{number + 1}-", slot, keyfile)
        fields.add("magic", b"TKHEADER")
        fields.add("version", struct.pack("<H", version))
        fields.add("slot-count", struct.pack("<H", len(slots)))
        fields.add("length", struct.pack("<I", HEADER_HEAD + len(rest.data) + MACS_SIZE))
        fields.add("vault-id", keyfile.vault_id)
        fields.add("era", struct.pack("<Q", keyfile.era))
        fields.add("epoch", struct.pack("<Q", epoch))
        fields.add("created-at", struct.pack("<q", CREATED_AT))
        for word in ("name", "journal"):
            add_keyfile_key(fields, word + "-key", keys[word + "_key"], keyfile)
        fields.add_all(rest)
        fields.add("mac-a", mac_a(keys["name_key"].secret, fields.data))
        fields.add("mac-b", mac_b(keys["header_key"].secret, fields.data))
        return fields

    def with_macs(self, body, header_key=None):
        """`body`: a header without its MACs."""
        body += mac_a(self.name_key.secret, body)
        return body + mac_b((header_key or self.header_key).secret, body)

    def patched_header(self, field_name, value, fields=None, append=b"", header_key=None):
        """A header with another value in one field (`append`: bytes before the MACs), and MACs that fit."""
        fields = fields or self.header_fields()
        return self.with_macs(patched(fields, field_name, value)[:-MACS_SIZE] + append, header_key)


def patched(fields, name, value):
    offset, size = fields.places[name]
    if len(value) != size:
        raise ValueError(f"{name} has {size} bytes")
    return fields.data[:offset] + value + fields.data[offset + size :]


def add_keyfile_key(fields, name, key, keyfile):
    """The name key or the journal key."""
    fields.add(name + "-id", struct.pack("<Q", key.key_id))
    data = wrapped_key_data(keyfile.vault_id, keyfile.era, SLOT_KEYFILE, 0, key.identity())
    fields.add_box(name, sealed(keyfile.wrapping_key(), data, key.secret))


def add_slot(fields, prefix, slot, keyfile):
    is_unknown = isinstance(slot, tuple)
    length = len(slot[1]) if is_unknown else SLOT_REST + WRAPPED_KEY * len(slot.keys) + len(slot.extension)
    fields.add(prefix + "type", struct.pack("<H", slot[0] if is_unknown else slot.type))
    fields.add(prefix + "reserved", bytes(2))
    fields.add(prefix + "length", struct.pack("<I", length))
    if is_unknown:
        fields.add(prefix + "rest", slot[1])
        return
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
    fields.add(prefix + "commitment", slot.derived[32:])
    for number, key in enumerate(slot.keys):
        add_wrapped_key(fields, f"{prefix}key{number + 1}-", key, slot, keyfile)
    if slot.extension:
        fields.add(prefix + "extension", slot.extension)


def add_wrapped_key(fields, prefix, key, slot, keyfile):
    fields.add(prefix + "purpose", bytes([key.purpose]))
    fields.add(prefix + "state", bytes([key.state]))
    fields.add(prefix + "reserved", bytes(6))
    fields.add(prefix + "id", struct.pack("<Q", key.key_id))
    data = wrapped_key_data(keyfile.vault_id, keyfile.era, slot.type, slot.slot_id, key.identity())
    box = sealed(slot.derived[:32], data, key.secret)
    assert len(box) == WRAPPED_KEY_BOX
    fields.add_box(prefix + "box", box)
