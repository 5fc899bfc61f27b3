"""One fault in what the state and metadata boxes hold, correctly sealed."""

import struct

from cases_common import ANNA, VAULT, record_case
from record_writer import (
    ItemPlan, RecordPlan, attribute, encode_fields, lookup_attributes, pending_part, reversioned, state_pairs)
from vault_writer import CREATED_AT, seeded


def cases():
    yield from metadata_structure_cases()
    yield from metadata_value_cases()
    yield from label_cases()
    yield from attribute_cases()
    yield from lookup_cases()
    yield from state_structure_cases()
    yield from pending_cases()


def metadata_case(word, pairs, comment, raw_end=b""):
    """The version fits the metadata, unless the case is about the version."""
    if not word.startswith("version"):
        pairs = reversioned(VAULT, ANNA, pairs)
    data = RecordPlan(VAULT, ANNA, metadata=encode_fields(pairs) + raw_end).data()
    return record_case("metadata-" + word, data, comment)


def replaced(tag, value):
    return [(t, value if t == tag else v) for t, v in ANNA.metadata_pairs(VAULT)]


def metadata_structure_cases():
    pairs = ANNA.metadata_pairs(VAULT)
    yield metadata_case("empty", [], "The metadata box holds nothing.")
    for tag, word in {
        1: "namespace",
        2: "service",
        3: "account",
        4: "label",
        5: "created-at",
        6: "modified-at",
        8: "version",
    }.items():
        yield metadata_case(
            f"{word}-missing", [p for p in pairs if p[0] != tag], f"The metadata lack the {word.replace('-', ' ')}."
        )
    for place in range(len(pairs)):
        tag = pairs[place][0]
        yield metadata_case(
            f"field-{tag}-twice", pairs[: place + 1] + pairs[place:], f"Field {tag} of the metadata stands twice."
        )
    yield metadata_case(
        "fields-out-of-order",
        [*pairs[:4], pairs[5], pairs[4], *pairs[6:]],
        "Two fields of the metadata have changed places.",
    )
    optional = [(0x8001, b""), (0x8000, b"")]
    yield metadata_case(
        "optional-fields-out-of-order", pairs + optional, "Unknown optional fields are not in ascending order."
    )
    yield metadata_case("optional-field-twice", pairs + [(0x8000, b"")] * 2, "An unknown optional field stands twice.")
    for tag in (0, 10, 0x7FFF):
        yield metadata_case(
            f"unknown-critical-field-{tag}",
            sorted([*pairs, (tag, b"x")]),
            f"The metadata hold the unknown field {tag}.",
        )
    endings = {
        "tag-cut": b"\0",
        "length-cut": b"\0\x80\0\0\0",
        "length-maximum": struct.pack("<HI", 0x8000, 0xFFFFFFFF),
        "value-cut": struct.pack("<HI", 0x8000, 2) + b"x",
    }
    for word, end in endings.items():
        yield metadata_case("last-field-" + word, pairs, "The last field does not fit into the metadata box.", end)


def metadata_value_cases():
    for tag, word in {5: "created-at", 6: "modified-at", 8: "version"}.items():
        for size in (0, 4, 7, 9):
            if tag == 8 or size == 4:
                yield metadata_case(
                    f"{word}-of-{size}-bytes",
                    replaced(tag, b"\1" * size),
                    f"The {word.replace('-', ' ')} has {size} bytes.",
                )
    pairs = ANNA.metadata_pairs(VAULT)
    expires = sorted([*pairs, (7, struct.pack("<I", CREATED_AT))])
    yield metadata_case("expires-at-of-4-bytes", expires, "The end of the secret has 4 bytes.")
    yield metadata_case("version-0", replaced(8, bytes(8)), "The version is 0.")
    yield metadata_case("version-not-the-hash", replaced(8, b"\1" * 8), "The version is not the hash of the item.")
    for tag, word, value in (
        (1, "namespace", b"x"),
        (2, "service", b"mail.example.org"),
        (3, "account", b"anne"),
        (2, "service-case", b"Mail.example"),
    ):
        yield metadata_case(
            f"{word}-does-not-give-name", replaced(tag, value), "The names in the metadata do not give NAME."
        )
    moved = ItemPlan("mail.exampl", "eanna", ANNA.secret, label=ANNA.label)
    yield metadata_case(
        "border-of-names-shifted",
        moved.metadata_pairs(VAULT),
        "Service and account hold the same bytes with another border.",
    )
    yield metadata_case("service-empty", replaced(2, b""), "The service is empty.")


