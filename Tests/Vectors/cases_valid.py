"""Vaults that a reader must read, and honest answers other than a value: NOT_FOUND, LOCKED."""

import struct

from cases_common import ANNA, BERT, FOREIGN, VAULT, base_files, path_of, record_case, vault_case, with_anna
from vault_format import OWED, TOMBSTONE
from vault_keys import RETIRING, SLOT_DEVICE, SLOT_PASSWORD, SLOT_RECOVERY
from vault_primitives import argon2id, length_prefixed
from vault_writer import (
    CREATED_AT,
    ItemPlan,
    RecordPlan,
    SlotPlan,
    debt,
    encode_fields,
    new_key,
    seeded,
    state_pairs,
    without_boxes,
)
from vector_file import Vector

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
    yield Vector("valid-minimal", "OK", "One item with the shortest names.", minimal.names(), files, b"x")
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
    state = state_pairs(1, (0x8001, b"from a later version"))
    yield record_case(
        "valid-unknown-optional-state-field",
        RecordPlan(VAULT, ANNA, state).data(),
        "A state field from 0x8000 on is passed over.",
        "OK",
    )


def slots_case(name, slots, comment, expect="OK", class_key=None):
    files = base_files(slots=slots) | {path_of(ANNA): RecordPlan(VAULT, ANNA, class_key=class_key).data()}
    secret = ANNA.secret if expect == "OK" else None
    also = (BERT.service, BERT.account, BERT.secret) if expect == "OK" else None
    return Vector(name, expect, comment, ANNA.names(), files, secret, also)


def key_cases():
    keyfile_slot = VAULT.keyfile_slot()
    unknown = (0x4242, b"a slot that a later version knows")
    yield slots_case(
        "valid-unknown-slot-before",
        [unknown, keyfile_slot],
        "A slot of an unknown type stands before the keyfile slot.",
    )
    yield slots_case(
        "valid-unknown-slots-after",
        [keyfile_slot, unknown, (5, b""), (0, b"zero")],
        "Slots of unknown types stand behind the keyfile slot.",
    )
    password = password_slot(keyfile_slot.keys)
    yield slots_case(
        "valid-password-slot-beside",
        [keyfile_slot, password],
        "A password slot (password: correct horse) wraps the same keys.",
    )
    costly = SlotPlan(keyfile_slot.keys, bytes(32), SLOT_RECOVERY, 9, 1, 16, 1048576, seeded("salt 2", 16))
    yield slots_case(
        "valid-recovery-slot-at-cost-limit",
        [keyfile_slot, costly],
        "A recovery slot with 16 passes and 1 GiB, which nobody has to derive.",
    )
    device = SlotPlan(keyfile_slot.keys, bytes(32), SLOT_DEVICE, 10, 0, extension=b"sealed by a device")
    yield slots_case(
        "valid-device-slot-with-extension",
        [keyfile_slot, device],
        "A device slot with an extension stands behind the keyfile slot.",
    )
    full = [keyfile_slot] + [(5, b"")] * 63
    yield slots_case("valid-64-slots", full, "As many slots as there may be.")
    old = new_key("old class 2", 2, RETIRING)
    rotating = VAULT.keyfile_slot(keys=[*keyfile_slot.keys, old])
    yield slots_case(
        "valid-retiring-class-key",
        [rotating],
        "One record is sealed under the retiring class key, the other under the current one.",
        class_key=old,
    )
    protected = new_key("class 2 of the password", 2)
    slots = [keyfile_slot, password_slot([protected])]
    locked = slots_case(
        "locked-class-key-in-password-slot",
        slots,
        "The class key stands in a password slot alone.",
        "LOCKED",
        protected,
    )
    locked.also = (BERT.service, BERT.account, BERT.secret)
    yield locked
    only = [password_slot(keyfile_slot.keys)]
    yield slots_case("locked-no-keyfile-slot", only, "There is a password slot and no keyfile slot.", "LOCKED")
    absent = base_files(slots=only)
    yield Vector(
        "not-found-in-locked-vault",
        "NOT_FOUND",
        "A locked vault still tells that an item is not there.",
        ANNA.names(),
        absent,
    )


