"""Exports: right ones, and one fault each. These vectors stand in a folder of their own."""

import struct

from cases_common import ANNA, BERT, VAULT, flipped
from record_writer import ItemPlan, encode_fields
from vault_export import END, ITEM, frame_data
from vault_primitives import argon2id
from vault_writer import CREATED_AT, Fields, patched, sealed, seeded
from vector_file import Vector

PASSPHRASE = "a long phrase \u00fc".encode("utf-8")
HEAD_LAYOUT = [("magic", 8), ("version", 2), ("reserved", 6), ("derivation", 1), ("derivation-reserved", 3), ("passes", 4)]
HEAD_LAYOUT += [("memory", 4), ("salt", 16), ("salt-reserved", 4), ("created-at", 8), ("commitment", 32)]


def cases():
    yield from valid_cases()
    yield from head_cases()
    yield from commitment_cases()
    yield from byte_cases()
    yield from frame_cases()
    yield from item_cases()


def item_plain(item, level=None, flags=None, metadata=None, metadata_length=None):
    metadata = encode_fields(item.metadata_pairs(VAULT)) if metadata is None else metadata
    length = len(metadata) if metadata_length is None else metadata_length
    level, flags = item.level if level is None else level, item.flags if flags is None else flags
    return struct.pack("<3I", level, flags, length) + metadata + item.secret


class ExportPlan:
    """An export. `frames`: (kind, plaintext) of each. Every part of the head can be replaced; the boxes are sealed for it."""

    def __init__(self, items=(ANNA, BERT), frames=None, derived=None, **head):
        items_frames = [(ITEM, item_plain(item)) for item in items]
        self.frames = [*items_frames, (END, struct.pack("<Q", len(items)))] if frames is None else frames
        salt = seeded("salt of an export", 16)
        self.head = {"magic": b"TKEXPORT", "version": 1, "reserved": bytes(6), "derivation": 1, "derivation_reserved": bytes(3)}
        self.head |= {"passes": 1, "memory": 8, "salt": salt, "salt_reserved": 0, "created_at": CREATED_AT, **head}
        costs = (head.get("passes", 1), head.get("memory", 8))
        cheap = costs if costs in ((1, 8), (2, 8)) else (1, 8)
        self.derived = derived or argon2id(PASSPHRASE, self.head["salt"], *cheap)

    def fields(self, numbers=None):
        head = struct.pack("<8sH6sB3sII16sIq", *self.head.values()) + self.derived[32:]
        fields, offset = Fields(), 0
        for name, size in HEAD_LAYOUT:
            fields.add(name, head[offset : offset + size])
            offset += size
        for place, (kind, plain) in enumerate(self.frames):
            number = numbers[place] if numbers else place
            box = sealed(self.derived[:32], frame_data(head, number, kind), plain)
            fields.add(f"frame{place + 1}-length", struct.pack("<I", len(box)))
            fields.add(f"frame{place + 1}-kind", bytes([kind]))
            fields.add_box(f"frame{place + 1}-box", box)
        return fields


def case(name, data, comment, expect="CORRUPT", item=ANNA, passphrase=PASSPHRASE, items=None):
    secret = item.secret if items else None
    name = name if name.startswith("valid-") else "export-" + name
    return Vector(name, expect, comment, item.names(), {"export": data}, secret, passphrase=passphrase, items=items)


def good(name, comment, items=(ANNA, BERT), **head):
    first = items[0] if items else ANNA
    return case("valid-export-" + name, ExportPlan(items, **head).fields().data, comment, "OK", first, items=len(items))


def valid_cases():
    yield good("two-items", "An export of two items.")
    yield good("no-item", "An export of nothing.", [])
    yield good("two-passes", "The passphrase is derived with two passes.", passes=2)
    full = ItemPlan("пошта", "", bytes(range(256)), "org.example.app", "Пошта", 1, 7, 1, [("a", "1"), ("b", "ü")])
    yield good("all-metadata", "An item with everything that it may have.", [full])
    yield good("empty-secret", "An item whose secret has no bytes.", [ItemPlan("s", "", b"")])
    plain = item_plain(ANNA, metadata=encode_fields([*ANNA.metadata_pairs(VAULT), (0x8000, b"later")]))
    data = ExportPlan(frames=[(ITEM, plain), (END, struct.pack("<Q", 1))]).fields().data
    yield case("valid-export-unknown-optional-field", data, "The metadata hold a field of a later version.", "OK", items=1)


def spoilt(name, comment, expect="CORRUPT", **head):
    return case(name, ExportPlan(**head).fields().data, comment + "; the boxes are sealed for it.", expect)


