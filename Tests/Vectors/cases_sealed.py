"""Secrets that a vault sealed for another module. What is wrong with one is no damage of the vault: Bert's record stays
readable beside it."""

import struct
from dataclasses import replace

from cases_common import ALSO_BERT, ANNA, BERT, FOREIGN, PASSWORD, VAULT, base_files, flipped, vector
from record_writer import PREFIX_LAYOUT, ItemPlan, RecordPlan
from vault_keys import PURPOSE_PRESENCE, RETIRING
from vault_primitives import hash_bytes
from vault_writer import Fields, Key, VaultPlan, new_key, patched

SECRET_LIMIT = 1048616


def cases():
    yield from item_cases()
    yield from flag_cases()
    yield from key_cases()
    yield from unlocked_cases()
    yield from byte_cases()
    yield from prefix_cases()
    yield from length_cases()
    yield from key_id_cases()
    yield from binding_cases()


class SealedPlan(RecordPlan):
    """A sealed secret: prefix and box. Every part of the prefix can be replaced; the box is sealed for it."""

    def __init__(self, vault, item, class_key=None, **prefix):
        own = {"kind": 2, "metadata_key_id": 0, "name": bytes.fromhex(vault.id_of(*item.names()))}
        super().__init__(vault, item, class_key=class_key, **(own | prefix))
        self.metadata_box = b""
        self.seal_secret()

    def fields(self, state_length=0, metadata_length=0, secret_length=None, last_reserved=0):
        secret_length = len(self.secret_box) if secret_length is None else secret_length
        prefix = self.head() + struct.pack("<4I", state_length, metadata_length, secret_length, last_reserved)
        fields, offset = Fields(), 0
        for name, size in PREFIX_LAYOUT:
            fields.add("prefix-" + name, prefix[offset : offset + size])
            offset += size
        fields.add_box("secret", self.secret_box)
        return fields


def case(name, data, comment, expect="CORRUPT", item=ANNA, files=None, **unlocking):
    """Another module holds `data` for the item. `files`: of a vault without Bert's record."""
    also = ALSO_BERT if files is None and item.namespace == "" else None
    files = base_files() if files is None else files
    return vector(name, expect, comment, item, files, also=also, sealed=(item.level, item.flags, data), **unlocking)


def good(word, item, comment):
    return case("valid-sealed-" + word, SealedPlan(VAULT, item).data(), comment, "OK", item)


def item_cases():
    for level in (1, 2):
        yield good(f"level-{level}", replace(ANNA, level=level), f"A sealed secret of level {level}.")
    yield good("empty-secret", replace(ANNA, secret=b""), "The sealed secret has no bytes.")
    yield good("every-byte", replace(ANNA, secret=bytes(range(256))), "The sealed secret holds every byte value.")
    yield good("namespace", replace(ANNA, namespace="org.example.app"), "A sealed secret of an item of a namespace.")
    item = ItemPlan("пошта.example", "e\u0301 is not \u00e9 例え", "ключ 🔑".encode())
    yield good("unicode", item, "A name outside ASCII, not normalized.")
    item = ItemPlan("s" * 255, "a" * 255, b"x", "n" * 64)
    yield good("longest-names", item, "Namespace, service and account at their limits.")
    yield good("shortest-names", ItemPlan("s", "", b"x"), "The shortest names.")
    item = replace(ANNA, label="another label", expires_at=1, attributes=[("note", "x")])
    yield good("with-metadata", item, "Label, date and attributes are no part of what is sealed.")


def flag_cases():
    for flags in (1, 4, 5):
        for level in (1, 2):
            item = replace(ANNA, flags=flags, level=level)
            yield good(f"level-{level}-flags-{flags}", item, f"A sealed secret of level {level} with the flags {flags}.")
    for level, flags in ((1, 2), (2, 2), (2, 7)):
        yield presence_case(f"valid-sealed-presence-level-{level}-flags-{flags}", "presence", "OK", level, flags)
    yield presence_case("valid-sealed-presence-retiring-key", "old presence", "OK")
    yield presence_case("sealed-presence-foreign-key", "foreign presence", "CORRUPT")
    yield presence_case("sealed-presence-without-key", None, "CORRUPT")
    yield presence_case("locked-sealed-presence-without-password", "presence", "LOCKED", password=None)


