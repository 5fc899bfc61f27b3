"""`keyfile`, slots and wrapped keys: docs/format.md, sections 2 and 3."""

import struct
from dataclasses import dataclass, field

from vault_primitives import BOX_OVERHEAD, Corrupt, Cursor, argon2id, hash_bytes, parse_costs, subkey

KEYFILE_SIZE = 112
WRAPPED_KEY_BOX = 32 + BOX_OVERHEAD
COMMITMENT_SIZE = 32
SLOT_KEYFILE, SLOT_PASSWORD, SLOT_RECOVERY, SLOT_DEVICE = 1, 2, 3, 4
PURPOSE_NAME, PURPOSE_METADATA, PURPOSE_PRESENCE, PURPOSE_HEADER, PURPOSE_JOURNAL = 16, 17, 18, 19, 20
PURPOSES_IN_SLOTS = {1, 2, 3, 4, 5, PURPOSE_METADATA, PURPOSE_PRESENCE, PURPOSE_HEADER}
CURRENT_IN_EACH_SLOT = [1, 2, PURPOSE_METADATA, PURPOSE_HEADER]
RETIRING_PURPOSES = {1, 2, 3, 4, 5, PURPOSE_PRESENCE}
CURRENT, RETIRING = 0, 1
PROVIDER_TPM2, PROVIDER_SYSTEMD, PROVIDER_MACHINE_KEY = 1, 2, 3
# Credentials of systemd that need the host's key and the TPM 2.0, for one user: without and with a signed PCR policy.
CREDENTIAL_TYPES = tuple(map(bytes.fromhex, ("ef4ac13679a9480ea7db68897f9f165d", "adbc4ca3efb64201ba881b6f2e4095ea")))
FORM_NONE, FORM_BLOB, FORM_INDEX = 0, 1, 2
NAME_SIZES = {PROVIDER_TPM2: 34, PROVIDER_SYSTEMD: 0, PROVIDER_MACHINE_KEY: 32}
DEVICE_PURPOSES = {3, 4, 5}


@dataclass
class Keyfile:
    vault_id: bytes
    era: int
    key: bytes

    def wrapping_key(self):
        return subkey(self.key, 1, b"TKkeyfil")

    def derived(self):
        """The 64 bytes that open the keyfile slot."""
        return self.wrapping_key() + subkey(self.key, 2, b"TKkeyfil")


@dataclass
class WrappedKey:
    purpose: int
    state: int
    key_id: int
    box: bytes

    def identity(self):
        return self.purpose, self.state, self.key_id


@dataclass
class Slot:
    type: int
    slot_id: int = 0
    passes: int = 0
    memory_kib: int = 0
    salt: bytes = b""
    commitment: bytes = b""
    wrapped: list = field(default_factory=list)
    device: object = None

    def costs(self):
        return self.passes, self.memory_kib, self.salt

    def derived(self, secret):
        """The 64 bytes that a password or a recovery code gives."""
        return argon2id(secret, self.salt, self.passes, self.memory_kib)


def parse_keyfile(data, era, where="keyfile"):
    cursor = Cursor(data, where)
    cursor.magic_and_version(b"TKKEYFIL")
    if len(data) != KEYFILE_SIZE:
        raise Corrupt(where, f"{len(data)} bytes instead of {KEYFILE_SIZE}")
    cursor.zero(6)
    vault_id, own_era = cursor.take(16), cursor.integer(8)
    cursor.zero(8)
    keyfile = Keyfile(vault_id, own_era, cursor.take(32))
    if cursor.take(32) != hash_bytes(32, None, data[:80]):
        raise Corrupt(where, "checksum differs")
    if own_era != era:
        raise Corrupt(where, f"made for era {own_era}")
    return keyfile


def wrapped_key_data(vault_id, era, slot_type, slot_id, identity):
    """The additional data of a wrapped key's box. `identity`: purpose, state and key id."""
    return b"TKwrappedkey" + struct.pack("<H16sQHQBBQ", 1, vault_id, era, slot_type, slot_id, *identity)


def parse_slot(cursor, where):
    slot_type = cursor.integer(2)
    cursor.zero(2)
    slot, rest = Slot(slot_type), cursor.take(cursor.integer(4))
    if slot_type in (SLOT_KEYFILE, SLOT_PASSWORD, SLOT_RECOVERY, SLOT_DEVICE):
        parse_known_slot(slot, Cursor(rest, f"{where}, slot of type {slot_type}"))
    return slot


