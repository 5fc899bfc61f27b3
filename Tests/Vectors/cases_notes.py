"""What a vault notes of the items that it sealed for other modules. Records stay readable beside a note that is not."""

import struct
from dataclasses import replace

from cases_common import ALSO_BERT, ANNA, BERT, FOREIGN, PASSWORD, VAULT, base_files, flipped, vector
from cases_notes_common import ANOTHER_MACHINE, HOLDERS, KEY_IDS, MACHINE, PRINTS, NotePlan, holder_value, names_value
from cases_notes_common import note_pairs
from cases_sealed import SealedPlan
from record_writer import ItemPlan, RecordPlan, encode_fields
from vault_notes import NOTE_MAXIMUM
from vault_primitives import length_prefixed, subkey
from vault_writer import VaultPlan, patched, seeded


def cases():
    yield from holder_cases()
    yield from demand_cases()
    yield from name_cases()
    yield from file_cases()
    yield from byte_cases()
    yield from prefix_cases()
    yield from binding_cases()
    yield from structure_cases()
    yield from value_cases()
    yield from bad_name_cases()
    yield from bad_holder_cases()


def path_of(item, vault=VAULT):
    return "sealed/" + vault.name_of(*item.names())


def case(name, data, comment, expect="CORRUPT", item=ANNA, holders=HOLDERS, files=None):
    """The note of the item is `data`. `files`: of a vault without Bert's record."""
    note = ()
    if expect == "OK":
        note = (item.level, item.flags, [told(*holder) for holder in holders])
    also = ALSO_BERT if files is None and item.namespace == "" else None
    files = (base_files() if files is None else files) | {path_of(item): data}
    return vector(name, expect, comment, item, files, also=also, note=note)


def told(machine, module, key_ids, prints):
    """A module as a vector tells of it."""
    return machine.hex(), module.decode(), [f"{key_id:016x}" for key_id in key_ids], [value.hex() for value in prints]


def good(word, comment, item=ANNA, holders=HOLDERS, more=b""):
    data = NotePlan(VAULT, item, encode_fields(note_pairs(item, holders)) + more).data()
    return case("valid-note-" + word, data, comment, "OK", item, holders)


def holder_cases():
    module, ids, one = b"secret-service", KEY_IDS, PRINTS
    many_prints = [seeded(f"fingerprint {number}", 16) for number in range(17)]
    yield good("one-module", "One module may hold the item under one key.")
    two = [(MACHINE, module, ids, one), (ANOTHER_MACHINE, b"another.module", [0x0102030405060708], many_prints[:2])]
    yield good("two-modules-two-machines", "Two modules on two machines may hold it.", holders=two)
    yield good("two-modules-one-machine", "Two modules on one machine may hold it.", holders=[two[0], (MACHINE, *two[1][1:])])
    same = [(MACHINE, module, ids, one), (ANOTHER_MACHINE, module, ids, one)]
    yield good("one-module-two-machines", "A module may hold it on two machines.", holders=same)
    several = [(MACHINE, module, [VAULT.class_keys[1].key_id, *ids, 1, 0xFFFFFFFFFFFFFFFF], one)]
    yield good("several-keys", "A module may hold it under one of several keys, in no order.", holders=several)
    full = [(MACHINE, module, list(range(16, 0, -1)), many_prints[:16])]
    yield good("16-keys-16-fingerprints", "As many keys and fingerprints as there may be.", holders=full)
    yield good("no-key", "A module that may hold it, under no class key.", holders=[(MACHINE, module, [], one)])
    yield good("no-fingerprint", "A module that may hold it, with no fingerprint.", holders=[(MACHINE, module, ids, [])])
    yield good("key-0", "Of a module nothing is known but that it holds it.", holders=[(MACHINE, module, [0], [bytes(16)])])
    yield good("no-module", "No module may hold it.", holders=[])
    many = [(MACHINE, b"module-%02d" % number, list(range(16)), many_prints[:16]) for number in range(64)]
    yield good("64-modules", "As many modules as there may be, each with as many keys and fingerprints.", holders=many)
    longest = [(bytes(16), b"z._-0" + b"m" * 59, ids, one), (b"\xff" * 16, b"a", ids, one)]
    yield good("longest-and-shortest-module", "Modules' names at their limits.", holders=longest)


def demand_cases():
    for level in range(1, 6):
        yield good(f"level-{level}", f"The note of an item of level {level}.", replace(ANNA, level=level))
    for flags in range(1, 8):
        level = 1 + flags % 2
        comment = f"The note of an item of level {level} with the flags {flags}."
        yield good(f"flags-{flags}", comment, replace(ANNA, level=level, flags=flags))