def label_cases():
    labels = {
        "with-bell": b"a\x07b",
        "with-newline": b"a\n",
        "with-nul": b"a\0b",
        "with-delete": b"a\x7f",
        "with-c1-control": "a\u0085".encode(),
        "with-last-control": "a\u009f".encode(),
        "too-long": b"l" * 1025,
        "invalid-utf8": b"a\xff",
        "overlong-utf8": b"\xc0\xaf",
        "surrogate": b"\xed\xa0\x80",
        "cut-utf8": "é".encode()[:1],
        "above-unicode": b"\xf4\x90\x80\x80",
    }
    for word, value in labels.items():
        yield metadata_case("label-" + word, replaced(4, value), f"The label is bad: {word.replace('-', ' ')}.")


def attribute_cases():
    pairs = ANNA.metadata_pairs(VAULT)
    lists = {
        "out-of-order": [attribute(b"b", b"1"), attribute(b"a", b"2")],
        "twice": [attribute(b"a", b"1"), attribute(b"a", b"1")],
        "twice-other-value": [attribute(b"a", b"1"), attribute(b"a", b"2")],
        "longer-first": [attribute(b"ab", b""), attribute(b"a", b"")],
        "33": [attribute(b"%02d" % number, b"") for number in range(33)],
        "name-empty": [attribute(b"", b"x")],
        "name-65-bytes": [attribute(b"n" * 65, b"")],
        "name-upper-case": [attribute(b"Name", b"")],
        "name-with-space": [attribute(b"a b", b"")],
        "name-not-ascii": [attribute("ä".encode(), b"")],
        "name-overruns": [b"\5name"],
        "name-length-255": [b"\xffname"],
        "without-bytes": [b""],
        "value-1025-bytes": [attribute(b"a", b"v" * 1025)],
        "value-with-control": [attribute(b"a", b"\x1b[0m")],
        "value-invalid-utf8": [attribute(b"a", b"\xfe")],
    }
    for word, values in lists.items():
        yield metadata_case(
            "attribute-" + word,
            pairs + [(9, value) for value in values],
            f"Attributes are bad: {word.replace('-', ' ')}.",
        )


def state_case(word, pairs, comment, raw_end=b""):
    plan = RecordPlan(VAULT, ANNA)
    plan.state_plain = encode_fields(pairs) + raw_end
    return record_case("state-" + word, plan.data(), comment)


def lookup_cases():
    """Fields 0x8001 to 0x8004: what a client of the Secret Service gave."""
    kind = (0x8001, b"text/plain")
    for tag, word in ((0x8002, "label"), (0x8003, "item-id"), (0x8004, "attributes")):
        value = {0x8002: b"label", 0x8003: b"0" * 32, 0x8004: lookup_attributes([(b"a", b"1")])}[tag]
        yield lookup_case(f"{word}-without-content-type", [(tag, value)], f"Field {tag:#x} stands without a content type.")
    yield lookup_case("content-type-256", [(0x8001, b"x" * 256)], "The content type is too long.")
    yield lookup_case("content-type-not-utf-8", [(0x8001, b"\xff")], "The content type is not UTF-8.")
    yield lookup_case("label-4097", [kind, (0x8002, b"x" * 4097)], "The label is too long.")
    yield lookup_case("label-not-utf-8", [kind, (0x8002, b"\xc3")], "The label is not UTF-8.")
    for word, value in {"short": b"0" * 31, "long": b"0" * 33, "letter": b"0" * 31 + b"g", "upper": b"0" * 31 + b"A"}.items():
        yield lookup_case(f"item-id-{word}", [kind, (0x8003, value)], "The item's id is not 32 hexadecimal digits.")
    for word, pairs, comment in (
        ("twice", [(b"a", b"1"), (b"a", b"2")], "A lookup attribute stands twice."),
        ("out-of-order", [(b"b", b"1"), (b"a", b"2")], "Two lookup attributes have changed places."),
        ("257", [(b"%03d" % number, b"") for number in range(257)], "There are 257 lookup attributes."),
        ("name-256", [(b"n" * 256, b"")], "The name of a lookup attribute is too long."),
        ("value-16385", [(b"n", b"v" * 16385)], "The value of a lookup attribute is too long."),
        ("49153-bytes", [(b"%d" % n, b"v" * 16383) for n in range(3)] + [(b"3", b"")], "Lookup attributes: a byte too long."),
        ("name-not-utf-8", [(b"\xff", b"")], "The name of a lookup attribute is not UTF-8."),
        ("value-not-utf-8", [(b"n", b"\xff")], "The value of a lookup attribute is not UTF-8."),
    ):
        yield lookup_case(f"attributes-{word}", [kind, (0x8004, lookup_attributes(pairs))], comment)
    whole = lookup_attributes([(b"name", b"value")])
    for end, word in ((1, "name-length"), (3, "name"), (7, "value-length"), (9, "value")):
        yield lookup_case(f"attributes-cut-in-{word}", [kind, (0x8004, whole[:end])], "The lookup attributes end early.")


