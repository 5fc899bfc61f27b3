"""One fault in a record's bytes, prefix or boxes. Bert's record stays readable beside it."""

import struct
from dataclasses import replace

from cases_common import ALSO_BERT, ANNA, BERT, FOREIGN, VAULT, base_files, era_files, flipped, path_of, record_case, vector
from record_writer import ItemPlan, RecordPlan, encode_fields, state_pairs, without_boxes
from vault_keys import RETIRING
from vault_primitives import length_prefixed
from vault_writer import Key, new_key, patched

LENGTH_LIMITS = {"state": 65576, "metadata": 65576, "secret": 1048616}


def cases():
    yield from byte_cases()
    yield from prefix_cases()
    yield from length_cases()
    yield from key_id_cases()
    yield from moved_file_cases()
    yield from swapped_box_cases()
    yield from older_version_cases()
    yield from level_cases()
    yield from tombstone_cases()


def byte_cases():
    fields = RecordPlan(VAULT, ANNA).fields()
    good = fields.data
    for name, (offset, size) in fields.places.items():
        yield record_case(f"record-truncated-before-{name}", good[:offset], f"The record ends before its field {name}.")
        expect = "UNSUPPORTED" if name == "prefix-version" else "CORRUPT"
        yield record_case(
            f"record-flipped-{name}", flipped(good, offset), f"A bit of the record's field {name} is flipped.", expect
        )
    yield record_case("record-truncated-last-byte", good[:-1], "The record lacks its last byte.")
    yield record_case("record-byte-behind", good + b"\0", "A byte stands behind the record's boxes.")
    yield record_case("record-twice", good + good, "The record stands in its file twice.")


def prefix_cases():
    """Values of the prefix that are wrong while all three boxes are sealed for them."""
    wrong = {
        "magic": ("magic", b"TKHEADER"),
        "kind-0": ("kind", 0),
        "kind-2-sealed": ("kind", 2),
        "kind-3-export": ("kind", 3),
        "kind-4-carried-over": ("kind", 4),
        "kind-5": ("kind", 5),
        "kind-reserved-not-zero": ("kind_reserved", 1),
        "level-reserved-not-zero": ("level_reserved", b"\0\0\1"),
        "flags-reserved-not-zero": ("flags_reserved", 1),
        "era-0": ("era", 0),
        "era-2": ("era", 2),
        "foreign-vault-id": ("vault_id", FOREIGN.vault_id),
        "name-of-another-item": ("name", bytes.fromhex(VAULT.name_of(*BERT.names()))),
    }
    for word, (field, value) in wrong.items():
        data = RecordPlan(VAULT, ANNA, **{field: value}).data()
        yield record_case(
            "record-" + word, data, f"The prefix is wrong in its field {field}; the boxes are sealed for it."
        )
    for word, changes in {
        "level-6": {"level": 6},
        "level-9": {"level": 9},
        "flags-8": {"flags": 8},
        "flags-highest": {"flags": 1 << 31},
    }.items():
        item = replace(ANNA, **changes)
        data = RecordPlan(VAULT, item, class_key=VAULT.class_keys[2]).data()
        field, value = next(iter(changes.items()))
        yield record_case(
            "record-unknown-" + word, data, f"The record has the {field} {value}, and everything is sealed for it."
        )
    last = RecordPlan(VAULT, ANNA).data(last_reserved=1)
    yield record_case(
        "record-last-reserved-not-zero",
        last,
        "The prefix's last reserved field is not zero; the state is sealed for it.",
    )
    newer = RecordPlan(VAULT, ANNA, version=2).data()
    yield record_case("record-version-2", newer, "The record has version 2 and is otherwise right.", "UNSUPPORTED")
    never = RecordPlan(VAULT, ANNA, version=0).data()
    yield record_case("record-version-0", never, "The record has version 0 and is otherwise right.")