def name_cases():
    yield good("namespace", "The note of an item of a namespace.", replace(ANNA, namespace="org.example.app"))
    item = ItemPlan("пошта.example", "e\u0301 is not \u00e9 例え", b"", "команда 🔑")
    yield good("unicode", "A name outside ASCII, not normalized.", item)
    item = ItemPlan("s" * 255, "a" * 255, b"", "n" * 64)
    yield good("longest-names", "Namespace, service and account at their limits.", item)
    yield good("shortest-names", "The shortest names.", ItemPlan("s", "", b""))
    optional = encode_fields([(0x8000, b"from a later version"), (0x8001, b""), (0xFFFF, bytes(300))])
    yield good("optional-fields", "Optional fields that are not known stand behind the others.", more=optional)
    optional = encode_fields([(0x9000, b"x")])
    yield good("optional-field-no-module", "An optional field, and no module.", holders=[], more=optional)


def file_cases():
    data = NotePlan(VAULT, ANNA).data()
    files = base_files() | {path_of(ANNA) + ".tmp": data[:20], path_of(BERT) + ".tmp": b""}
    files[path_of(BERT) + ".corrupt-1"] = data[:-1]
    comment = "The rests of unfinished writes, and a note that was set aside, lie beside the note."
    yield case("valid-note-leftovers-lying-around", data, comment, "OK", files=files)
    files = base_files() | {path_of(ANNA) + ".tmp": data}
    comment = "The note is there only as an unfinished write."
    yield vector("not-found-note-only-unfinished", "NOT_FOUND", comment, ANNA, files, also=ALSO_BERT, note=())
    vault = VaultPlan("note of a locked vault")
    files = base_files(vault, [vault.password_slot(PASSWORD)], bert=False)
    files[path_of(ANNA, vault)] = NotePlan(vault, ANNA).data()
    comment = "A locked vault tells what it noted."
    note = (ANNA.level, ANNA.flags, [told(*HOLDERS[0])])
    yield vector("valid-note-of-a-locked-vault", "OK", comment, ANNA, files, note=note)
    record = RecordPlan(VAULT, ANNA).data()
    files = base_files() | {"records/" + VAULT.name_of(*ANNA.names()): record}
    yield case("valid-note-beside-record", data, "The item has a record too.", "OK", files=files)
    files = base_files() | {path_of(BERT): NotePlan(VAULT, BERT).data()}
    yield case("valid-note-beside-another", data, "Another item has a note too.", "OK", files=files)
    yield from size_cases()
    yield case("note-is-a-record", record, "The item's record stands there.")
    yield case("note-is-a-sealed-secret", SealedPlan(VAULT, ANNA).data(), "What was sealed for the module stands there.")


def size_cases():
    """An optional field makes the file as long as it may be, and longer."""
    pairs = note_pairs(ANNA)
    rest = NOTE_MAXIMUM - len(NotePlan(VAULT, ANNA).data()) - 6
    yield good("as-long-as-it-may-be", "The file has 65536 bytes.", more=encode_fields([(0x8000, bytes(rest))]))
    plain = encode_fields([*pairs, (0x8000, bytes(rest + 1))])
    yield case("note-too-long", NotePlan(VAULT, ANNA, plain).data(), "The file has 65537 bytes.")
    comment = "It has version 2 and is longer than one of version 1 may be."
    data = NotePlan(VAULT, ANNA, plain, version=2).data()
    yield case("note-version-2-longer", data, comment, "UNSUPPORTED")


def byte_cases():
    fields = NotePlan(VAULT, ANNA).fields()
    data = fields.data
    for name, (offset, size) in fields.places.items():
        yield case(f"note-truncated-before-{name}", data[:offset], f"It ends before its field {name}.")
        expect = "UNSUPPORTED" if name == "prefix-version" else "CORRUPT"
        yield case(f"note-flipped-{name}", flipped(data, offset), f"A bit of the field {name} is flipped.", expect)
    yield case("note-flipped-last-byte", flipped(data, len(data) - 1), "A bit of its last byte is flipped.")
    yield case("note-truncated-last-byte", data[:-1], "It lacks its last byte.")
    yield case("note-box-39-bytes", data[: 48 + 39], "Its box is shorter than an empty one.")
    yield case("note-byte-behind", data + b"\0", "A byte stands behind its box.")
    yield case("note-twice", data + data, "It stands there twice.")


def spoilt(word, comment, expect="CORRUPT", **prefix):
    data = NotePlan(VAULT, ANNA, **prefix).data()
    return case("note-" + word, data, comment + "; the box is sealed for it.", expect)