def parse_known_slot(slot, cursor):
    slot.slot_id = cursor.integer(8, 1)
    derivation = cursor.integer(1, 0, 1)
    cursor.zero(3)
    expected = {SLOT_KEYFILE: 0, SLOT_PASSWORD: 1, SLOT_RECOVERY: 1}.get(slot.type, derivation)
    if derivation != expected:
        raise Corrupt(cursor.where, f"key derivation {derivation}")
    slot.passes, slot.memory_kib, slot.salt = parse_costs(cursor, derivation)
    cursor.time()
    count = cursor.integer(2, 0, 64)
    cursor.zero(2)
    extension_length = cursor.integer(4)
    slot.commitment = cursor.take(COMMITMENT_SIZE)
    slot.wrapped = [parse_wrapped_key(cursor) for _ in range(count)]
    extension = cursor.take(extension_length)
    cursor.end()
    if slot.type == SLOT_DEVICE:
        slot.device = parse_device(Cursor(extension, cursor.where + ", extension"))
    elif extension_length:
        raise Corrupt(cursor.where, "an extension, which only a device slot has")
    check_keys_of_slot(slot, cursor.where)


def parse_wrapped_key(cursor):
    purpose, state = cursor.integer(1), cursor.integer(1, CURRENT, RETIRING)
    if purpose not in PURPOSES_IN_SLOTS:
        raise Corrupt(cursor.where, f"a wrapped key of purpose {purpose}")
    cursor.zero(6)
    return WrappedKey(purpose, state, cursor.integer(8, 1), cursor.take(WRAPPED_KEY_BOX))


def check_keys_of_slot(slot, where):
    """The keys that may stand in one slot."""
    current = sorted(key.purpose for key in slot.wrapped if key.state == CURRENT)
    if len({key.key_id for key in slot.wrapped}) != len(slot.wrapped):
        raise Corrupt(where, "a key id stands twice")
    if len(set(current)) != len(current):
        raise Corrupt(where, "two current keys of one purpose")
    presence = [PURPOSE_PRESENCE] if slot.type == SLOT_PASSWORD else []
    if slot.type != SLOT_DEVICE and current != sorted(CURRENT_IN_EACH_SLOT + presence):
        raise Corrupt(where, f"current keys of the purposes {current}")
    for key in slot.wrapped:
        if key.state == RETIRING and key.purpose not in RETIRING_PURPOSES:
            raise Corrupt(where, f"a retiring key of purpose {key.purpose}")
        if (key.purpose in DEVICE_PURPOSES) != (slot.type == SLOT_DEVICE):
            raise Corrupt(where, f"a key of purpose {key.purpose}")
        if key.state == RETIRING and key.purpose == PURPOSE_PRESENCE and slot.type != SLOT_PASSWORD:
            raise Corrupt(where, "a retiring presence key outside a password slot")


@dataclass
class Device:
    """The extension of a device slot."""

    provider: int
    base: int
    form: int
    name: bytes
    object: bytes


def parse_device(cursor):
    provider, base, form = cursor.integer(1), cursor.integer(1), cursor.integer(1)
    cursor.zero(1)
    name_size, size = cursor.integer(2), cursor.integer(2)
    device = Device(provider, base, form, cursor.take(name_size), cursor.take(size))
    cursor.end()
    sizes = {
        (PROVIDER_MACHINE_KEY, FORM_NONE): range(1),
        (PROVIDER_TPM2, FORM_BLOB): range(1, 1025),
        (PROVIDER_SYSTEMD, FORM_BLOB): range(1, 2049),
        (PROVIDER_TPM2, FORM_INDEX): range(4, 5),
    }
    if base not in (SLOT_KEYFILE, SLOT_PASSWORD, SLOT_RECOVERY) or name_size != NAME_SIZES.get(provider):
        raise Corrupt(cursor.where, f"provider {provider}, base {base}, a name of {name_size} bytes")
    if size not in sizes.get((provider, form), ()):
        raise Corrupt(cursor.where, f"form {form} with {size} bytes")
    return device


