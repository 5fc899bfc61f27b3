"""The note that most cases about notes begin with, and the words to spoil it."""

import struct

from cases_common import ANNA, VAULT
from cases_sealed import SealedPlan
from record_writer import encode_fields
from vault_format import fingerprint, machine_hash
from vault_notes import note_key
from vault_primitives import length_prefixed
from vault_writer import Fields, sealed, seeded

MACHINE = bytes.fromhex(machine_hash(VAULT.journal_key.secret, seeded("machine", 16).hex()))
ANOTHER_MACHINE = seeded("another machine", 16)
KEY_IDS = [VAULT.class_keys[2].key_id]
PRINTS = [bytes.fromhex(fingerprint(VAULT.journal_key.secret, SealedPlan(VAULT, ANNA).data()))]
HOLDERS = [(MACHINE, b"secret-service", KEY_IDS, PRINTS)]

LAYOUT = [("magic", 8), ("version", 2), ("reserved", 6), ("vault-id", 16), ("name", 16)]


def names_value(item):
    return length_prefixed([name.encode("utf-8") for name in item.names()])


def holder_value(machine, module, key_ids, prints=PRINTS, module_length=None, key_count=None, print_count=None):
    module_length = len(module) if module_length is None else module_length
    key_count = len(key_ids) if key_count is None else key_count
    ids = b"".join(struct.pack("<Q", key_id) for key_id in key_ids)
    print_count = len(prints) if print_count is None else print_count
    return machine + bytes([module_length]) + module + bytes([key_count]) + ids + bytes([print_count]) + b"".join(prints)


def note_pairs(item, holders=HOLDERS):
    pairs = [(1, names_value(item)), (2, struct.pack("<I", item.level)), (3, struct.pack("<I", item.flags))]
    return pairs + [(4, holder_value(*holder)) for holder in holders]


class NotePlan:
    """A note. Every part of the prefix can be replaced; the box is sealed for it."""

    def __init__(self, vault, item, plain=None, **prefix):
        self.vault = vault
        self.plain = encode_fields(note_pairs(item)) if plain is None else plain
        name = bytes.fromhex(vault.name_of(*item.names()))
        self.prefix = {"magic": b"TKSEALED", "version": 1, "reserved": bytes(6), "vault_id": vault.vault_id, "name": name}
        self.prefix.update(prefix)

    def fields(self, key=None, context=b"TKsealed", era=None):
        prefix = struct.pack("<8sH6s16s16s", *self.prefix.values())
        fields, offset = Fields(), 0
        for name, size in LAYOUT:
            fields.add("prefix-" + name, prefix[offset : offset + size])
            offset += size
        data = context + prefix + (struct.pack("<Q", self.vault.era) if era is None else era)
        fields.add_box("box", sealed(key or note_key(self.vault.name_key.secret), data, self.plain))
        return fields

    def data(self, **sealing):
        return self.fields(**sealing).data