def length_cases():
    plan = RecordPlan(VAULT, ANNA)
    true = {"state": len(plan.state_plain) + 40, "metadata": len(plan.metadata_box), "secret": len(plan.secret_box)}
    for box, limit in LENGTH_LIMITS.items():
        values = {
            "maximum": 0xFFFFFFFF,
            "over-limit": limit + 1,
            "limit": limit,
            "39": 39,
            "zero": 0,
            "one-more": true[box] + 1,
            "one-less": true[box] - 1,
        }
        for word, value in values.items():
            data = plan.data(**{box + "_length": value})
            comment = f"The length of the {box} box is {value} in the prefix and {true[box]} in truth; the state is sealed for it."
            yield record_case(f"record-{box}-length-{word}", data, comment)
    shifted = plan.data(metadata_length=true["metadata"] + 1, secret_length=true["secret"] - 1)
    yield record_case(
        "record-box-border-shifted",
        shifted,
        "The lengths sum to the file's, the border between metadata and secret is a byte off.",
        is_refused=True,
    )
    wrapping = plan.data(metadata_length=0xFFFFFFFF, secret_length=true["secret"] + true["metadata"] + 1)
    yield record_case(
        "record-lengths-wrap-in-32-bits", wrapping, "The lengths sum to the file's only in arithmetic of 32 bits."
    )
    short = RecordPlan(VAULT, ANNA)
    short.secret_box = short.secret_box[:39]
    yield record_case(
        "record-secret-box-39-bytes", short.data(), "The secret box is there with 39 bytes and its length says so."
    )


def key_id_cases():
    """A key that stands nowhere in the header makes a reader refuse the header: Bert is not readable either."""
    plans = {
        "unknown-class-key-id": (Key(2, 0x4242, VAULT.class_keys[2].secret), "an unknown class key id"),
        "lost-class-key": (new_key("a lost class key", 2), "a class key that the header does not hold"),
        "class-key-of-another-level": (VAULT.class_keys[1], "the class key of level 1, under which it is sealed"),
        "metadata-key-as-class-key": (VAULT.metadata_key, "the metadata key for a class key"),
    }
    for word, (key, what) in plans.items():
        data = RecordPlan(VAULT, ANNA, class_key=key).data()
        yield record_case("record-" + word, data, f"The record of level 2 names {what}.", is_refused=True)
    unknown = Key(17, 0x4242, VAULT.metadata_key.secret)
    data = RecordPlan(VAULT, ANNA, metadata_key=unknown).data()
    yield record_case("record-unknown-metadata-key-id", data, "The record names an unknown metadata key id.", is_refused=True)
    data = RecordPlan(VAULT, ANNA, metadata_key=VAULT.class_keys[2]).data()
    comment = "The metadata are sealed under the class key, and the record names it."
    yield record_case("record-class-key-as-metadata-key", data, comment, is_refused=True)
    for field in ("metadata_key_id", "class_key_id"):
        word = field.replace("_", "-")
        data = RecordPlan(VAULT, ANNA, **{field: 0}).data()
        comment = f"The {word} of a record with boxes is 0; the boxes are sealed for it."
        yield record_case(f"record-{word}-0", data, comment)
    old = new_key("a retiring class 2", 2, RETIRING)
    slots = [VAULT.keyfile_slot(keys=[*VAULT.keys(), old])]
    files = era_files(slots=slots, items=[BERT]) | {path_of(ANNA): RecordPlan(VAULT, ANNA, class_key=old).data()}
    comment = "The record is sealed under a retiring key, as none of an era is."
    yield vector("record-under-retiring-class-key", "CORRUPT", comment, ANNA, files, also=ALSO_BERT)


def moved_file_cases():
    files = base_files() | {path_of(ANNA): base_files()[path_of(BERT)]}
    yield vector("record-renamed", "CORRUPT", "Bert's record stands under Anna's NAME too.", ANNA, files, also=ALSO_BERT)
    foreign = RecordPlan(FOREIGN, ANNA).data()
    yield record_case("record-of-another-vault", foreign, "The record comes from another vault with other keys.")
    renamed = RecordPlan(VAULT, BERT, name=bytes.fromhex(VAULT.name_of(*ANNA.names()))).data()
    yield record_case(
        "record-name-forged", renamed, "Bert's item is sealed for Anna's NAME: the metadata do not give it."
    )
    yield record_case("record-is-a-header", VAULT.header_fields().data, "A header stands where the record should be.")


