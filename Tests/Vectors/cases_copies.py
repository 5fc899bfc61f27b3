"""The sealed copies that records name: which modules may hold an item that the vault sealed for them."""

import struct
from dataclasses import replace

from cases_common import ALSO_BERT, ANNA, BERT, PASSWORD, VAULT, base_files, path_of, vector
from cases_copies_common import ANOTHER_MACHINE, HOLDERS, KEY_IDS, MACHINE, PRINTS, copies_pairs, copies_record, holder_value
from cases_copies_common import names_value
from record_writer import ItemPlan, RecordPlan, encode_fields, pending_part, state_pairs
from vault_primitives import length_prefixed
from vault_writer import VaultPlan, seeded


def cases():
    yield from holder_cases()
    yield from demand_cases()
    yield from name_cases()
    yield from record_cases()
    yield from structure_cases()
    yield from value_cases()
    yield from bad_name_cases()
    yield from bad_holder_cases()


def case(name, data, comment, expect="CORRUPT", item=ANNA, holders=HOLDERS, files=None):
    """The record of the item is `data`. `files`: others than those of a vault with Bert's record."""
    note = ()
    if expect == "OK":
        note = (item.level, item.flags, [told(*holder) for holder in holders])
    also = ALSO_BERT if files is None and item.namespace == "" else None
    files = (base_files() if files is None else files) | {path_of(item): data}
    return vector(name, expect, comment, item, files, also=also, note=note)


def told(machine, module, key_ids, prints):
    """A module as a vector tells of it."""
    return machine.hex(), module.decode(), [f"{key_id:016x}" for key_id in key_ids], [value.hex() for value in prints]


def good(word, comment, item=ANNA, holders=HOLDERS, more=()):
    data = copies_record(VAULT, item, copies_pairs(item, holders) + list(more))
    return case("valid-copies-" + word, data, comment, "OK", item, holders)


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
        yield good(f"level-{level}", f"Copies of an item of level {level}.", replace(ANNA, level=level))
    for flags in range(1, 8):
        level = 1 + flags % 2
        comment = f"Copies of an item of level {level} with the flags {flags}."
        yield good(f"flags-{flags}", comment, replace(ANNA, level=level, flags=flags))


def name_cases():
    yield good("namespace", "Copies of an item of a namespace.", replace(ANNA, namespace="org.example.app"))
    item = ItemPlan("пошта.example", "e\u0301 is not \u00e9 例え", b"", "команда 🔑")
    yield good("unicode", "A name outside ASCII, not normalized.", item)
    item = ItemPlan("s" * 255, "a" * 255, b"", "n" * 64)
    yield good("longest-names", "Namespace, service and account at their limits.", item)
    yield good("shortest-names", "The shortest names.", ItemPlan("s", "", b""))
    optional = [(0x8000, b"from a later version"), (0x8001, b""), (0xFFFF, bytes(300))]
    yield good("optional-fields", "Optional fields that are not known stand behind the others.", more=optional)
    optional = [(0x9000, b"x")]
    yield good("optional-field-no-module", "An optional field, and no module.", holders=[], more=optional)