def lookup_case(word, pairs, comment):
    return metadata_case("lookup-" + word, ANNA.metadata_pairs(VAULT) + pairs, comment)


def state_structure_cases():
    pairs = state_pairs()
    yield state_case("empty", [], "The state box holds nothing.")
    part = (3, pending_part(1))
    yield state_case("changed-at-missing", [part], "The state box lacks the time of the change.")
    yield state_case("changed-at-of-4-bytes", [(2, bytes(4))], "The time of the change has 4 bytes.")
    for tag, word in ((2, "changed-at-"), (16, "refresh-"), (17, "outbox-")):
        value = {2: pairs[0][1]}.get(tag, bytes(4))
        twice = sorted([*(p for p in pairs if p[0] != tag), (tag, value), (tag, value)], key=lambda pair: pair[0])
        yield state_case(word + "twice", twice, f"Field {tag} of the state stands twice.")
    yield state_case("fields-out-of-order", [part, *pairs], "The fields of the state are in the wrong order.")
    for tag in (0, 1, 4, 18, 0x7FFF):
        yield state_case(
            f"unknown-critical-field-{tag}", sorted([*pairs, (tag, b"x")]), f"The state holds the unknown field {tag}."
        )
    yield state_case("outbox-flags-of-3-bytes", [*pairs, (17, bytes(3))], "The outbox flags have 3 bytes.")
    for length in (31, 33):
        yield state_case(f"writes-mac-of-{length}-bytes", [*pairs, (7, bytes(length))], f"The MAC of the writes has {length} bytes.")
    refresh = state_pairs((16, bytes(32769)))
    yield state_case("refresh-of-32769-bytes", refresh, "The pending refresh has one byte too many.")
    yield state_case("last-field-cut", pairs, "The last field does not fit into the state box.", b"\0\x80\1")


def pending_cases():
    fingerprint = seeded("fingerprint", 16)
    good = pending_part(1)
    many = [(3, pending_part(1, b"module-%02d" % number)) for number in range(65)]
    yield state_case("65-pending-parts", state_pairs(*many), "There are 65 pending parts.")
    parts = {
        "kind-0": pending_part(0),
        "kind-3": pending_part(3),
        "module-empty": pending_part(1, b""),
        "module-65-bytes": pending_part(1, b"m" * 65),
        "module-upper-case": pending_part(1, b"Module"),
        "module-with-slash": pending_part(1, b"../module"),
        "module-length-overruns": pending_part(1, b"module", module_length=64),
        "two-base-fingerprints": pending_part(1, base=[fingerprint] * 2),
        "17-in-flight": pending_part(1, in_flight=[fingerprint] * 17),
        "base-cut": pending_part(1, base=[fingerprint])[:-2],
        "in-flight-cut": pending_part(1, in_flight=[fingerprint])[:-1],
        "byte-behind": good + b"\0",
        "without-bytes": b"",
        "cut-before-machine": good[:1],
        "cut-before-since": good[:17],
        "cut-before-module-length": good[:25],
        "cut-before-module": good[:26],
        "cut-before-base-count": good[:-2],
        "cut-before-in-flight-count": good[:-1],
    }
    for word, value in parts.items():
        yield state_case("pending-part-" + word, state_pairs((3, value)), f"A pending part is bad: {word.replace('-', ' ')}.")