def head_cases():
    yield spoilt("version-2", "It has version 2", "UNSUPPORTED", version=2)
    yield spoilt("version-0", "It has version 0", version=0)
    yield spoilt("magic", "It has another signature", magic=b"TKRECORD")
    yield spoilt("reserved-not-zero", "A reserved byte is not zero", reserved=b"\1" + bytes(5))
    yield spoilt("derivation-reserved-not-zero", "A reserved byte is not zero", derivation_reserved=b"\0\0\1")
    yield spoilt("salt-reserved-not-zero", "A reserved byte is not zero", salt_reserved=1)
    for derivation in (0, 2):
        yield spoilt(f"derivation-{derivation}", f"It has key derivation {derivation}", derivation=derivation)
    for passes, memory in ((0, 8), (17, 8), (1, 7), (1, 1048577), (3, 1048576), (16, 131073)):
        yield spoilt(f"costs-{passes}-{memory}", f"It asks for {passes} passes and {memory} KiB", passes=passes, memory=memory)


def commitment_cases():
    data = ExportPlan().fields().data
    for word, passphrase in {"another": b"another", "empty": b"", "newline-behind": PASSPHRASE + b"\n"}.items():
        yield case(f"denied-passphrase-{word}", data, "The passphrase is another.", "DENIED", passphrase=passphrase)
    derived = argon2id(PASSPHRASE, seeded("salt of an export", 16), 1, 8)
    plan = ExportPlan(derived=derived[:32] + bytes(32))
    yield case("denied-commitment", plan.fields().data, "The boxes are the passphrase's, the commitment is not.", "DENIED")
    plan = ExportPlan(derived=bytes(32) + derived[32:])
    yield case("commitment-right-boxes-not", plan.fields().data, "The commitment is the passphrase's, the boxes are not.")


def byte_cases():
    fields = ExportPlan([ANNA]).fields()
    good_bytes = fields.data
    for name, (offset, _) in fields.places.items():
        yield case("truncated-before-" + name, good_bytes[:offset], f"It ends before its field {name}.")
        expect = {"version": "UNSUPPORTED", "salt": "DENIED", "commitment": "DENIED"}.get(name, "CORRUPT")
        data = patched(fields, name, flipped(fields.data[offset : offset + fields.places[name][1]], 0))
        if name not in ("passes", "memory"):
            yield case("flipped-" + name, data, f"A bit of the field {name} is flipped.", expect)
    yield case("truncated-last-byte", good_bytes[:-1], "It lacks its last byte.")
    yield case("byte-behind", good_bytes + b"\0", "A byte stands behind the last frame.")
    yield case("twice", good_bytes + good_bytes, "It stands in its file twice.")
    for value in (0, 39, 0xFFFFFFFF):
        data = patched(fields, "frame1-length", struct.pack("<I", value))
        yield case(f"frame-length-{value}", data, f"The length of the first frame is {value}.")


def frame_cases():
    anna, bert, end = (ITEM, item_plain(ANNA)), (ITEM, item_plain(BERT)), (END, struct.pack("<Q", 2))
    frames = {
        "end-missing": ([anna, bert], None),
        "end-first": ([end, anna, bert], None),
        "end-twice": ([anna, bert, end, end], None),
        "kind-0": ([anna, (0, bert[1]), end], None),
        "kind-3": ([anna, (3, bert[1]), end], None),
        "item-missing": ([anna, end], None),
        "item-more": ([anna, bert, bert, end], None),
        "frame-cut-out": ([anna, end], [0, 2]),
        "frames-swapped": ([bert, anna, end], [1, 0, 2]),
        "count-of-4-bytes": ([anna, bert, (END, struct.pack("<I", 2))], None),
        "count-with-byte-behind": ([anna, bert, (END, end[1] + b"\0")], None),
        "no-frame": ([], None),
    }
    for word, (chosen, numbers) in frames.items():
        data = ExportPlan(frames=chosen).fields(numbers).data
        yield case("frames-" + word, data, f"The frames are wrong: {word.replace('-', ' ')}.")


def item_cases():
    pairs = ANNA.metadata_pairs(VAULT)
    items = {
        "level-0": item_plain(ANNA, level=0),
        "level-3": item_plain(ANNA, level=3),
        "flags-8": item_plain(ANNA, flags=8),
        "metadata-overrun": item_plain(ANNA, metadata_length=0xFFFFFFFF),
        "metadata-short": item_plain(ANNA, metadata_length=10),
        "metadata-empty": item_plain(ANNA, metadata=b""),
        "without-service": item_plain(ANNA, metadata=encode_fields([pair for pair in pairs if pair[0] != 2])),
        "unknown-field": item_plain(ANNA, metadata=encode_fields([*pairs, (0x7FFF, b"")])),
        "cut": item_plain(ANNA)[:11],
        "nothing": b"",
    }
    for word, plain in items.items():
        data = ExportPlan(frames=[(ITEM, plain), (END, struct.pack("<Q", 1))]).fields().data
        yield case("item-" + word, data, f"An item is wrong: {word.replace('-', ' ')}.")
