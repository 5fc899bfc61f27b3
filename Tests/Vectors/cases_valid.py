"""Vaults that a reader must read without a password, and NOT_FOUND."""

import struct

from cases_common import ALSO_BERT, ANNA, BERT, FOREIGN, VAULT, base_files, era_files, path_of, record_case
from cases_common import flipped, vault_case, vector, with_anna
from record_writer import ItemPlan, RecordPlan, encode_fields, lookup_attributes, pending_part, state_pairs, without_boxes
from vault_keys import RETIRING, SLOT_DEVICE
from vault_primitives import length_prefixed
from vault_writer import CREATED_AT, SlotPlan, new_key, seeded
from vector_file import Link

ATTRIBUTES = [(f"attribute-{number:02}", f"value {number}") for number in range(31)] + [("z._-" + "z" * 60, "")]


def cases():
    yield from item_cases()
    yield from key_cases()
    yield from header_copy_cases()
    yield from state_cases()
    yield from directory_cases()


def item_case(name, item, comment):
    return record_case(name, RecordPlan(VAULT, item).data(), comment, "OK", item)


def item_cases():
    minimal = ItemPlan("s", "", b"x")
    files = base_files(bert=False) | {path_of(minimal): RecordPlan(VAULT, minimal).data()}
    yield vector("valid-minimal", "OK", "One item with the shortest names.", minimal, files)
    full = ItemPlan(
        "mail.example",
        "anna",
        b"token of anna",
        "org.example.app",
        "Anna's mail",
        1,
        4,
        CREATED_AT + 3600,
        ATTRIBUTES,
        CREATED_AT + 60,
    )
    yield item_case("valid-all-metadata", full, "Every metadata field is there, with 32 attributes.")
    yield item_case("valid-empty-secret", ItemPlan("mail.example", "anna", b""), "The secret has no bytes.")
    every = ItemPlan("mail.example", "anna", bytes(range(256)))
    yield item_case("valid-every-byte", every, "The secret holds every byte value.")
    for level in (1, 2):
        item = ItemPlan("mail.example", "anna", b"token of anna", level=level)
        yield item_case(f"valid-level-{level}", item, f"An item of level {level}.")
    item = ItemPlan("mail.example", "anna", b"token of anna", flags=4)
    yield item_case("valid-flag-synchronizable", item, "An item with flag 4.")
    item = ItemPlan("mail.example", "anna", b"token of anna", expires_at=CREATED_AT - 1)
    yield item_case("valid-expired", item, "An item that ended long ago still loads.")
    item = ItemPlan("mail.example", "anna", b"token of anna", "org.example.app")
    yield item_case("valid-namespace", item, "An item of a namespace.")
    item = ItemPlan(
        "пошта.example",
        "żółw@例え.jp",
        "ключ 🔑".encode(),
        label="e\u0301 is not \u00e9",
        attributes=[("note", "ÿ\u00a0\U0010ffff")],
    )
    yield item_case("valid-unicode", item, "Names, label and attributes outside ASCII, not normalized.")
    longest = ItemPlan("s" * 255, "a" * 255, b"x", "n" * 64, "l" * 1024, attributes=[("a" * 64, "v" * 1024)])
    yield item_case(
        "valid-longest-names", longest, "Namespace, service, account, label and an attribute at their limits."
    )
    pairs = ANNA.metadata_pairs(VAULT) + [(0x8000, b"from a later version"), (0xFFFF, b"")]
    data = RecordPlan(VAULT, ANNA, metadata=encode_fields(pairs)).data()
    yield record_case(
        "valid-unknown-optional-metadata-fields", data, "Metadata fields from 0x8000 on are passed over.", "OK"
    )
    for word, pairs, comment in lookup_fields():
        data = RecordPlan(VAULT, ANNA, metadata=encode_fields(ANNA.metadata_pairs(VAULT) + pairs)).data()
        yield record_case(f"valid-lookup-{word}", data, comment, "OK")
    state = state_pairs((0x8001, b"from a later version"))
    yield record_case(
        "valid-unknown-optional-state-field",
        RecordPlan(VAULT, ANNA, state).data(),
        "A state field from 0x8000 on is passed over.",
        "OK",
    )


