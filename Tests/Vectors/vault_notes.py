"""What a vault notes of an item that it sealed for other modules: docs/format.md, section 6, "Its note"."""

import re
import struct
from dataclasses import dataclass

from vault_format import ITEM_FLAGS, item_name, parse_names
from vault_primitives import Corrupt, Cursor, decode_word, field_integer, open_box, parse_fields, subkey

FOLDER = "sealed"
NOTE_FILES = re.compile(r"[0-9a-f]{32}")
NOTE_MAXIMUM = 65536
NOTE_PREFIX_SIZE = 48


@dataclass
class Holder:
    """A module that may hold the item, the ids of the class keys under which it may, and fingerprints of what it may hold."""

    machine: str
    module: str
    key_ids: list
    fingerprints: list


@dataclass
class Note:
    names: tuple
    level: int
    flags: int
    holders: list


def note_names(reader):
    return list(filter(NOTE_FILES.fullmatch, reader.names(FOLDER)))


def read_note_of(reader, names):
    return read_note(reader, item_name(reader.header.name_key, *names))


def read_note(reader, name):
    """The note in the file `name`. No password is needed."""
    where = f"{FOLDER}/{name}"
    data = reader.read(where, NOTE_MAXIMUM + 1)
    return parse_note(data, name, reader.keyfile, reader.header.name_key, where)


def note_key(name_key):
    return subkey(name_key, 2, b"TKname__")


def note_data(prefix, era):
    """The additional data of a note's box."""
    return b"TKsealed" + prefix + struct.pack("<Q", era)


def parse_note(data, name, keyfile, name_key, where):
    cursor = Cursor(data, where)
    cursor.magic_and_version(b"TKSEALED")
    if len(data) > NOTE_MAXIMUM:
        raise Corrupt(where, f"more than {NOTE_MAXIMUM} bytes")
    cursor.zero(6)
    if cursor.take(16) != keyfile.vault_id:
        raise Corrupt(where, "belongs to another vault")
    if cursor.take(16).hex() != name:
        raise Corrupt(where, "holds another NAME than its file")
    box = cursor.take(cursor.left())
    plain = open_box(note_key(name_key), note_data(data[:NOTE_PREFIX_SIZE], keyfile.era), box, where)
    note = parse_note_fields(plain, where)
    if item_name(name_key, *note.names) != name:
        raise Corrupt(where, "namespace, service and account do not give NAME")
    return note


def parse_note_fields(data, where):
    fields = parse_fields(data, {4: 64}, {1, 2, 3, 4}, where)
    if 1 not in fields:
        raise Corrupt(where, "namespace, service and account are missing")
    level, flags = (field_integer(fields, tag, 4, where) for tag in (2, 3))
    if not 1 <= level <= 5 or flags & ~ITEM_FLAGS:
        raise Corrupt(where, f"level {level}, flags {flags}")
    holders = [parse_holder(value, where + ", module") for value in fields.get(4, [])]
    return Note(parse_names(fields[1][0], where), level, flags, holders)


def parse_holder(data, where):
    cursor = Cursor(data, where)
    machine = cursor.take(16).hex()
    module = decode_word(cursor.take(cursor.integer(1)), where)
    key_ids = [cursor.integer(8) for _ in range(cursor.integer(1, 0, 16))]
    fingerprints = [cursor.take(16).hex() for _ in range(cursor.integer(1, 0, 16))]
    cursor.end()
    return Holder(machine, module, key_ids, fingerprints)