def swapped_box_cases():
    """Anna's record with a box of Bert's, as it is, and with a state that was sealed again over the new boxes."""
    anna, bert = RecordPlan(VAULT, ANNA).fields(), RecordPlan(VAULT, BERT).fields()
    for box in ("state", "metadata", "secret"):
        data = swap(anna, bert, box)
        yield record_case(f"record-{box}-of-another-record", data, f"Anna's record has the {box} box of Bert's.")
    for box in ("metadata", "secret"):
        plan, other = RecordPlan(VAULT, ANNA), RecordPlan(VAULT, BERT)
        setattr(plan, box + "_box", getattr(other, box + "_box"))
        yield record_case(
            f"record-{box}-of-another-record-state-sealed-again",
            plan.data(),
            f"Anna's record has the {box} box of Bert's and a state that fits.",
            is_refused=box == "metadata",
        )
    plan, other = RecordPlan(VAULT, ANNA), RecordPlan(VAULT, BERT)
    plan.metadata_box, plan.secret_box = other.metadata_box, other.secret_box
    yield record_case(
        "record-metadata-and-secret-of-another-record-state-sealed-again",
        plan.data(),
        "Anna's record has both boxes of Bert's and a state that fits.",
        is_refused=True,
    )
    both = base_files()
    both[path_of(ANNA)], both[path_of(BERT)] = RecordPlan(VAULT, BERT).data(), RecordPlan(VAULT, ANNA).data()
    yield vector("record-files-swapped", "CORRUPT", "Two records have changed names.", ANNA, both)


def swap(fields, other, box):
    data = fields.data
    for name, (offset, size) in fields.places.items():
        if name.startswith(box + "-"):
            data = data[:offset] + other.data[offset : offset + size] + data[offset + size :]
    return data


def older_version_cases():
    """Two versions of one item, of the same sizes."""
    older = ItemPlan(ANNA.service, ANNA.account, b"older of anna", label=ANNA.label)
    old, new = RecordPlan(VAULT, older), RecordPlan(VAULT, ANNA)
    yield record_case(
        "record-state-of-older-version",
        swap(new.fields(), old.fields(), "state"),
        "The state of an older version stands before newer boxes.",
    )
    yield record_case(
        "record-secret-of-older-version",
        swap(new.fields(), old.fields(), "secret"),
        "The secret is one of an older version.",
    )
    yield record_case(
        "record-metadata-of-older-version",
        swap(new.fields(), old.fields(), "metadata"),
        "The metadata are those of an older version.",
    )
    for box in ("metadata", "secret"):
        plan = RecordPlan(VAULT, ANNA)
        setattr(plan, box + "_box", getattr(old, box + "_box"))
        yield record_case(
            f"record-{box}-of-older-version-state-sealed-again",
            plan.data(),
            f"The {box} box is one of an older version, the state fits.",
        )


