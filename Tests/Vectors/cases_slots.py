"""One fault in the bytes of a slot, in its costs or in its keys, in both copies of the header. The MACs fit."""

import struct

from cases_common import ANNA, VAULT, both_headers, flipped, vector, with_anna
from vault_header import HEADER_HEAD, MACS_SIZE
from vault_keys import PURPOSE_HEADER, PURPOSE_METADATA, PURPOSE_PRESENCE, RETIRING, SLOT_DEVICE, SLOT_PASSWORD, SLOT_RECOVERY
from vault_writer import SLOT_REST, WRAPPED_KEY, Key, SlotPlan, device_extension, new_key, patched, seeded


def cases():
    yield from slot_cases()
    yield from cut_cases()
    yield from cost_cases()
    yield from derivation_cases()
    yield from key_cases()
    yield from box_cases()


def spoilt(name, field, value, comment, fields=None):
    data = VAULT.patched_header(field, value, fields)
    return both_headers("header-" + name, data, comment + "; the MACs fit.")


def slots_case(name, slots, comment):
    return both_headers("header-" + name, VAULT.header_fields(slots).data, comment + "; the MACs fit.")


def slot_cases():
    count = len(VAULT.keys())
    rest = SLOT_REST + WRAPPED_KEY * count
    for word, value in {"maximum": 0xFFFFFFFF, "one-more": rest + 1, "one-less": rest - 1, "zero": 0}.items():
        comment = f"The slot says that {value} bytes follow"
        yield spoilt("slot-length-" + word, "slot1-length", struct.pack("<I", value), comment)
    yield spoilt("slot-reserved-not-zero", "slot1-reserved", b"\1\0", "A reserved byte of a slot is not zero")
    yield slots_case("slot-id-0", [VAULT.keyfile_slot(slot_id=0)], "A slot's id is 0, and its keys are wrapped for it")
    for wrong in (0, count - 1, count + 1, 65, 0xFFFF):
        comment = f"The slot has {count} wrapped keys and counts {wrong}"
        yield spoilt(f"slot-key-count-{wrong}", "slot1-key-count", struct.pack("<H", wrong), comment)
    comment = "A reserved byte behind a slot's count is not zero"
    yield spoilt("slot-key-count-reserved-not-zero", "slot1-key-count-reserved", b"\0\1", comment)
    comment = "An extension's length is 4 294 967 295"
    yield spoilt("slot-extension-length-maximum", "slot1-extension-length", b"\xff" * 4, comment)
    extended = [VAULT.keyfile_slot(extension=b"more")]
    yield slots_case("keyfile-slot-with-extension", extended, "A keyfile slot has an extension")
    comment = "Bytes stand in a slot behind what its lengths account for"
    yield spoilt("slot-bytes-behind", "slot1-extension-length", bytes(4), comment, VAULT.header_fields(extended))
    unknown = VAULT.header_fields([VAULT.keyfile_slot(), (5, b"later")])
    comment = "A slot of an unknown type is longer than the header"
    yield spoilt("unknown-slot-length-overruns", "slot2-length", struct.pack("<I", 6), comment, unknown)
    comment = "A reserved byte of an unknown slot is not zero"
    yield spoilt("unknown-slot-reserved-not-zero", "slot2-reserved", b"\0\1", comment, unknown)


def cut_cases():
    """The slot ends before each of its fields; its length and the header's fit."""
    fields = VAULT.header_fields()
    rest_offset = HEADER_HEAD + 8
    for name, (offset, _) in fields.places.items():
        if offset >= rest_offset and name.startswith("slot1-") and name[6:10] not in ("key1", "key3"):
            body = patched(fields, "slot1-length", struct.pack("<I", offset - rest_offset))[:offset]
            body = body[:12] + struct.pack("<I", offset + MACS_SIZE) + body[16:]
            comment = f"The slot ends before {name[6:]}; its length, the header's and the MACs fit."
            yield both_headers("header-cut-before-" + name, VAULT.with_macs(body), comment)


