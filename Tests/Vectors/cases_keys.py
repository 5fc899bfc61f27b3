"""One fault in the keyfile or in both copies of the header."""

import struct

from cases_common import FOREIGN, VAULT, both_headers, flipped, vault_case
from vault_keys import (
    HEADER_MAXIMUM,
    MAC_SIZE,
    PURPOSE_PRESENCE,
    SLOT_DEVICE,
    SLOT_KEYFILE,
    SLOT_PASSWORD,
    SLOT_RECOVERY,
    header_mac,
)
from vault_writer import SlotPlan, new_key, patched, seeded


def cases():
    yield from keyfile_cases()
    yield from header_byte_cases()
    yield from header_field_cases()
    yield from slot_cases()
    yield from cut_slot_cases()
    yield from cost_cases()
    yield from wrapped_key_cases()
    yield from whole_vault_cases()


def keyfile_cases():
    fields = VAULT.keyfile_fields()
    good = fields.data
    for name, (offset, size) in fields.places.items():
        cut = good[:offset]
        yield vault_case(
            f"keyfile-truncated-before-{name}", {"keyfile": cut}, f"The keyfile ends before its field {name}."
        )
        expect = "UNSUPPORTED" if name == "version" else "CORRUPT"
        yield vault_case(
            f"keyfile-flipped-{name}",
            {"keyfile": flipped(good, offset)},
            f"A bit of the keyfile's field {name} is flipped.",
            expect,
        )
    yield vault_case("keyfile-truncated-last-byte", {"keyfile": good[:-1]}, "The keyfile lacks its last byte.")
    yield vault_case("keyfile-byte-behind", {"keyfile": good + b"\0"}, "A byte stands behind the keyfile's end.")
    newer = VAULT.keyfile_fields(version=2).data
    yield vault_case(
        "keyfile-version-2", {"keyfile": newer}, "The keyfile has version 2 and is otherwise right.", "UNSUPPORTED"
    )
    comment = "The keyfile has version 2 and is longer than one of version 1."
    yield vault_case("keyfile-version-2-longer", {"keyfile": newer + bytes(16)}, comment, "UNSUPPORTED")
    never = VAULT.keyfile_fields(version=0).data
    yield vault_case("keyfile-version-0", {"keyfile": never}, "The keyfile has version 0 and is otherwise right.")
    reserved = VAULT.keyfile_fields(reserved=b"\0\0\0\0\0\1").data
    yield vault_case(
        "keyfile-reserved-not-zero",
        {"keyfile": reserved},
        "A reserved byte of the keyfile is not zero; the checksum fits.",
    )
    yield vault_case(
        "keyfile-of-another-vault", {"keyfile": FOREIGN.keyfile_fields().data}, "The keyfile is one of another vault."
    )


def header_byte_cases():
    fields = VAULT.header_fields()
    good = fields.data
    for name, (offset, size) in fields.places.items():
        yield both_headers(
            f"header-truncated-before-{name}", good[:offset], f"Both headers end before their field {name}."
        )
        expect = "UNSUPPORTED" if name == "version" else "CORRUPT"
        yield both_headers(
            f"header-flipped-{name}",
            flipped(good, offset),
            f"A bit of the field {name} is flipped in both headers.",
            expect,
        )
    yield both_headers("header-truncated-last-byte", good[:-1], "Both headers lack their last byte.")
    yield both_headers("header-byte-behind", good + b"\0", "A byte stands behind the end of both headers.")


def spoilt(name, field, value, comment, fields=None):
    """Both headers with a wrong value in a field and a MAC that fits."""
    return both_headers("header-" + name, VAULT.patched_header(field, value, fields), comment)


