"""`header`: docs/format.md, section 3. MAC A is checked first, then a slot's commitment, then MAC B, then its other keys."""

import hmac
import struct
from dataclasses import dataclass

from vault_keys import (
    CREDENTIAL_TYPES,
    CURRENT,
    FORM_BLOB,
    FORM_INDEX,
    PROVIDER_MACHINE_KEY,
    PROVIDER_SYSTEMD,
    PROVIDER_TPM2,
    PURPOSE_HEADER,
    PURPOSE_JOURNAL,
    PURPOSE_NAME,
    SLOT_DEVICE,
    SLOT_KEYFILE,
    SLOT_PASSWORD,
    SLOT_RECOVERY,
    WRAPPED_KEY_BOX,
    Machine,
    check_slots,
    device_derived,
    machine_key_name,
    normalized_code,
    parse_slot,
    anchor_auth_value,
    tpm_auth_value,
    wrapped_key_data,
)
from vault_primitives import Corrupt, Cursor, Denied, Locked, Unsupported, hash_bytes, open_box, subkey

HEADER_MAXIMUM = 65536
HEADER_HEAD = 216
MAC_SIZE = 32
MACS_SIZE = 2 * MAC_SIZE
TRUST_ENTRY = 80


class Refused(Corrupt):
    """Somebody without the password wrote the header: MAC B or the kernel's trust key says so."""


class Testified(Refused):
    """A record says so. `header.2` does not take the header's place."""


class NoSlot(Unsupported):
    """A password, or a recovery code, is typed where no slot takes one."""


@dataclass
class Header:
    """`opened` and `wrapped` name keys by (purpose, key id); `opened` holds those whose slot was opened."""

    data: bytes
    epoch: int
    created_at: int
    slots: list
    wrapped: dict
    name_key: bytes = b""
    journal_key: bytes = b""
    opened: dict | None = None

    def has_password(self):
        return any(slot.type == SLOT_PASSWORD for slot in self.slots)

    def slot(self, slot_type):
        return next((slot for slot in self.slots if slot.type == slot_type), None)


def mac_a(name_key, before):
    return hash_bytes(32, subkey(name_key, 3, b"TKname__"), before)


def mac_b(header_key, before):
    return hash_bytes(32, subkey(header_key, 1, b"TKheader"), before)


def parse_header(data, keyfile, where):
    """What the keyfile alone opens; no slot is opened yet."""
    cursor = Cursor(data, where)
    cursor.magic_and_version(b"TKHEADER")
    slot_count = cursor.integer(2, 1, 64)
    length = cursor.integer(4, 0, HEADER_MAXIMUM)
    if length != len(data):
        raise Corrupt(where, f"says it has {length} bytes and has {len(data)}")
    if cursor.take(16) != keyfile.vault_id:
        raise Corrupt(where, "belongs to another vault than the keyfile")
    era = cursor.integer(8)
    if era != keyfile.era:
        raise Corrupt(where, f"made for era {era}")
    epoch, created_at = cursor.integer(8, 1), cursor.time()
    wrapped = [(purpose, cursor.integer(8, 1), cursor.take(WRAPPED_KEY_BOX)) for purpose in (PURPOSE_NAME, PURPOSE_JOURNAL)]
    if cursor.left() < MACS_SIZE:
        raise Corrupt(where, "no place for the MACs")
    slots_cursor = Cursor(cursor.take(cursor.left() - MACS_SIZE), where)
    slots = [parse_slot(slots_cursor, where) for _ in range(slot_count)]
    slots_cursor.end()
    check_slots(slots, where)
    header = Header(data, epoch, created_at, slots, known_keys(slots), opened={})
    header.name_key = open_keyfile_key(keyfile, *wrapped[0], where)
    if not hmac.compare_digest(mac_a(header.name_key, data[:-MACS_SIZE]), data[-MACS_SIZE:-MAC_SIZE]):
        raise Corrupt(where, "MAC A differs")
    header.journal_key = open_keyfile_key(keyfile, *wrapped[1], where)
    return header


def known_keys(slots):
    """{(purpose, key id): state}"""
    known = {}
    for slot in slots:
        for key in slot.wrapped:
            known.setdefault((key.purpose, key.key_id), key.state)
    return known


def open_keyfile_key(keyfile, purpose, key_id, box, where):
    """The name key or the journal key."""
    data = wrapped_key_data(keyfile.vault_id, keyfile.era, SLOT_KEYFILE, 0, (purpose, CURRENT, key_id))
    return open_box(keyfile.wrapping_key(), data, box, f"{where}, key of purpose {purpose}")


def trust_entries(trust):
    """The entries in the kernel's trust key; None if it breaks the rules, and so counts as no key."""
    count = trust[0] if trust else 0
    end = 1 + count * TRUST_ENTRY
    path = end + 8  # after the number of the mount namespace
    try:
        trust[path:].decode("utf-8")
    except UnicodeDecodeError:
        return None
    if count not in (1, 2) or len(trust) < path:
        return None
    return [trust[place : place + TRUST_ENTRY] for place in range(1, end, TRUST_ENTRY)]


