"""One fault in the bytes or in a field of both copies of the header; and one good copy beside a bad one."""

import struct

from cases_common import FOREIGN, PASSWORD, VAULT, both_headers, flipped, locked_case, vault_case
from vault_header import HEADER_HEAD, HEADER_MAXIMUM, MACS_SIZE
from vault_keys import PURPOSE_JOURNAL, PURPOSE_NAME
from vault_writer import Key, VaultPlan, new_key, patched

OTHER_HEADER_KEY = new_key("a header key of nobody", 19)


def cases():
    yield from byte_cases()
    yield from field_cases()
    yield from length_cases()
    yield from keyfile_key_cases()
    yield from mac_cases()
    yield from copy_cases()


def byte_cases():
    fields = VAULT.header_fields()
    good = fields.data
    for name, (offset, _) in fields.places.items():
        if name.startswith(("slot1-key1-", "slot1-key3-")):
            continue
        if not name.startswith("slot1-key"):
            comment = f"Both headers end before their field {name}."
            yield both_headers(f"header-truncated-before-{name}", good[:offset], comment)
        expect = "UNSUPPORTED" if name == "version" else "CORRUPT"
        comment = f"A bit of the field {name} is flipped in both headers."
        yield both_headers(f"header-flipped-{name}", flipped(good, offset), comment, expect)
    yield both_headers("header-truncated-last-byte", good[:-1], "Both headers lack their last byte.")
    yield both_headers("header-byte-behind", good + b"\0", "A byte stands behind the end of both headers.")


def spoilt(name, field, value, comment, fields=None):
    """Both headers with a wrong value in a field and MACs that fit."""
    return both_headers("header-" + name, VAULT.patched_header(field, value, fields), comment + "; the MACs fit.")


def field_cases():
    newer = VAULT.header_fields(version=2).data
    comment = "Both headers have version 2 and are otherwise right."
    yield both_headers("header-version-2", newer, comment, "UNSUPPORTED")
    comment = "Both headers have version 2 and are longer than one of version 1 may be."
    yield both_headers("header-version-2-longer", newer.ljust(HEADER_MAXIMUM + 1, b"\0"), comment, "UNSUPPORTED")
    never = VAULT.header_fields(version=0).data
    yield both_headers("header-version-0", never, "Both headers have version 0 and are otherwise right.")
    other = VAULT.header_fields(vault_id=FOREIGN.vault_id).data
    comment = "Both headers have another vault id than the keyfile and are otherwise right."
    yield both_headers("header-foreign-vault-id", other, comment)
    yield both_headers("header-of-another-vault", FOREIGN.header_fields().data, "Both headers are those of another vault.")
    for era in (0, 2, 1 << 63):
        other = VAULT.header_fields(era=era).data
        yield both_headers(f"header-era-{era}", other, f"Both headers are of era {era}, and everything fits that.")
        yield spoilt(f"era-{era}-alone", "era", struct.pack("<Q", era), f"Both headers say that they are of era {era}")
    yield spoilt("epoch-0", "epoch", bytes(8), "The epoch is 0")
    for count in (0, 2, 65, 0xFFFF):
        value = struct.pack("<H", count)
        yield spoilt(f"slot-count-{count}", "slot-count", value, f"One slot is there, both headers count {count}")
    slots = [VAULT.keyfile_slot()] + [(5, b"")] * 64
    yield both_headers("header-65-slots", VAULT.header_fields(slots).data, "Both headers have 65 slots; the MACs fit.")


def length_cases():
    fields = VAULT.header_fields()
    length = len(fields.data)
    values = {"maximum": 0xFFFFFFFF, "over-limit": 65537, "one-more": length + 1, "one-less": length - 1, "zero": 0}
    for word, value in values.items():
        comment = f"Both headers say that they have {value} bytes"
        yield spoilt("length-" + word, "length", struct.pack("<I", value), comment)
    between = VAULT.patched_header("length", struct.pack("<I", length + 4), append=b"more")
    comment = "Bytes stand between the last slot and the MACs; the MACs fit."
    yield both_headers("header-bytes-before-macs", between, comment)
    for word, bare in {"macs": fields.data[:-64], "mac-b": fields.data[:-32]}.items():
        bare = bare[:12] + struct.pack("<I", len(bare)) + bare[16:]
        yield both_headers(f"header-{word}-missing", bare, f"Both headers lack the {word.replace('-', ' ')}, and say so.")
    body = fields.data[:-MACS_SIZE]
    for keep in (HEADER_HEAD, HEADER_HEAD + 4, HEADER_HEAD + 7):
        cut = VAULT.with_macs(body[:12] + struct.pack("<I", keep + MACS_SIZE) + body[16:keep])
        comment = f"The slots end at byte {keep}; the length and the MACs fit."
        yield both_headers(f"header-cut-in-slot-head-at-{keep}", cut, comment)