def password_slot(keys):
    salt = seeded("salt", 16)
    return SlotPlan(keys, argon2id(b"correct horse", salt, 1, 8), SLOT_PASSWORD, 8, 1, 1, 8, salt)


def header_copy_cases():
    good = VAULT.header_fields().data
    damaged = good[:-1] + bytes([good[-1] ^ 1])
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


def state_cases():
    fingerprint = seeded("fingerprint", 16)
    debts = [(3, debt(1, base=[fingerprint], in_flight=[fingerprint] * 16)), (3, debt(2, b"another.old_module"))]
    data = RecordPlan(VAULT, ANNA, state_pairs(OWED, *debts)).data()
    yield record_case(
        "valid-owed-with-debts",
        data,
        "An owed record with a put and a delete debt of modules that are nowhere; its value loads.",
        "OK",
    )
    data = RecordPlan(VAULT, ANNA, state_pairs(OWED)).data()
    yield record_case("valid-owed-without-debts", data, "An owed record that is being settled.", "OK")
    many = [(3, debt(1, f"module-{number:02}".encode())) for number in range(64)]
    yield record_case(
        "valid-owed-with-64-debts",
        RecordPlan(VAULT, ANNA, state_pairs(OWED, *many)).data(),
        "As many debts as there may be.",
        "OK",
    )
    session = state_pairs(1, (16, b"a pending refresh"), (17, struct.pack("<I", 1)))
    yield record_case(
        "valid-session-state",
        RecordPlan(VAULT, ANNA, session).data(),
        "The state holds a pending refresh and outbox flags.",
        "OK",
    )
    tombstone = without_boxes(VAULT, ANNA, state_pairs(TOMBSTONE, (3, debt(2)), (3, debt(2, b"another"))))
    yield record_case(
        "not-found-tombstone-with-debts",
        tombstone.data(),
        "The item was cleared, two modules may still hold it.",
        "NOT_FOUND",
    )
    name = length_prefixed([part.encode("utf-8") for part in ANNA.names()])
    yield record_case(
        "not-found-tombstone-with-name",
        without_boxes(VAULT, ANNA, state_pairs(TOMBSTONE, (3, debt(2)), (4, name))).data(),
        "The item was cleared, and the tombstone says which it was.",
        "NOT_FOUND",
    )


def directory_cases():
    old = RecordPlan(VAULT, ItemPlan("mail.example", "anna", b"an old token")).data()
    path = path_of(ANNA)
    lying = {
        path + ".tmp": old[:100],
        path + ".corrupt-1": b"damaged",
        path_of(BERT) + ".tmp": b"",
        "header.tmp": b"x",
        "header.corrupt-1": b"y",
    }
    yield vault_case(
        "valid-leftovers-lying-around", lying, "Unfinished writes and files set aside are no records.", "OK"
    )
    files = base_files() | {path + ".tmp": old, path + ".corrupt-1": old}
    yield Vector(
        "not-found-only-leftovers",
        "NOT_FOUND",
        "The item is there only as an unfinished write and as a file set aside.",
        ANNA.names(),
        files,
    )
    empty = base_files(bert=False)
    yield Vector("not-found-empty-vault", "NOT_FOUND", "A new vault without records.", ANNA.names(), empty)
    keyfile_alone = {"keyfile": empty["keyfile"], "lock": b""}
    yield Vector(
        "not-found-keyfile-alone",
        "NOT_FOUND",
        "The making of the vault was interrupted behind the keyfile.",
        ANNA.names(),
        keyfile_alone,
    )
    yield Vector(
        "not-found-no-vault", "NOT_FOUND", "The directory is empty but for the lock.", ANNA.names(), {"lock": b""}
    )
    journal = with_anna({"generation": b"1", "changed": b""})
    yield Vector(
        "valid-journal-files",
        "OK",
        "Files that are reserved for the journal do not disturb.",
        ANNA.names(),
        journal,
        ANNA.secret,
    )