def level_cases():
    """The level or flags are changed in the prefix; the boxes are sealed again in part."""
    for word, before, after in (("level", {"level": 1}, {"level": 2}), ("flags", {}, {"flags": 4})):
        old_item, item = replace(ANNA, **before), replace(ANNA, **after)
        old = RecordPlan(VAULT, old_item)
        value = struct.pack("<I", 4) if word == "flags" else b"\2"
        data = patched(old.fields(), f"prefix-{word}", value)
        yield record_case(
            f"record-{word}-changed", data, f"The {word} is changed in the prefix and nothing is sealed again."
        )
        plan = RecordPlan(VAULT, item)
        plan.metadata_box, plan.secret_box = old.metadata_box, old.secret_box
        comment = f"The {word} is changed, the state is sealed again, the other boxes are not."
        yield record_case(f"record-{word}-changed-state-sealed-again", plan.data(), comment, is_refused=True)
        plan = RecordPlan(VAULT, item)
        plan.secret_box = old.secret_box
        comment = f"The {word} is changed, state and metadata are sealed again, the secret is not."
        yield record_case(f"record-{word}-changed-state-metadata-sealed-again", plan.data(), comment)
        plan = RecordPlan(VAULT, item)
        plan.metadata_box = old.metadata_box
        plan.seal_secret()
        comment = f"The {word} is changed, state and secret are sealed again, the metadata are not."
        yield record_case(f"record-{word}-changed-state-secret-sealed-again", plan.data(), comment, is_refused=True)
        old_version = encode_fields(old_item.metadata_pairs(VAULT))
        data = RecordPlan(VAULT, item, metadata=old_version).data()
        comment = f"The {word} is changed and all is sealed again, but the version is that of the old {word}."
        yield record_case(f"record-{word}-changed-version-not", data, comment)


def packed(names):
    return length_prefixed([name.encode("utf-8") for name in names])


def tombstone_cases():
    plan = RecordPlan(VAULT, ANNA)
    plan.metadata_box = plan.secret_box = b""
    yield record_case("record-without-boxes", plan.data(), "A record of level 2 has neither metadata nor secret.")
    level_0 = RecordPlan(VAULT, ANNA, level=0).data()
    yield record_case("record-level-0-with-boxes", level_0, "A tombstone has boxes that are sealed for it.")
    overrides = {
        "level": {"level": 2},
        "metadata-key-id": {"metadata_key_id": VAULT.metadata_key.key_id},
        "class-key-id": {"class_key_id": VAULT.class_keys[2].key_id},
    }
    for word, prefix in overrides.items():
        data = without_boxes(VAULT, ANNA, state_pairs(), **prefix).data()
        yield record_case(f"record-tombstone-with-{word}", data, f"A tombstone names a {word.replace('-', ' ')}.")
    plan = without_boxes(VAULT, ANNA, state_pairs())
    plan.secret_box = RecordPlan(VAULT, ANNA).secret_box
    yield record_case("record-tombstone-with-secret-box", plan.data(), "A tombstone has a secret box.")
    names = {
        "of-another-item": (BERT.names(), b"", "names another item"),
        "of-another-namespace": (("org.example.app", ANNA.service, ANNA.account), b"", "names another namespace's item"),
        "without-service": (("", "", ANNA.account), b"", "names an item without a service"),
        "with-a-byte-behind": (ANNA.names(), b"\0", "has a byte behind the item's name"),
    }
    for word, (parts, behind, what) in names.items():
        data = without_boxes(VAULT, ANNA, state_pairs((4, packed(parts) + behind))).data()
        yield record_case(f"record-tombstone-name-{word}", data, f"The state of a tombstone {what}.")
    cut = without_boxes(VAULT, ANNA, state_pairs((4, packed(ANNA.names())[:-1]))).data()
    yield record_case("record-tombstone-name-cut", cut, "The item's name ends early in the state of a tombstone.")
    data = RecordPlan(VAULT, ANNA, state_pairs((4, packed(ANNA.names())))).data()
    yield record_case("record-value-with-name", data, "The state of a record with a value holds the item's name.")
    good = without_boxes(VAULT, ANNA, state_pairs()).data()
    yield record_case(
        "record-tombstone-flipped-state",
        flipped(good, len(good) - 1),
        "A bit in the tag of a tombstone's state box is flipped.",
    )
    yield record_case("record-tombstone-byte-behind", good + b"\0", "A byte stands behind a tombstone.")
    renamed = base_files() | {path_of(ANNA): without_boxes(VAULT, BERT, state_pairs()).data()}
    yield vector("record-tombstone-renamed", "CORRUPT", "Bert's tombstone stands under Anna's NAME.", ANNA, renamed, also=ALSO_BERT)