def header_field_cases():
    fields = VAULT.header_fields()
    length = len(fields.data)
    yield both_headers(
        "header-version-2",
        VAULT.header_fields(version=2).data,
        "Both headers have version 2 and are otherwise right.",
        "UNSUPPORTED",
    )
    data = VAULT.header_fields(version=2).data.ljust(HEADER_MAXIMUM + 1, b"\0")
    comment = "Both headers have version 2 and are longer than one of version 1 may be."
    yield both_headers("header-version-2-longer", data, comment, "UNSUPPORTED")
    never = VAULT.header_fields(version=0).data
    yield both_headers("header-version-0", never, "Both headers have version 0 and are otherwise right.")
    other = VAULT.header_fields(vault_id=FOREIGN.vault_id).data
    yield both_headers(
        "header-foreign-vault-id", other, "Both headers have another vault id than the keyfile and are otherwise right."
    )
    yield both_headers(
        "header-of-another-vault", FOREIGN.header_fields().data, "Both headers are those of another vault."
    )
    for word, value in {
        "maximum": 0xFFFFFFFF,
        "over-limit": 65537,
        "one-more": length + 1,
        "one-less": length - 1,
        "zero": 0,
    }.items():
        yield spoilt(
            f"length-{word}",
            "length",
            struct.pack("<I", value),
            f"Both headers say that they have {value} bytes; the MAC fits.",
        )
    for count in (0, 2, 65, 0xFFFF):
        yield spoilt(
            f"slot-count-{count}",
            "slot-count",
            struct.pack("<H", count),
            f"One slot is there, both headers count {count}; the MAC fits.",
        )
    slots = [VAULT.keyfile_slot()] + [(5, b"")] * 64
    yield both_headers("header-65-slots", VAULT.header_fields(slots).data, "Both headers have 65 slots; the MAC fits.")
    yield spoilt("epoch-0", "epoch", bytes(8), "The epoch is 0; the MAC fits.")
    yield spoilt(
        "name-key-reserved-not-zero",
        "name-key-reserved",
        b"\1" + bytes(7),
        "A reserved byte beside the name key is not zero; the MAC fits.",
    )
    bare = fields.data[:-32]
    between = VAULT.patched_header("length", struct.pack("<I", length + 4), append=b"more")
    yield both_headers(
        "header-bytes-before-mac", between, "Bytes stand between the last slot and the MAC; the MAC fits."
    )
    yield both_headers(
        "header-mac-missing",
        bare[:12] + struct.pack("<I", len(bare)) + bare[16:],
        "Both headers end before the MAC, and say so.",
    )


def slot_cases():
    rest = 52 + 96 * 3
    for word, value in {"maximum": 0xFFFFFFFF, "one-more": rest + 1, "one-less": rest - 1, "zero": 0}.items():
        yield spoilt(
            f"slot-length-{word}",
            "slot1-length",
            struct.pack("<I", value),
            f"The slot says that {value} bytes follow; the MAC fits.",
        )
    yield spoilt(
        "slot-reserved-not-zero", "slot1-reserved", b"\1\0", "A reserved byte of a slot is not zero; the MAC fits."
    )
    nameless = VAULT.header_fields([VAULT.keyfile_slot(slot_id=0)]).data
    yield both_headers("header-slot-id-0", nameless, "A slot's id is 0, its keys are wrapped for that; the MAC fits.")
    for count in (2, 4, 65, 0xFFFF):
        yield spoilt(
            f"slot-key-count-{count}",
            "slot1-key-count",
            struct.pack("<H", count),
            f"The slot has 3 wrapped keys and counts {count}; the MAC fits.",
        )
    yield spoilt(
        "slot-key-count-reserved-not-zero",
        "slot1-key-count-reserved",
        b"\0\1",
        "A reserved byte behind a slot's count is not zero; the MAC fits.",
    )
    yield spoilt(
        "slot-extension-length-maximum",
        "slot1-extension-length",
        b"\xff" * 4,
        "An extension's length is 4 294 967 295; the MAC fits.",
    )
    extended = VAULT.keyfile_slot(extension=b"more")
    yield both_headers(
        "header-keyfile-slot-with-extension",
        VAULT.header_fields([extended]).data,
        "A keyfile slot has an extension; the MAC fits.",
    )
    hidden = VAULT.header_fields([extended])
    comment = "Bytes stand in a slot behind what its lengths account for; the MAC fits."
    yield spoilt("slot-bytes-behind", "slot1-extension-length", bytes(4), comment, hidden)
    unknown = VAULT.header_fields([VAULT.keyfile_slot(), (5, b"later")])
    yield spoilt(
        "unknown-slot-length-overruns",
        "slot2-length",
        struct.pack("<I", 6),
        "A slot of an unknown type is longer than the header; the MAC fits.",
        unknown,
    )
    yield spoilt(
        "unknown-slot-reserved-not-zero",
        "slot2-reserved",
        b"\0\1",
        "A reserved byte of an unknown slot is not zero; the MAC fits.",
        unknown,
    )