def presence_case(name, sealing, expect, level=2, flags=2, password=PASSWORD):
    """An item that asks at each use."""
    item = replace(ANNA, level=level, flags=flags)
    vault = VaultPlan(name)
    presence = {
        "presence": vault.presence_key,
        "old presence": new_key(name + " old presence", PURPOSE_PRESENCE, RETIRING),
        "foreign presence": new_key(name + " foreign presence", PURPOSE_PRESENCE),
    }
    slots = [vault.password_slot(PASSWORD, [presence["old presence"]])]
    key = vault.class_keys[level]
    if sealing:
        key = Key(level, key.key_id, hash_bytes(32, key.secret, presence[sealing].secret))
    data = SealedPlan(vault, item, key).data()
    what = f"with the {sealing} key" if sealing else "under the class key alone"
    comment = f"An item that asks at each use, of level {level} with the flags {flags}, sealed {what}."
    return case(name, data, comment, expect, item, base_files(vault, slots, bert=False), password=password)


def key_cases():
    old = new_key("old class 2", 2, RETIRING)
    rotating = base_files(slots=[VAULT.keyfile_slot(keys=[*VAULT.keys(), old])])
    comment = "It is sealed under the retiring class key."
    yield case("valid-sealed-retiring-class-key", SealedPlan(VAULT, ANNA, old).data(), comment, "OK", files=rotating)
    comment = "It is sealed under the current class key, beside a retiring one."
    yield case("valid-sealed-beside-retiring-class-key", SealedPlan(VAULT, ANNA).data(), comment, "OK", files=rotating)


def unlocked_cases():
    """Vaults of their own: what one unlocks stays locked for the others."""
    for level in (1, 2):
        item, vault = replace(ANNA, level=level), VaultPlan(f"sealed and unlocked {level}")
        files = base_files(vault, [vault.password_slot(PASSWORD)], bert=False)
        data = SealedPlan(vault, item).data()
        comment = f"The password opens the class key of level {level}."
        yield case(f"valid-sealed-unlocked-level-{level}", data, comment, "OK", item, files, password=PASSWORD)
        yield case(f"locked-sealed-level-{level}", data, "The vault is locked.", "LOCKED", item, files)
    first, second = VaultPlan("sealed in an older era"), VaultPlan("sealed in an older era", era=2)
    old = replace(first.class_keys[2], state=RETIRING)
    files = base_files(second, [second.password_slot(PASSWORD, [old])], bert=False)
    data = SealedPlan(first, ANNA).data()
    comment = "It was sealed in the first era, whose class key the second has as a retiring one."
    yield case("valid-sealed-older-era-retiring-class-key", data, comment, "OK", files=files, era=2, password=PASSWORD)
    yield case("locked-sealed-older-era", data, comment + " The vault is locked.", "LOCKED", files=files, era=2)
    files = base_files(second, [second.password_slot(PASSWORD)], bert=False)
    comment = "It was sealed in the first era, of whose keys none is left."
    yield case("sealed-older-era-key-gone", data, comment, files=files, era=2, password=PASSWORD)


def byte_cases():
    fields = SealedPlan(VAULT, ANNA).fields()
    data = fields.data
    for name, (offset, size) in fields.places.items():
        if not name.startswith("prefix-") or name in ("prefix-magic", "prefix-version", "prefix-class-key-id"):
            yield case(f"sealed-truncated-before-{name}", data[:offset], f"It ends before its field {name}.")
        expect = "UNSUPPORTED" if name == "prefix-version" else "CORRUPT"
        yield case(f"sealed-flipped-{name}", flipped(data, offset), f"A bit of the field {name} is flipped.", expect)
    yield case("sealed-truncated-last-byte", data[:-1], "It lacks its last byte.")
    yield case("sealed-byte-behind", data + b"\0", "A byte stands behind its box.")
    yield case("sealed-twice", data + data, "It stands there twice.")
    yield case("sealed-is-the-secret", ANNA.secret, "The bare secret stands there.")


def spoilt(word, comment, expect="CORRUPT", **prefix):
    data = SealedPlan(VAULT, ANNA, **prefix).data()
    return case("sealed-" + word, data, comment + "; the box is sealed for it.", expect)