def prefix_cases():
    """Values of the prefix that are wrong while the box is sealed for them."""
    for magic in (b"TKRECORD", b"TKsealed"):
        yield spoilt("magic-" + magic.decode().lower().replace("tk", ""), "It has another signature", magic=magic)
    yield spoilt("version-0", "It has version 0", version=0)
    yield spoilt("version-2", "It has version 2", "UNSUPPORTED", version=2)
    yield spoilt("version-256", "It has version 256", "UNSUPPORTED", version=256)
    for place in (0, 5):
        reserved = bytes(place) + b"\1" + bytes(5 - place)
        yield spoilt(f"reserved-byte-{place}-not-zero", "A reserved byte is not zero", reserved=reserved)
    yield spoilt("foreign-vault-id", "It names another vault", vault_id=FOREIGN.vault_id)
    name = bytes.fromhex(VAULT.name_of(*BERT.names()))
    yield spoilt("prefix-name-of-another-item", "Its NAME is another item's", name=name)


def binding_cases():
    """What is right where it was made stands somewhere else, or says that it does."""
    plan, bert = NotePlan(VAULT, ANNA), NotePlan(VAULT, BERT)
    yield case("note-of-another-item", bert.data(), "Bert's note stands under Anna's NAME.")
    name = bytes.fromhex(VAULT.name_of(*ANNA.names()))
    data = patched(bert.fields(), "prefix-name", name)
    yield case("note-of-another-item-name-altered", data, "Bert's note stands under Anna's NAME and has it.")
    yield case("note-of-another-vault", NotePlan(FOREIGN, ANNA).data(), "It comes from another vault.")
    data = NotePlan(FOREIGN, ANNA, vault_id=VAULT.vault_id, name=name).data()
    yield case("note-under-keys-of-another-vault", data, "It is sealed under another vault's key.")
    name_key = VAULT.name_key.secret
    keys = {"the-name-key": name_key, "subkey-1": subkey(name_key, 1, b"TKname__")}
    keys |= {"the-metadata-key": VAULT.metadata_key.secret, "the-class-key": VAULT.class_keys[2].secret}
    for word, key in keys.items():
        yield case(f"note-under-{word}", plan.data(key=key), f"Its box is sealed under {word.replace('-', ' ')}.")
    for context in (b"TKstate_", b""):
        word = "of-a-state" if context else "without-context"
        yield case(f"note-data-{word}", plan.data(context=context), "Its box has other additional data.")
    for word, era in {"another-era": struct.pack("<Q", 2), "no-era": b""}.items():
        yield case(f"note-of-{word}", plan.data(era=era), f"Its box is sealed for {word.replace('-', ' ')}.")
    first = VaultPlan(era=2)
    data = NotePlan(first, ANNA, name=name).data()
    yield case("note-under-keys-of-another-era", data, "It was sealed in another era, and its NAME is altered.")


def field_case(word, pairs, comment, raw_end=b""):
    return case("note-" + word, NotePlan(VAULT, ANNA, encode_fields(pairs) + raw_end).data(), comment)


def structure_cases():
    pairs = note_pairs(ANNA)
    yield field_case("empty", [], "The box holds nothing.")
    words = {1: "name", 2: "level", 3: "flags"}
    for tag, word in words.items():
        yield field_case(f"{word}-missing", [pair for pair in pairs if pair[0] != tag], f"The {word} is missing.")
        twice = sorted([*pairs, pairs[tag - 1]], key=lambda pair: pair[0])
        yield field_case(f"{word}-twice", twice, f"The {word} stands twice.")
    orders = {"level-first": (1, 0, 2, 3), "flags-before-level": (0, 2, 1, 3), "module-before-flags": (0, 1, 3, 2)}
    for word, order in orders.items():
        yield field_case(word, [pairs[place] for place in order], "Its fields are out of order.")
    yield field_case("module-first-and-last", [pairs[3], *pairs], "A module stands before the other fields.")
    optional = [(0x8001, b""), (0x8000, b"")]
    yield field_case("optional-fields-out-of-order", pairs + optional, "Optional fields are out of order.")
    yield field_case("optional-field-first", [(0x8000, b""), *pairs], "An optional field stands before the others.")
    yield field_case("optional-field-twice", pairs + [(0x8000, b"")] * 2, "An optional field stands twice.")
    for tag in (0, 5, 16, 0x7FFF):
        yield field_case(f"unknown-field-{tag}", sorted([*pairs, (tag, b"x")]), f"It holds the unknown field {tag}.")
    endings = {
        "tag-cut": b"\0",
        "length-cut": b"\0\x80\0\0\0",
        "length-maximum": struct.pack("<HI", 0x8000, 0xFFFFFFFF),
        "value-cut": struct.pack("<HI", 0x8000, 2) + b"x",
    }
    for word, end in endings.items():
        yield field_case("last-field-" + word, pairs, "The last field does not fit into the box.", end)