def cut_slot_cases():
    """The slot ends before each of its fields; its length, the header's and the MAC fit."""
    fields = VAULT.header_fields()
    rest_offset, end = fields.places["slot1-id"][0], fields.places["mac"][0]
    for name, (offset, _) in fields.places.items():
        if name.startswith("slot1-") and offset >= rest_offset:
            value = struct.pack("<I", offset - rest_offset)
            body = patched(fields, "slot1-length", value)[:offset]
            body = body[:12] + struct.pack("<I", offset + MAC_SIZE) + body[16:]
            data = body + header_mac(VAULT.name_key.secret, body)
            yield both_headers(
                f"header-cut-before-{name}",
                data,
                f"The slot ends before {name[6:]}; its length, the header's and the MAC fit.",
            )
    body = fields.data[:end]
    for keep in (140, 143):
        cut = body[:12] + struct.pack("<I", keep + MAC_SIZE) + body[16:keep]
        data = cut + header_mac(VAULT.name_key.secret, cut)
        yield both_headers(
            f"header-cut-in-slot-head-at-{keep}",
            data,
            f"The slots end at byte {keep}, inside a slot's head; the header's length and the MAC fit.",
        )


def cost_cases():
    """A slot behind the keyfile slot asks for costs that no reader may spend."""
    keyfile_slot = VAULT.keyfile_slot()
    costs = [
        ("passes-17", 17, 8),
        ("passes-maximum", 0xFFFFFFFF, 8),
        ("passes-0", 0, 8),
        ("memory-over-1-gib", 1, 1048577),
        ("memory-maximum", 1, 0xFFFFFFFF),
        ("memory-7-kib", 1, 7),
        ("memory-0", 1, 0),
    ]
    for word, passes, memory in costs:
        for slot_type, type_word in ((SLOT_PASSWORD, "password"), (SLOT_RECOVERY, "recovery")):
            slot = SlotPlan(keyfile_slot.keys, bytes(32), slot_type, 8, 1, passes, memory, seeded("salt", 16))
            data = VAULT.header_fields([keyfile_slot, slot]).data
            comment = f"A {type_word} slot asks for {passes} passes and {memory} KiB; the MAC fits."
            if type_word == "password" or word in ("passes-17", "memory-over-1-gib"):
                yield both_headers(f"header-{type_word}-slot-{word}", data, comment)
    for derivation in (2, 255):
        slot = SlotPlan(keyfile_slot.keys, bytes(32), SLOT_PASSWORD, 8, derivation, 1, 8, seeded("salt", 16))
        data = VAULT.header_fields([keyfile_slot, slot]).data
        yield both_headers(
            f"header-password-slot-derivation-{derivation}",
            data,
            f"A password slot has key derivation {derivation}; the MAC fits.",
        )
    device = SlotPlan(keyfile_slot.keys, bytes(32), SLOT_DEVICE, 8, 2, 1, 8, seeded("salt", 16))
    data = VAULT.header_fields([keyfile_slot, device]).data
    yield both_headers("header-device-slot-derivation-2", data, "A device slot has key derivation 2; the MAC fits.")
    slot = SlotPlan(keyfile_slot.keys, bytes(32), SLOT_PASSWORD, 8)
    yield both_headers(
        "header-password-slot-without-argon2id",
        VAULT.header_fields([keyfile_slot, slot]).data,
        "A password slot has key derivation 0; the MAC fits.",
    )
    spoils = [
        ("passes", struct.pack("<I", 1)),
        ("memory", struct.pack("<I", 8)),
        ("salt", b"\1" * 16),
        ("derivation-reserved", b"\0\0\1"),
        ("derivation", b"\2"),
    ]
    for field, value in spoils:
        yield spoilt(
            f"keyfile-slot-{field}-not-zero",
            "slot1-" + field,
            value,
            f"The keyfile slot's field {field} is not zero; the MAC fits.",
        )
    argon = VAULT.keyfile_slot(derivation=1, passes=1, memory_kib=8, salt=seeded("salt", 16))
    yield both_headers(
        "header-keyfile-slot-with-argon2id",
        VAULT.header_fields([argon]).data,
        "The keyfile slot has key derivation 1; the MAC fits.",
    )