def prefix_cases():
    """Values of the prefix that are wrong while the box is sealed for them."""
    for kind in (0, 1, 3, 4, 5):
        yield spoilt(f"kind-{kind}", f"It is of kind {kind}", kind=kind)
    for kind in (1, 3):
        data = SealedPlan(VAULT, ANNA, kind=kind).data(state_length=40, metadata_length=40)
        comment = f"It is of kind {kind}, and the lengths of boxes that are not there are what such a record's may be."
        yield case(f"sealed-kind-{kind}-with-lengths", data, comment)
    yield spoilt("version-0", "It has version 0", version=0)
    yield spoilt("version-2", "It has version 2", "UNSUPPORTED", version=2)
    yield spoilt("magic", "It has another signature", magic=b"TKHEADER")
    yield spoilt("kind-reserved-not-zero", "A reserved byte behind the kind is not zero", kind_reserved=1)
    yield spoilt("level-reserved-not-zero", "A reserved byte behind the level is not zero", level_reserved=b"\0\0\1")
    yield spoilt("flags-reserved-not-zero", "A reserved byte behind the flags is not zero", flags_reserved=1)
    for level in (0, 1, 3, 6):
        yield spoilt(f"level-{level}-instead", f"An item of level 2 is sealed for level {level}", level=level)
    for flags in (1, 2, 4, 8, 1 << 31):
        yield spoilt(f"flags-{flags}-instead", f"An item without flags is sealed for the flags {flags}", flags=flags)
    for level in (3, 5):
        item = replace(ANNA, level=level)
        data = SealedPlan(VAULT, item, VAULT.class_keys[2]).data()
        comment = f"An item of level {level}, whose key the vault does not have, sealed under that of level 2."
        yield case(f"sealed-level-{level}-without-key", data, comment, item=item)
    for flags in (8, 1 << 31):
        item = replace(ANNA, flags=flags)
        data = SealedPlan(VAULT, item).data()
        yield case(f"sealed-unknown-flags-{flags}", data, f"The item has the flags {flags}, sealed for them.", item=item)
    yield spoilt("foreign-vault-id", "It names another vault", vault_id=FOREIGN.vault_id)
    name = bytes.fromhex(VAULT.id_of(*BERT.names()))
    yield spoilt("name-of-another-item", "It names another item", name=name)
    name = bytes.fromhex(VAULT.name_of(*ANNA.names()))
    yield spoilt("record-name", "It has the NAME of the item's record instead of its ID", name=name)
    yield spoilt("metadata-key-id", "It names a metadata key", metadata_key_id=VAULT.metadata_key.key_id)
    data = SealedPlan(VAULT, ANNA).data(last_reserved=1)
    yield case("sealed-last-reserved-not-zero", data, "The prefix's last reserved field is not zero.")


def length_cases():
    plan = SealedPlan(VAULT, ANNA)
    true = len(plan.secret_box)
    values = {"zero": 0, "39": 39, "one-less": true - 1, "one-more": true + 1}
    values |= {"limit": SECRET_LIMIT, "over-limit": SECRET_LIMIT + 1, "maximum": 0xFFFFFFFF}
    for word, value in values.items():
        comment = f"The length of the box is {value} in the prefix and {true} in truth."
        yield case(f"sealed-secret-length-{word}", plan.data(secret_length=value), comment)
    short = SealedPlan(VAULT, ANNA)
    short.secret_box = short.secret_box[:39]
    yield case("sealed-secret-box-39-bytes", short.data(), "The box is there with 39 bytes and its length says so.")
    box = RecordPlan(VAULT, ANNA).metadata_box
    for field in ("state", "metadata"):
        for length in (1, 40):
            data = plan.data(**{field + "_length": length})
            comment = f"The length of the {field} is {length}, and no such box is there."
            yield case(f"sealed-{field}-length-{length}", data, comment)
        data = plan.data(**{field + "_length": len(box)})
        data = data[:96] + box + data[96:]
        yield case(f"sealed-with-{field}-box", data, f"A box stands before the secret's, and the {field} length says so.")
        wrapping = {field + "_length": 0xFFFFFFFF, "secret_length": true + 1}
        comment = "The lengths sum to the true one only in arithmetic of 32 bits."
        yield case(f"sealed-{field}-length-wraps", plan.data(**wrapping), comment)