def replaced(tag, value):
    return [(t, value if t == tag else v) for t, v in note_pairs(ANNA)]


def value_cases():
    for level in (0, 6, 7, 0x102, 0x80000002, 0xFFFFFFFF):
        yield field_case(f"level-{level}", replaced(2, struct.pack("<I", level)), f"The level is {level}.")
    for flags in (8, 0x100, 1 << 31, 0xFFFFFFFF):
        yield field_case(f"flags-{flags}", replaced(3, struct.pack("<I", flags)), f"The flags are {flags}.")
    for tag, word in {2: "level", 3: "flags"}.items():
        for size in (0, 1, 3, 5, 8):
            value = (b"\2" + bytes(7))[:size]
            yield field_case(f"{word}-of-{size}-bytes", replaced(tag, value), f"The {word} has {size} bytes.")


def bad_name_cases():
    good_value = names_value(ANNA)
    parts = [name.encode() for name in ANNA.names()]
    values = {
        "of-another-item": names_value(BERT),
        "of-another-namespace": names_value(replace(ANNA, namespace="org.example.app")),
        "border-shifted": length_prefixed([b"", b"mail.exampl", b"eanna"]),
        "empty": b"",
        "two-parts": length_prefixed(parts[:2]),
        "four-parts": length_prefixed([*parts, b""]),
        "byte-behind": good_value + b"\0",
        "cut": good_value[:-1],
        "length-maximum": b"\xff" * 4 + good_value[4:],
        "without-service": length_prefixed([b"", b"", b"anna"]),
        "invalid-utf8": length_prefixed([*parts[:2], b"ann\xff"]),
    }
    for word, value in values.items():
        yield field_case("name-" + word, replaced(1, value), f"The name is bad: {word.replace('-', ' ')}.")


def bad_holder_cases():
    machine, module, key_ids, prints = HOLDERS[0]
    whole = holder_value(machine, module, key_ids)
    values = {
        "name-empty": holder_value(machine, b"", key_ids),
        "name-65-bytes": holder_value(machine, b"m" * 65, key_ids),
        "name-255-bytes": holder_value(machine, b"m" * 255, key_ids),
        "name-upper-case": holder_value(machine, b"Secret-service", key_ids),
        "name-with-slash": holder_value(machine, b"../service", key_ids),
        "name-with-nul": holder_value(machine, b"service\0", key_ids),
        "name-with-newline": holder_value(machine, b"service\n", key_ids),
        "name-not-ascii": holder_value(machine, "sérvice".encode(), key_ids),
        "name-invalid-utf8": holder_value(machine, b"service\xff", key_ids),
        "name-overruns": holder_value(machine, module, key_ids, module_length=64),
        "name-one-longer": holder_value(machine, module, key_ids, module_length=len(module) + 1),
        "17-keys": holder_value(machine, module, range(17)),
        "255-keys": holder_value(machine, module, range(255)),
        "keys-one-more": holder_value(machine, module, key_ids, key_count=2),
        "keys-one-less": holder_value(machine, module, [*key_ids, 1], key_count=1),
        "keys-none-but-one": holder_value(machine, module, key_ids, key_count=0),
        "17-fingerprints": holder_value(machine, module, key_ids, prints * 17),
        "255-fingerprints": holder_value(machine, module, key_ids, prints * 255),
        "fingerprints-one-more": holder_value(machine, module, key_ids, print_count=2),
        "fingerprints-none-but-one": holder_value(machine, module, key_ids, print_count=0),
        "without-bytes": b"",
        "cut-in-machine": whole[:15],
        "cut-before-name-length": whole[:16],
        "cut-before-name": whole[:17],
        "cut-in-name": whole[:20],
        "cut-before-key-count": whole[:-26],
        "cut-before-key-id": whole[:-25],
        "cut-in-key-id": whole[:-18],
        "cut-before-fingerprint-count": whole[:-17],
        "cut-before-fingerprint": whole[:-16],
        "cut-in-fingerprint": whole[:-1],
        "byte-behind": whole + b"\0",
    }
    for word, value in values.items():
        comment = f"A module is bad: {word.replace('-', ' ')}."
        yield field_case("module-" + word, replaced(4, value), comment)
    pairs = note_pairs(ANNA)
    yield field_case("module-bad-behind-good", [*pairs, (4, whole[:-1])], "The second of two modules is cut off.")
    many = note_pairs(ANNA, [(machine, b"module-%02d" % number, key_ids) for number in range(65)])
    yield field_case("65-modules", many, "There are 65 modules.")