def lookup_fields():
    """What clients of the Secret Service give items, up to the limits."""
    longest = [(b"%d" % number, b"v" * 16383) for number in range(3)]
    yield "content-type", [(0x8001, b"")], "An empty content type alone."
    every = [(0x8001, b"text/plain; charset=utf8"), (0x8002, b"two\nlines"), (0x8003, b"0123456789abcdef" * 2)]
    attributes = lookup_attributes([(b"", b""), (b"A", b"line\nline"), ("ä".encode(), b"2")])
    yield "every-field", [*every, (0x8004, attributes)], "Content type, label, item id and attributes of a client."
    most = lookup_attributes([(b"%03d" % number, b"") for number in range(255)] + [(b"n" * 255, b"v" * 16384)])
    yield "256-attributes", [(0x8001, b"x" * 255), (0x8002, b"l" * 4096), (0x8004, most)], "As many and as long as may be."
    yield "49152-bytes", [(0x8001, b"x"), (0x8004, lookup_attributes(longest))], "As many bytes of attributes as may be."


def slots_case(name, slots, comment):
    files = era_files(slots=slots, items=[ANNA, BERT])
    return vector(name, "OK", comment, ANNA, files, also=ALSO_BERT)


def key_cases():
    keyfile_slot = VAULT.keyfile_slot()
    unknown = (0x4242, b"a slot that a later version knows")
    comment = "A slot of an unknown type stands before the keyfile slot."
    yield slots_case("valid-unknown-slot-before", [unknown, keyfile_slot], comment)
    comment = "Slots of unknown types stand behind the keyfile slot."
    yield slots_case("valid-unknown-slots-after", [keyfile_slot, unknown, (5, b""), (0, b"zero")], comment)
    yield slots_case("valid-64-slots", [keyfile_slot] + [(5, b"")] * 63, "As many slots as there may be.")
    retiring = [new_key(f"retiring {number}", purpose, RETIRING) for number, purpose in enumerate((2, 2, 1, 1, 2))]
    rotating = VAULT.keyfile_slot(keys=[*keyfile_slot.keys, *retiring])
    comment = "The keyfile slot has retiring keys too, two of them of one level."
    yield slots_case("valid-retiring-keys", [rotating], comment)
    comment = "The retiring keys stand before the current ones."
    yield slots_case("valid-retiring-keys-first", [VAULT.keyfile_slot(keys=[*retiring, *keyfile_slot.keys])], comment)


def header_copy_cases():
    good = VAULT.header_fields().data
    damaged = flipped(good, VAULT.header_fields().places["mac-a"][0])
    foreign = FOREIGN.header_fields().data
    newer = VAULT.header_fields(version=2).data
    copies = {
        "damaged": (damaged, "is damaged"),
        "empty": (b"", "is empty"),
        "missing": (None, "is missing"),
        "of-another-vault": (foreign, "belongs to another vault"),
        "of-version-2": (newer, "has an unknown version"),
        "with-a-byte-behind": (good + b"\0", "has a byte behind its end"),
    }
    for word, (data, what) in copies.items():
        yield vault_case(f"header-{word}-second-copy-good", {"header": data}, f"header {what}; header.2 is good.", "OK")
        yield vault_case(
            f"header2-{word}-first-copy-good", {"header.2": data}, f"header.2 {what}; header is good.", "OK"
        )
    ahead = VAULT.header_fields([VAULT.keyfile_slot(), (5, b"added")], epoch=2).data
    yield vault_case(
        "valid-second-copy-one-epoch-ahead",
        {"header.2": ahead},
        "A change of the header ended between its two copies.",
        "OK",
    )


def pending_case(name, plan, comment, expect="OK"):
    """Anna's record is pending, and `pending` says so."""
    files = base_files() | {path_of(ANNA): plan.data(), "pending/" + VAULT.name_of(*ANNA.names()): b""}
    return vector(name, expect, comment, ANNA, files, also=ALSO_BERT)