def key_id_cases():
    unknown = "names a key id that the header does not have"
    for key_id in (0, 0x4242, VAULT.metadata_key.key_id):
        yield spoilt(f"unknown-class-key-id-{key_id:x}", f"It {unknown} for its level", class_key_id=key_id)
    lost = new_key("a lost class key", 2)
    comment = "It is sealed under a class key that the header does not hold any more."
    yield case("sealed-lost-class-key", SealedPlan(VAULT, ANNA, lost).data(), comment)
    comment = "It is sealed under the class key of another level and names that."
    yield case("sealed-class-key-of-another-level", SealedPlan(VAULT, ANNA, VAULT.class_keys[1]).data(), comment)
    other = Key(2, VAULT.class_keys[2].key_id, VAULT.class_keys[1].secret)
    comment = "It is sealed under the class key of another level and names its own."
    yield case("sealed-under-another-key", SealedPlan(VAULT, ANNA, other).data(), comment)


def binding_cases():
    """What is right where it was made stands somewhere else, or says that it does."""
    fields = SealedPlan(VAULT, ANNA).fields()
    bert = SealedPlan(VAULT, BERT).fields()
    yield case("sealed-of-another-item", bert.data, "Anna's item has what was sealed for Bert.")
    box_of_bert = fields.data[:96] + bert.data[96:]
    yield case("sealed-box-of-another-item", box_of_bert, "Anna's item has Bert's box behind her own prefix.")
    older = SealedPlan(VAULT, replace(ANNA, namespace="org.example.app")).data()
    yield case("sealed-of-another-namespace", older, "It was sealed for the same names in another namespace.")
    comment = "It comes from another vault with other keys."
    yield case("sealed-of-another-vault", SealedPlan(FOREIGN, ANNA).data(), comment)
    altered = {
        "name": (bytes.fromhex(VAULT.id_of(*BERT.names())), BERT),
        "level": (b"\1", replace(ANNA, level=1)),
        "flags": (struct.pack("<I", 4), replace(ANNA, flags=4)),
        "era": (struct.pack("<Q", 2), ANNA),
    }
    for field, (value, item) in altered.items():
        data = patched(fields, "prefix-" + field, value)
        comment = f"The {field} is altered in the prefix, and nothing is sealed again."
        yield case(f"sealed-{field}-altered", data, comment)
        yield case(f"sealed-{field}-altered-as-its-module-says", data, comment + " The item is that one.", item=item)
        if field != "era":
            comment = f"The item has another {field} than what was sealed."
            yield case(f"sealed-{field}-altered-in-its-module", fields.data, comment, item=item)
    foreign_id = patched(SealedPlan(FOREIGN, ANNA).fields(), "prefix-vault-id", VAULT.vault_id)
    yield case("sealed-vault-id-altered", foreign_id, "What another vault sealed names this one.")
    key_id = struct.pack("<Q", VAULT.class_keys[1].key_id)
    data = patched(SealedPlan(VAULT, replace(ANNA, level=1)).fields(), "prefix-level", b"\2")
    comment = "What was sealed for level 1 says level 2 and names the key of"
    yield case("sealed-for-another-level", data, comment + " level 1.")
    data = data[:72] + struct.pack("<Q", VAULT.class_keys[2].key_id) + data[80:]
    yield case("sealed-for-another-level-key-id-altered", data, comment + " level 2.")
    record = RecordPlan(VAULT, ANNA).data()
    yield case("sealed-is-a-record", record, "The item's record stands there.")
    yield case("sealed-is-a-record-of-kind-2", record[:10] + b"\2" + record[11:], "The item's record, called sealed.")
    data = fields.data[:96] + RecordPlan(VAULT, ANNA).secret_box
    yield case("sealed-box-of-a-record", data, "It has the secret's box of the item's record.")
    files = base_files() | {"records/" + VAULT.name_of(*ANNA.names()): fields.data}
    comment = "What was sealed for another module stands as the item's record."
    yield vector("record-is-a-sealed-secret", "CORRUPT", comment, ANNA, files, also=ALSO_BERT)
