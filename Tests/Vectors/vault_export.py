"""Exports: docs/format.md, section 7."""

import hmac

from vault_format import ITEM_FLAGS, parse_metadata_fields
from vault_primitives import Corrupt, Cursor, Denied, argon2id, open_box, parse_costs

HEAD_SIZE = 88
ITEM, END = 1, 2
METADATA_MAXIMUM, SECRET_MAXIMUM = 65536, 1048576


def frame_data(head, number, kind):
    """The additional data of a frame's box."""
    return b"TKexport" + head + number.to_bytes(8, "little") + bytes([kind])


def read_export(data, passphrase):
    """[(level, flags, metadata, secret)], of which nothing is told before all is verified."""
    cursor, head = Cursor(data, "export"), data[:HEAD_SIZE]
    cursor.magic_and_version(b"TKEXPORT")
    cursor.zero(6)
    cursor.integer(1, 1, 1)
    cursor.zero(3)
    passes, memory_kib, salt = parse_costs(cursor, 1)
    cursor.zero(4)
    cursor.time()
    commitment = cursor.take(32)
    derived = argon2id(passphrase, salt, passes, memory_kib)
    if not hmac.compare_digest(derived[32:], commitment):
        raise Denied("export", "the commitment differs")
    items = []
    while True:
        length, kind = cursor.integer(4), cursor.integer(1, ITEM, END)
        where = f"frame {len(items) + 1}"
        plain = Cursor(open_box(derived[:32], frame_data(head, len(items), kind), cursor.take(length), where), where)
        if kind == END:
            break
        items.append(parse_item(plain))
    if plain.integer(8) != len(items):
        raise Corrupt("export", "items are missing")
    plain.end()
    cursor.end()
    return items


def parse_item(plain):
    level, flags = plain.integer(4, 1, 2), plain.integer(4, 0, ITEM_FLAGS)
    metadata = parse_metadata_fields(plain.take(plain.integer(4, 0, METADATA_MAXIMUM)), plain.where)
    if plain.left() > SECRET_MAXIMUM:
        raise Corrupt(plain.where, "a secret that is too long")
    return level, flags, metadata, plain.take(plain.left())