def keys_case(name, keys, comment):
    slot = VAULT.keyfile_slot(keys=keys)
    return both_headers("header-" + name, VAULT.header_fields([slot]).data, comment + "; the MAC fits.")


def wrapped_key_cases():
    keys = VAULT.keyfile_slot().keys
    second = new_key("second class 2", 2)
    yield keys_case("current-purpose-twice", [*keys, second], "Two current keys of level 2 stand in a slot")
    retiring = [new_key(f"retiring {number}", 2, 1) for number in (1, 2)]
    yield keys_case("retiring-purpose-twice", [*keys, *retiring], "Two retiring keys of level 2 stand in a slot")
    for purpose in (0, 6, 16, 19, 255):
        yield keys_case(
            f"wrapped-key-purpose-{purpose}",
            [*keys, new_key("odd", purpose)],
            f"A slot wraps a key of purpose {purpose}",
        )
    yield keys_case("wrapped-key-state-2", [*keys, new_key("odd", PURPOSE_PRESENCE, 2)], "A wrapped key has state 2")
    nameless = new_key("odd", PURPOSE_PRESENCE)
    nameless.key_id = 0
    yield keys_case("wrapped-key-id-0", [*keys, nameless], "A wrapped key has the key id 0")
    for field, value in (("reserved", b"\0\0\0\0\0\1"), ("id-reserved", b"\1" + bytes(7))):
        yield spoilt(
            f"wrapped-key-{field}-not-zero",
            f"slot1-key2-{field}",
            value,
            f"The field {field} of a wrapped key is not zero; the MAC fits.",
        )
    fields = VAULT.header_fields()
    for part in ("nonce", "ciphertext", "tag"):
        name = f"slot1-key2-box-{part}"
        offset, size = fields.places[name]
        value = flipped(fields.data[offset : offset + size], 0)
        yield spoilt(
            f"wrapped-key-box-{part}-flipped",
            name,
            value,
            f"A bit in the {part} of the wrapped class key of level 2 is flipped; the MAC fits.",
        )
    yield both_headers(
        "header-wrapped-keys-swapped",
        swapped_boxes(fields),
        "The boxes of two wrapped keys have changed places; the MAC fits.",
    )
    moved = VAULT.patched_header("slot1-id", struct.pack("<Q", 8))
    yield both_headers(
        "header-slot-id-changed", moved, "The slot's id is not the one its keys were wrapped for; the MAC fits."
    )
    yield spoilt(
        "name-key-id-changed",
        "name-key-id",
        b"\1" * 8,
        "The name key's id is not the one it was wrapped for; the MAC fits.",
    )


def swapped_boxes(fields):
    data = fields.data
    for part in ("nonce", "ciphertext", "tag"):
        values = []
        for number in (1, 2):
            offset, size = fields.places[f"slot1-key{number}-box-{part}"]
            values.append(fields.data[offset : offset + size])
        for number, value in zip((2, 1), values):
            fields.data = data
            data = patched(fields, f"slot1-key{number}-box-{part}", value)
    fields.data = data
    return VAULT.patched_header("slot1-type", struct.pack("<H", SLOT_KEYFILE), fields)


def whole_vault_cases():
    yield vault_case("keyfile-missing", {"keyfile": None}, "There is a header and no keyfile.")
    yield vault_case("header-both-missing", {"header": None, "header.2": None}, "There are records and no header.")
    damaged = flipped(VAULT.header_fields().data, 136)
    yield vault_case(
        "header-missing-second-copy-damaged",
        {"header": None, "header.2": damaged},
        "header is missing and header.2 is damaged.",
    )
    yield vault_case(
        "header-damaged-second-copy-missing",
        {"header": damaged, "header.2": None},
        "header is damaged and header.2 is missing.",
    )