def cost_cases():
    """A slot asks for costs that no reader may spend."""
    costs = {
        "passes-17": (17, 8),
        "passes-maximum": (0xFFFFFFFF, 8),
        "passes-0": (0, 8),
        "memory-over-1-gib": (1, 1048577),
        "memory-maximum": (1, 0xFFFFFFFF),
        "memory-7-kib": (1, 7),
        "memory-0": (1, 0),
        "product-3-passes-1-gib": (3, 1048576),
        "product-one-more": (16, 131073),
        "product-wraps-in-32-bits": (16, 268435456),
    }
    salt = seeded("salt", 16)
    for word, (passes, memory) in costs.items():
        password = SlotPlan([*VAULT.keys(), VAULT.presence_key], bytes(64), SLOT_PASSWORD, 8, 1, passes, memory, salt)
        extension = device_extension(SLOT_PASSWORD, bytes(32))
        device = SlotPlan([], bytes(64), SLOT_DEVICE, 8, 1, passes, memory, salt, extension)
        recovery = SlotPlan(VAULT.keys(), bytes(64), SLOT_RECOVERY, 9, 1, passes, memory, salt)
        comment = f"slot asks for {passes} passes and {memory} KiB"
        yield slots_case("password-slot-" + word, [password], "A password " + comment)
        if word in ("passes-17", "memory-over-1-gib", "product-one-more"):
            yield slots_case("recovery-slot-" + word, [VAULT.password_slot(b"any"), recovery], "A recovery " + comment)
            yield slots_case("device-slot-" + word, [VAULT.password_slot(b"any"), device], "A device " + comment)


def derivation_cases():
    salt = seeded("salt", 16)
    keys = [*VAULT.keys(), VAULT.presence_key]
    for derivation in (0, 2, 255):
        costs = (1, 8, salt) if derivation else (0, 0, bytes(16))
        slot = SlotPlan(keys, bytes(64), SLOT_PASSWORD, 8, derivation, *costs)
        comment = f"A password slot has key derivation {derivation}"
        yield slots_case(f"password-slot-derivation-{derivation}", [slot], comment)
    recovery = SlotPlan(VAULT.keys(), bytes(64), SLOT_RECOVERY, 9)
    comment = "A recovery slot has key derivation 0"
    yield slots_case("recovery-slot-derivation-0", [VAULT.password_slot(b"any"), recovery], comment)
    device = VAULT.device_slot(VAULT.keyfile_slot(), bytes(32), derivation=2, passes=1, memory_kib=8, salt=salt)
    yield slots_case("device-slot-derivation-2", [VAULT.keyfile_slot(), device], "A device slot has key derivation 2")
    spoils = {
        "passes": struct.pack("<I", 1),
        "memory": struct.pack("<I", 8),
        "salt": b"\1" * 16,
        "derivation-reserved": b"\0\0\1",
        "derivation": b"\2",
    }
    for field, value in spoils.items():
        comment = f"The keyfile slot's field {field} is not zero"
        yield spoilt(f"keyfile-slot-{field}-not-zero", "slot1-" + field, value, comment)
    argon = VAULT.keyfile_slot(derivation=1, passes=1, memory_kib=8, salt=salt)
    yield slots_case("keyfile-slot-with-argon2id", [argon], "The keyfile slot has key derivation 1")


def keys_case(name, keys, comment):
    return slots_case(name, [VAULT.keyfile_slot(keys=keys)], comment)