def record_cases():
    """What else may stand in the record."""
    vault = VaultPlan("copies of a locked vault")
    files = base_files(vault, [vault.password_slot(PASSWORD)], bert=False)
    files[path_of(ANNA, vault)] = copies_record(vault, ANNA, copies_pairs(ANNA))
    note = (ANNA.level, ANNA.flags, [told(*HOLDERS[0])])
    yield vector("valid-copies-of-a-locked-vault", "OK", "A locked vault tells of its copies.", ANNA, files, note=note)
    files[path_of(ANNA, vault)] = RecordPlan(vault, ANNA, copies_pairs(ANNA)).data()
    comment = "A locked vault tells of the copies of an item that has a value, too."
    yield vector("valid-copies-beside-a-locked-value-while-locked", "OK", comment, ANNA, files, note=note)
    data = RecordPlan(VAULT, ANNA, copies_pairs(ANNA)).data()
    yield case("valid-copies-beside-value", data, "The item has a value, too.", "OK")
    files = base_files() | {path_of(ANNA): data}
    yield vector("valid-value-beside-copies", "OK", "The item with copies has a value.", ANNA, files, also=ALSO_BERT)
    other = replace(ANNA, level=1, flags=1)
    data = RecordPlan(VAULT, ANNA, copies_pairs(other)).data()
    item_note = (1, 1, [told(*HOLDERS[0])])
    comment = "The copies have another level than the value, and other flags."
    files = base_files() | {path_of(ANNA): data}
    yield vector("valid-copies-of-another-level", "OK", comment, ANNA, files, also=ALSO_BERT, note=item_note)
    pending = {"pending/" + VAULT.name_of(*ANNA.names()): b""}
    parts = [pending_part(2, b"secret-service")]
    data = copies_record(VAULT, ANNA, copies_pairs(ANNA, parts=parts))
    yield case("valid-copies-beside-removal", data, "A removal is pending.", "OK", files=base_files() | pending)
    pairs = copies_pairs(ANNA, parts=[pending_part(1, b"secret-service")])
    data = RecordPlan(VAULT, ANNA).with_writes_mac(pairs).data()
    yield case("valid-copies-beside-write", data, "A write is pending.", "OK", files=base_files() | pending)
    files = base_files() | {path_of(BERT): copies_record(VAULT, BERT, copies_pairs(BERT))}
    data = copies_record(VAULT, ANNA, copies_pairs(ANNA))
    yield case("valid-copies-beside-another", data, "Another item has copies, too.", "OK", files=files)
    files = base_files() | {path_of(ANNA): data}
    yield vector("not-found-copies-alone", "NOT_FOUND", "The item has copies and no value.", ANNA, files, also=ALSO_BERT)
    data = copies_record(VAULT, ANNA, state_pairs())
    files = base_files() | {path_of(ANNA): data}
    comment = "The record of the item names no copies."
    yield vector("not-found-copies-of-none", "NOT_FOUND", comment, ANNA, files, also=ALSO_BERT, note=())


def field_case(word, pairs, comment):
    return case("copies-" + word, copies_record(VAULT, ANNA, pairs), comment)


def structure_cases():
    pairs = copies_pairs(ANNA)
    changed, name, protection, holder = pairs
    yield field_case("name-missing", [changed, protection, holder], "The name is missing.")
    yield field_case("protection-missing", [changed, name, holder], "Level and flags are missing.")
    yield field_case("protection-twice", [changed, name, protection, protection, holder], "Level and flags stand twice.")
    yield field_case("protection-alone", [changed, protection], "Level and flags stand alone.")
    yield field_case("module-alone", [changed, holder], "A module stands alone.")
    yield field_case("module-before-protection", [changed, name, holder, protection], "The fields are out of order.")
    yield field_case("module-first-and-last", [holder, *pairs], "A module stands before the other fields.")
    yield field_case("unknown-field-7", [*pairs, (7, b"x")], "It holds the unknown field 7.")
    data = RecordPlan(VAULT, ANNA, [changed, name]).data()
    yield case("copies-none-beside-name-of-value", data, "The state of a record with a value repeats the name.")


def replaced(tag, value):
    return [(t, value if t == tag else v) for t, v in copies_pairs(ANNA)]


def value_cases():
    for level in (0, 6, 7, 0x102, 0x80000002, 0xFFFFFFFF):
        yield field_case(f"level-{level}", replaced(5, struct.pack("<II", level, 0)), f"The level is {level}.")
    for flags in (8, 0x100, 1 << 31, 0xFFFFFFFF):
        yield field_case(f"flags-{flags}", replaced(5, struct.pack("<II", 2, flags)), f"The flags are {flags}.")
    for size in (0, 4, 7, 9, 16):
        value = (b"\2" + bytes(15))[:size]
        yield field_case(f"protection-of-{size}-bytes", replaced(5, value), f"Level and flags have {size} bytes.")


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
        "of-a-removal": names_value(ItemPlan("", "mail.example", b"")),
        "invalid-utf8": length_prefixed([*parts[:2], b"ann\xff"]),
    }
    for word, value in values.items():
        yield field_case("name-" + word, replaced(4, value), f"The name is bad: {word.replace('-', ' ')}.")


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
        yield field_case("module-" + word, replaced(6, value), comment)
    pairs = copies_pairs(ANNA)
    yield field_case("module-bad-behind-good", [*pairs, (6, whole[:-1])], "The second of two modules is cut off.")
    many = copies_pairs(ANNA, [(machine, b"module-%02d" % number, key_ids) for number in range(65)])
    yield field_case("65-modules", many, "There are 65 modules.")