def state_cases():
    fingerprint = seeded("fingerprint", 16)
    parts = [(3, pending_part(1, base=[fingerprint], in_flight=[fingerprint] * 16))]
    parts.append((3, pending_part(2, b"another.old_module")))
    comment = "A pending write and a pending removal of modules that are nowhere; the value loads."
    yield pending_case("valid-pending-parts", RecordPlan(VAULT, ANNA, state_pairs(*parts)), comment)
    plan = RecordPlan(VAULT, ANNA).with_writes_mac(state_pairs(*parts))
    yield pending_case("valid-pending-write-with-mac", plan, "The same with a right MAC of the pending write.")
    plan = RecordPlan(VAULT, ANNA, state_pairs(*parts, (7, bytes(32))))
    yield pending_case("valid-pending-write-mac-wrong", plan, "The MAC is wrong: the write is passed over, the value loads.")
    many = [(3, pending_part(1, b"module-%02d" % number)) for number in range(64)]
    plan = RecordPlan(VAULT, ANNA, state_pairs(*many))
    yield pending_case("valid-64-pending-parts", plan, "As many pending parts as there may be.")
    session = state_pairs((16, b"a pending refresh"), (17, struct.pack("<I", 1)))
    comment = "The state holds a session's pending refresh and outbox flags."
    yield record_case("valid-session-state", RecordPlan(VAULT, ANNA, session).data(), comment, "OK")
    parts = [(3, pending_part(2)), (3, pending_part(2, b"another"))]
    comment = "The item was cleared, two modules may still hold it."
    plan = without_boxes(VAULT, ANNA, state_pairs(*parts))
    yield pending_case("not-found-tombstone-with-pending-parts", plan, comment, "NOT_FOUND")
    name = length_prefixed([part.encode("utf-8") for part in ANNA.names()])
    comment = "The item was cleared, and the tombstone says which it was."
    plan = without_boxes(VAULT, ANNA, state_pairs(*parts[:1], (4, name)))
    yield pending_case("not-found-tombstone-with-name", plan, comment, "NOT_FOUND")
    removal = ItemPlan("", ANNA.service, b"")
    name = length_prefixed([part.encode("utf-8") for part in removal.names()])
    plan = without_boxes(VAULT, removal, state_pairs(*parts[:1], (4, name)))
    comment = "A module that is nowhere must lose every item of Anna's service; the vault's item loads."
    files = with_anna({path_of(removal): plan.data(), "pending/" + VAULT.name_of(*removal.names()): b""})
    yield vector("valid-service-removal", "OK", comment, ANNA, files, also=ALSO_BERT)


def directory_cases():
    old = RecordPlan(VAULT, ItemPlan("mail.example", "anna", b"an old token")).data()
    path = path_of(ANNA)
    lying = {path + ".tmp": old[:100], path + ".corrupt-1": b"damaged", path_of(BERT) + ".tmp": b""}
    lying |= {"header.tmp": b"x", "header.corrupt-1": b"y", "header.2.corrupt-2": b"z", "/current.tmp": Link(b"era-2")}
    comment = "Unfinished writes and files set aside are no records."
    yield vault_case("valid-leftovers-lying-around", lying, comment, "OK")
    files = base_files() | {path + ".tmp": old, path + ".corrupt-1": old}
    comment = "The item is there only as an unfinished write and as a file set aside."
    yield vector("not-found-only-leftovers", "NOT_FOUND", comment, ANNA, files, also=ALSO_BERT)
    empty = base_files(bert=False)
    yield vector("not-found-empty-vault", "NOT_FOUND", "A new vault without records.", ANNA, empty)
    journal = with_anna({"/changes": bytes(32)})
    journal |= {"pending/" + VAULT.name_of(*BERT.names()): b"", f"used/secret-service@{bytes(16).hex()}": b""}
    journal[f"holders/{VAULT.id_of(*ANNA.names())}.secret-service@{bytes(16).hex()}"] = bytes(40)
    journal["/login"] = b"1764057600 gdm-password unlocked\n"
    comment = "The files beside the records that are no part of an item."
    yield vector("valid-journal-files", "OK", comment, ANNA, journal, also=ALSO_BERT)