def key_cases():
    keys = VAULT.keys()
    for key in keys:
        without = [other for other in keys if other is not key]
        word = f"purpose-{key.purpose}"
        comment = f"the current key of purpose {key.purpose}"
        yield keys_case(f"{word}-missing", without, f"A slot lacks {comment}")
        second = new_key(f"second {key.purpose}", key.purpose)
        yield keys_case(f"current-{word}-twice", [*keys, second], f"A slot has {comment} twice")
        retiring = Key(key.purpose, key.key_id, key.secret, RETIRING)
        yield keys_case(f"{word}-retiring-alone", [*without, retiring], f"A slot has {comment} as a retiring one")
    for purpose in (0, 3, 5, 6, 16, 20, 255):
        comment = f"A keyfile slot wraps a current key of purpose {purpose}"
        yield keys_case(f"wrapped-key-purpose-{purpose}", [*keys, new_key("odd", purpose)], comment)
    presence = new_key("odd", PURPOSE_PRESENCE)
    yield keys_case("presence-key-in-keyfile-slot", [*keys, presence], "A keyfile slot has a presence key")
    for purpose in (PURPOSE_METADATA, PURPOSE_PRESENCE, PURPOSE_HEADER):
        comment = f"A keyfile slot has a retiring key of purpose {purpose}"
        yield keys_case(f"retiring-purpose-{purpose}", [*keys, new_key("odd", purpose, RETIRING)], comment)
    yield keys_case("wrapped-key-state-2", [*keys, new_key("odd", 2, 2)], "A wrapped key has state 2")
    yield keys_case("wrapped-key-id-0", [*keys, Key(2, 0, bytes(32), RETIRING)], "A wrapped key has the key id 0")
    same = keys[1].key_id
    yield keys_case("key-id-twice", [*keys, Key(2, same, bytes(32), RETIRING)], "A current and a retiring key have one id")
    comment = "Keys of two purposes have one id"
    yield keys_case("key-id-twice-across-purposes", [*keys, Key(1, same, bytes(32), RETIRING)], comment)
    many = [new_key(f"retiring {number}", 2, RETIRING) for number in range(61)]
    yield keys_case("slot-65-keys", [*keys, *many], "A slot has 65 wrapped keys")
    slots = [VAULT.keyfile_slot(keys=[*keys, *many[:60]])]
    comment = "A slot has as many wrapped keys as there may be."
    data = VAULT.header_fields(slots).data
    yield vector("valid-64-keys", "OK", comment, ANNA, with_anna({"header": data, "header.2": data}))
    yield spoilt("wrapped-key-reserved-not-zero", "slot1-key2-reserved", bytes(5) + b"\1", "A reserved byte of a key is not zero")


def box_cases():
    fields = VAULT.header_fields()
    for number, word in ((2, "class"), (4, "header")):
        for part in ("nonce", "ciphertext", "tag"):
            name = f"slot1-key{number}-box-{part}"
            offset, size = fields.places[name]
            value = flipped(fields.data[offset : offset + size], 0)
            comment = f"A bit in the {part} of the wrapped {word} key is flipped"
            yield spoilt(f"wrapped-{word}-key-{part}-flipped", name, value, comment)
    first, second = (fields.places[f"slot1-key{number}-box-nonce"][0] for number in (1, 2))
    body = bytearray(fields.data[:-MACS_SIZE])
    body[first : first + 72], body[second : second + 72] = body[second : second + 72], body[first : first + 72]
    comment = "The boxes of two wrapped keys have changed places; the MACs fit."
    yield both_headers("header-wrapped-keys-swapped", VAULT.with_macs(bytes(body)), comment)
    changes = {"id": struct.pack("<Q", 8), "key2-id": b"\1" * 8, "key2-purpose": b"\1", "key2-state": b"\1"}
    for field, value in changes.items():
        comment = f"The field {field} of the slot is not the one its keys were wrapped for"
        yield spoilt(f"slot-{field}-changed", "slot1-" + field, value, comment)
    commitment = bytes(32)
    slot = VAULT.keyfile_slot(derived=VAULT.keyfile.derived()[:32] + commitment)
    yield slots_case("keyfile-slot-commitment", [slot], "The keyfile slot has another commitment")
    slot = VAULT.keyfile_slot(derived=VAULT.keyfile.wrapping_key() * 2)
    comment = "The keyfile slot has its key-encryption key for a commitment"
    yield slots_case("keyfile-slot-commitment-is-key", [slot], comment)
