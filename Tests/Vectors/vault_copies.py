"""The sealed copies that a record's state names: docs/format.md, section 4, "Sealed copies"."""

import struct
from dataclasses import dataclass

from vault_primitives import Corrupt, Cursor, decode_word

ITEM_FLAGS = 7


@dataclass
class Holder:
    """A module that may hold the item, the ids of the class keys under which it may, and fingerprints of what it may hold."""

    machine: str
    module: str
    key_ids: list
    fingerprints: list


@dataclass
class Copies:
    names: tuple
    level: int
    flags: int
    holders: list


def parse_copies(fields, names, where):
    """The copies that the fields of a state name; None if there are none."""
    if 5 not in fields:
        if 6 in fields:
            raise Corrupt(where, "a module that may hold an item of unknown level")
        return None
    if len(fields[5][0]) != 8:
        raise Corrupt(where, f"level and flags of {len(fields[5][0])} bytes")
    level, flags = struct.unpack("<II", fields[5][0])
    if not 1 <= level <= 5 or flags & ~ITEM_FLAGS:
        raise Corrupt(where, f"level {level}, flags {flags}")
    if names is None or not names[1]:
        raise Corrupt(where, "sealed copies of no item")
    return Copies(names, level, flags, [parse_holder(value, where + ", module") for value in fields.get(6, [])])


def parse_holder(data, where):
    cursor = Cursor(data, where)
    machine = cursor.take(16).hex()
    module = decode_word(cursor.take(cursor.integer(1)), where)
    key_ids = [cursor.integer(8) for _ in range(cursor.integer(1, 0, 16))]
    fingerprints = [cursor.take(16).hex() for _ in range(cursor.integer(1, 0, 16))]
    cursor.end()
    return Holder(machine, module, key_ids, fingerprints)
