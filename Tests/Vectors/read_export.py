#!/usr/bin/python3
"""Prints the items of an export: docs/format.md, section 7. Usage: read_export.py FILE, the passphrase on standard input."""

import sys

from vault_format import parse_metadata_fields
from vault_primitives import Corrupt, Cursor, argon2id, open_box

HEAD_SIZE = 56
ITEM, END = 1, 2


def read(data, passphrase):
    """[(level, flags, metadata, secret)]"""
    cursor, head = Cursor(data, "export"), data[:HEAD_SIZE]
    cursor.magic_and_version(b"TKEXPORT")
    cursor.zero(6)
    cursor.integer(1, 1, 1)
    cursor.zero(3)
    passes, memory_kib = cursor.integer(4, 1, 16), cursor.integer(4, 8, 1048576)
    salt = cursor.take(16)
    cursor.zero(4)
    cursor.time()
    key = argon2id(passphrase, salt, passes, memory_kib)
    items = []
    while True:
        length, kind = cursor.integer(4), cursor.integer(1, ITEM, END)
        data = b"TKexport" + head + len(items).to_bytes(8, "little") + bytes([kind])
        plain = Cursor(open_box(key, data, cursor.take(length), f"frame {len(items) + 1}"), "item")
        if kind == END:
            break
        level, flags = plain.integer(4, 1, 2), plain.integer(4, 0, 7)
        metadata = parse_metadata_fields(plain.take(plain.integer(4)), "item")
        items.append((level, flags, metadata, plain.take(plain.left())))
    if plain.integer(8) != len(items):
        raise Corrupt("export", "items are missing")
    plain.end()
    cursor.end()
    return items


def main():
    passphrase = sys.stdin.buffer.read().removesuffix(b"\n")
    with open(sys.argv[1], "rb") as file:
        items = read(file.read(), passphrase)
    for level, flags, metadata, secret in items:
        name = "/".join((metadata.namespace, metadata.service, metadata.account))
        print(name, level, flags, repr(metadata.label), metadata.expires_at, metadata.attributes, secret)


if __name__ == "__main__":
    main()