def check_device_slots(slots, where):
    devices = [slot for slot in slots if slot.type == SLOT_DEVICE]
    if len({slot.device.provider for slot in devices}) > 1:
        raise Corrupt(where, "device slots of two providers")
    by_type = {slot.type: slot for slot in slots if slot.type in (SLOT_KEYFILE, SLOT_PASSWORD, SLOT_RECOVERY)}
    for slot in devices:
        base = by_type.get(slot.device.base)
        if base is None or slot.costs() != base.costs():
            raise Corrupt(where, "a device slot without its base, or with other costs")
        if any(key.purpose not in DEVICE_PURPOSES for key in slot.wrapped):
            raise Corrupt(where, "a device slot with a key of another level")
    identities = {}
    for base in by_type if devices else ():
        keys = [key for slot in devices if slot.device.base == base for key in slot.wrapped]
        identities[base] = {key.identity() for key in keys}
        if base == SLOT_RECOVERY and not keys:
            continue
        current = sorted(key.purpose for key in keys if key.state == CURRENT)
        if current != ([3, 4, 5] if base == SLOT_PASSWORD else [3, 4]):
            raise Corrupt(where, f"device slots of base {base} with current keys of the levels {current}")
        if len({key.key_id for key in keys}) != len(keys):
            raise Corrupt(where, "a key id stands twice in device slots")
    if not identities.get(SLOT_RECOVERY, set()) <= identities.get(SLOT_PASSWORD, set()):
        raise Corrupt(where, "a device slot of the recovery code has a key that the password's has not")


@dataclass
class Machine:
    """The devices of a machine: its machine key; its TPM as a vector has it; the secret in a credential that its systemd decrypts,
    followed by this credential."""

    key: bytes | None = None
    tpm: bytes | None = None
    systemd: bytes | None = None

    def index(self, number, kind, vault_id, auth_value):
        """The content of an index of the TPM, by its number; without one, of any index that agrees. None if there is none."""
        place = 98
        while self.tpm is not None and place < len(self.tpm):
            head, size = self.tpm[place : place + 53], {1: 32, 2: 128}[self.tpm[place + 4]]
            if head[4:] == bytes([kind]) + vault_id + auth_value and number in (None, head[:4]):
                return self.tpm[place + 53 : place + 53 + size]
            place += 53 + size
        return None


def machine_key_name(key):
    """The public name of a machine key."""
    return subkey(key, 2, b"TKmachin")


def tpm_auth_value(base_key, name, number=1):
    """The authValue for which the TPM of this name opens a blob (1) or an index (2)."""
    return hash_bytes(32, subkey(base_key, number, b"TKtpmaut"), name)


def anchor_auth_value(journal_key):
    """The authValue for which the TPM gives the vault's anchor."""
    return subkey(journal_key, 5, b"TKjourn_")


def anchor(vault_id, present, following=bytes(48)):
    """An anchor that names a header, and the one that is about to take its place."""
    return b"TKANCHOR" + b"\1\0" + bytes(6) + vault_id + present + following


def device_derived(base_key, device_secret):
    """The 64 bytes that open a device slot."""
    return hash_bytes(64, base_key, device_secret)


def check_slots(slots, where):
    """The slots that may stand together."""
    counts = tuple(sum(slot.type == kind for slot in slots) for kind in (SLOT_KEYFILE, SLOT_PASSWORD, SLOT_RECOVERY))
    if counts not in ((1, 0, 0), (0, 1, 0), (0, 1, 1)):
        raise Corrupt(where, "%d keyfile, %d password and %d recovery slots" % counts)
    if counts[2]:
        password, recovery = (next(slot for slot in slots if slot.type == kind) for kind in (SLOT_PASSWORD, SLOT_RECOVERY))
        known = {key.identity() for key in password.wrapped}
        if any(key.identity() not in known for key in recovery.wrapped):
            raise Corrupt(where, "the recovery slot has a key that the password slot has not")
    check_device_slots(slots, where)


def normalized_code(code):
    """The symbols of a recovery code that was typed."""
    symbols = "0123456789ABCDEFGHJKMNPQRSTVWXY"
    text = code.decode("ascii").upper().translate(str.maketrans("OIL", "011", "- \r\n"))
    values = [symbols.find(symbol) for symbol in text]
    weighted = sum(position * value for position, value in enumerate(values, 1))
    if len(values) != 30 or -1 in values or weighted % 31:
        raise ValueError("no recovery code")
    return text.encode("ascii")
