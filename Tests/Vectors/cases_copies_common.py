"""The record that most cases about sealed copies begin with, and the words to spoil it."""

import struct
from dataclasses import replace

from cases_common import ANNA, VAULT
from cases_sealed import SealedPlan
from record_writer import state_pairs, without_boxes
from vault_format import fingerprint, machine_hash
from vault_primitives import length_prefixed
from vault_writer import seeded

MACHINE = bytes.fromhex(machine_hash(VAULT.journal_key.secret, seeded("machine", 16).hex()))
ANOTHER_MACHINE = seeded("another machine", 16)
KEY_IDS = [VAULT.class_keys[2].key_id]
PRINTS = [bytes.fromhex(fingerprint(VAULT.journal_key.secret, SealedPlan(VAULT, ANNA).data()))]
HOLDERS = [(MACHINE, b"secret-service", KEY_IDS, PRINTS)]


def names_value(item):
    return length_prefixed([name.encode("utf-8") for name in item.names()])


def holder_value(machine, module, key_ids, prints=PRINTS, module_length=None, key_count=None, print_count=None):
    module_length = len(module) if module_length is None else module_length
    key_count = len(key_ids) if key_count is None else key_count
    ids = b"".join(struct.pack("<Q", key_id) for key_id in key_ids)
    print_count = len(prints) if print_count is None else print_count
    return machine + bytes([module_length]) + module + bytes([key_count]) + ids + bytes([print_count]) + b"".join(prints)


def copies_pairs(item, holders=HOLDERS, parts=()):
    """The fields of a state that names sealed copies. `parts`: pending parts."""
    pairs = [(3, part) for part in parts] + [(4, names_value(item)), (5, struct.pack("<II", item.level, item.flags))]
    return state_pairs(*pairs, *((6, holder_value(*holder)) for holder in holders))


def copies_record(vault, item, pairs):
    """A record without a value that names sealed copies."""
    # The metadata and the secret of the plan are not used: its level is one whose key the vault has.
    return without_boxes(vault, replace(item, level=2), pairs).data()