def keyfile_key_cases():
    """The name key and the journal key, which the keyfile opens."""
    for word, purpose in (("name", PURPOSE_NAME), ("journal", PURPOSE_JOURNAL)):
        key = getattr(VAULT, word + "_key")
        comment = f"The {word} key's id is not the one it was wrapped for"
        yield spoilt(f"{word}-key-id-changed", f"{word}-key-id", b"\1" * 8, comment)
        nameless = VAULT.header_fields(**{word + "_key": Key(purpose, 0, key.secret)}).data
        yield both_headers(f"header-{word}-key-id-0", nameless, f"The {word} key has the id 0, and is wrapped for it.")
        for other in (2, 16, 20):
            if other != purpose:
                wrong = VAULT.header_fields(**{word + "_key": Key(other, key.key_id, key.secret)}).data
                comment = f"The {word} key is wrapped as a key of purpose {other}."
                yield both_headers(f"header-{word}-key-as-purpose-{other}", wrong, comment)
        retiring = VAULT.header_fields(**{word + "_key": Key(purpose, key.key_id, key.secret, 1)}).data
        yield both_headers(f"header-{word}-key-retiring", retiring, f"The {word} key is wrapped as a retiring one.")
    fields = VAULT.header_fields()
    for part in ("nonce", "ciphertext", "tag"):
        name = "journal-key-" + part
        offset, size = fields.places[name]
        value = flipped(fields.data[offset : offset + size], 0)
        yield spoilt(f"{name}-flipped", name, value, f"A bit in the {part} of the journal key's box is flipped")
    data = fields.data[:56] + fields.data[136:216] + fields.data[56:136] + fields.data[216:-MACS_SIZE]
    comment = "Name key and journal key have changed places; the MACs fit."
    yield both_headers("header-keyfile-keys-swapped", VAULT.with_macs(data), comment)


def mac_cases():
    fields = VAULT.header_fields(epoch=2)
    old = VAULT.header_fields()
    for word in ("mac-a", "mac-b"):
        offset, size = old.places[word]
        stale = patched(fields, word, old.data[offset : offset + size])
        yield both_headers(f"header-{word}-of-older-header", stale, f"{word} is that of the header before this one.")
    altered = VAULT.patched_header("epoch", struct.pack("<Q", 3), header_key=OTHER_HEADER_KEY)
    yield both_headers("header-mac-b-wrong", altered, "MAC A fits, MAC B is under a key that the header does not hold.")
    comment = "MAC B of header is wrong while MAC A fits, and header.2 is untouched: it takes the place."
    yield vault_case("header-mac-b-wrong-second-copy-good", {"header": altered}, comment, "OK")
    yield vault_case("header2-mac-b-wrong-first-copy-good", {"header.2": altered}, "MAC B of header.2 alone is wrong.", "OK")
    comment = "header is missing, and MAC B of header.2 is wrong."
    yield vault_case("header-missing-mac-b-of-second-wrong", {"header": None, "header.2": altered}, comment)
    swapped = old.data[:-64] + old.data[-32:] + old.data[-64:-32]
    yield both_headers("header-macs-swapped", swapped, "The MACs have changed places.")
    locked_vault = VaultPlan("mac b with a password")
    slots = [locked_vault.password_slot(PASSWORD)]
    good, second = locked_vault.header_fields(slots), struct.pack("<Q", 2)
    wrong = locked_vault.patched_header("epoch", second, good, header_key=OTHER_HEADER_KEY)
    changes = {"header": wrong, "header.2": wrong}
    comment = "MAC A fits and MAC B does not: the header was altered without the password."
    yield locked_case("password-mac-b-wrong", slots, comment, "CORRUPT", changes, locked_vault, password=PASSWORD)
    comment = "The same before a password is typed: nobody can check MAC B yet."
    yield locked_case("locked-mac-b-wrong", slots, comment, "LOCKED", changes, locked_vault)
    comment = "The password is wrong, and MAC B too: the commitment is compared first."
    yield locked_case("denied-mac-b-wrong", slots, comment, "DENIED", changes, locked_vault, password=b"another")
    comment = "MAC B of header is wrong, and header.2 is untouched: it takes the place."
    changes = {"header": wrong}
    name = "password-mac-b-wrong-second-copy-good"
    yield locked_case(name, slots, comment, "OK", changes, locked_vault, password=PASSWORD)


def copy_cases():
    """A box that fails is no altered header: the second copy serves."""
    fields = VAULT.header_fields()
    for word, place in (("header-key", "slot1-key4-box-tag"), ("commitment", "slot1-commitment")):
        offset, size = fields.places[place]
        data = VAULT.patched_header(place, flipped(fields.data[offset : offset + size], 0), fields)
        comment = f"The {word} of header's keyfile slot is damaged while the MACs fit; header.2 is good."
        yield vault_case(f"header-{word}-damaged-second-copy-good", {"header": data}, comment, "OK")