def check_trust(header, era, trust, where, is_typed):
    """`trust`: what the kernel's trust key holds. `is_typed`: whether a password or a code is, which tells of a later era."""
    entries = trust_entries(trust)
    if entries is None:
        return
    if header.has_password() and all(struct.unpack_from("<Q", entry)[0] < era for entry in entries):
        if not is_typed:
            raise Locked(where, f"era {era} is later than the trusted ones")
        return
    entry = next((entry for entry in entries if entry[:8] == struct.pack("<Q", era)), None)
    if entry is None:
        raise Refused(where, f"era {era} is not trusted")
    (epoch,), digest, header_key = struct.unpack_from("<Q", entry, 8), entry[16:48], entry[48:]
    if digest == hash_bytes(32, None, header.data):
        return
    if header.epoch < epoch:
        raise Refused(where, f"epoch {header.epoch} after epoch {epoch}")
    if not has_mac_b(header, header_key):
        raise Refused(where, "MAC B is not that of the header key that is trusted")


def has_mac_b(header, header_key):
    return hmac.compare_digest(mac_b(header_key, header.data[:-MAC_SIZE]), header.data[-MAC_SIZE:])


def open_keyfile_slot(header, keyfile, where, machine=Machine()):
    """Opens the keyfile slot, if there is one, and the device slots whose base it is."""
    if not header.has_password():
        open_slot(header, keyfile, header.slot(SLOT_KEYFILE), keyfile.derived(), where)
        open_device_slots(header, keyfile, SLOT_KEYFILE, keyfile.derived(), machine)


def device_secret(device, base_key, machine, vault_id):
    """What the devices of the machine give for a slot; None if they are others, or not there."""
    if device.provider == PROVIDER_MACHINE_KEY and machine.key is not None:
        return subkey(machine.key, 1, b"TKmachin") if machine_key_name(machine.key) == device.name else None
    if device.provider == PROVIDER_TPM2 and device.form == FORM_BLOB and machine.tpm is not None:
        expected = device.name + tpm_auth_value(base_key, device.name)
        return machine.tpm[66:98] if machine.tpm[:66] == expected else None
    if device.provider == PROVIDER_TPM2 and device.form == FORM_INDEX and machine.tpm is not None:
        if machine.tpm[:34] != device.name:
            return None
        return machine.index(device.object, 1, vault_id, tpm_auth_value(base_key, device.name, 2))
    if device.provider == PROVIDER_SYSTEMD and machine.systemd is not None and device.object[:16] in CREDENTIAL_TYPES:
        return machine.systemd[:32] if machine.systemd[32:] == device.object else None
    return None


def open_device_slots(header, keyfile, base, derived, machine):
    """Opens the device slots of a base. A device that does not open them leaves them locked."""
    for slot in header.slots:
        if slot.type == SLOT_DEVICE and slot.device.base == base:
            secret = device_secret(slot.device, derived[:32], machine, keyfile.vault_id)
            derived_here = secret and device_derived(derived[:32], secret)
            if secret and hmac.compare_digest(derived_here[32:], slot.commitment):
                unwrap(header, keyfile, slot, derived_here, "device slot")


def open_typed_slots(header, keyfile, where, password=None, code=None, machine=Machine()):
    """Opens the slots of a password and of a recovery code that are given, and the device slots whose base they are."""
    is_opened = False
    for slot_type, secret in ((SLOT_PASSWORD, password), (SLOT_RECOVERY, code and normalized_code(code))):
        if secret is not None:
            slot = header.slot(slot_type)
            if slot is None:
                raise NoSlot(where, f"there is no slot of type {slot_type}")
            derived = slot.derived(secret)
            open_slot(header, keyfile, slot, derived, where)
            open_device_slots(header, keyfile, slot_type, derived, machine)
            is_opened = True
    if is_opened:
        check_anchor(header, keyfile, where, machine)


def anchor_mark(data):
    """What an anchor says of a header file."""
    return data[32:48] + hash_bytes(32, None, data)


def check_anchor(header, keyfile, where, machine):
    """The anchor in the TPM, if there is one, names the header."""
    device = next((slot.device for slot in header.slots if slot.type == SLOT_DEVICE), None)
    if device is None or device.provider != PROVIDER_TPM2 or machine.tpm is None or machine.tpm[:34] != device.name:
        return
    content = machine.index(None, 2, keyfile.vault_id, anchor_auth_value(header.journal_key))
    if content is not None and anchor_mark(header.data) not in (content[32:80], content[80:]):
        raise Refused(where, "the TPM's anchor names another header")


def open_slot(header, keyfile, slot, derived, where):
    place = f"{where}, slot of type {slot.type}"
    if not hmac.compare_digest(derived[32:], slot.commitment):
        raise (Corrupt if slot.type == SLOT_KEYFILE else Denied)(place, "the commitment differs")

    wrapped = next(key for key in slot.wrapped if key.purpose == PURPOSE_HEADER)
    data = wrapped_key_data(keyfile.vault_id, keyfile.era, slot.type, slot.slot_id, wrapped.identity())
    header_key = open_box(derived[:32], data, wrapped.box, f"{place}, key of purpose {wrapped.purpose}")
    if not has_mac_b(header, header_key):
        raise Refused(place, "MAC B differs")
    unwrap(header, keyfile, slot, derived, place)


def unwrap(header, keyfile, slot, derived, place):
    for key in slot.wrapped:
        data = wrapped_key_data(keyfile.vault_id, keyfile.era, slot.type, slot.slot_id, key.identity())
        box = open_box(derived[:32], data, key.box, f"{place}, key of purpose {key.purpose}")
        header.opened[key.purpose, key.key_id] = box
