"""What somebody can make who has every file and the keyfile, never the password: MAC A is right, what it covers is his."""

from dataclasses import replace

from cases_common import ANNA, BERT, PASSWORD, VAULT, era_files, locked_case, path_of, record_case, vector
from record_writer import RecordPlan, state_pairs, without_boxes
from vault_keys import PURPOSE_HEADER, RETIRING
from vault_writer import Key, VaultPlan, new_key

HIS_CLASS_KEY = new_key("his class key", 2)
HIS_HEADER_KEY = new_key("his header key", PURPOSE_HEADER)


def cases():
    yield from planted_cases()
    yield from replaced_header_cases()
    yield from testimony_cases()
    yield from older_cases()


def his(vault):
    """The vault with keys of his own but for those that the keyfile opens."""
    forged = VaultPlan("his own vault")
    forged.vault_id, forged.keyfile = vault.vault_id, vault.keyfile
    forged.name_key, forged.journal_key = vault.name_key, vault.journal_key
    return forged


def forged_case(name, comment, forged_slots, expect="CORRUPT", header_key=None, password=PASSWORD):
    """Both headers have other slots than the vault's password slot, MAC A fits, and MAC B is under `header_key`."""
    vault = VaultPlan(name)
    forged = vault.header_fields(forged_slots(vault), 2, header_key=header_key or HIS_HEADER_KEY).data
    changes, slots = {"header": forged, "header.2": forged}, [vault.password_slot(PASSWORD)]
    return locked_case("attack-" + name, slots, comment, expect, changes, vault, password=password)


def planted_cases():
    """He adds to the header; he has the boxes of the password slot, not the keys in them."""
    old = new_key("his retiring key", 2, RETIRING)
    both = lambda vault: [vault.password_slot(PASSWORD), his(vault).keyfile_slot()]
    comment = "A keyfile slot with keys of his own stands beside the password slot."
    yield forged_case("planted-keyfile-slot", comment, both)
    yield forged_case("planted-keyfile-slot-while-locked", comment, both, password=None)
    retiring = lambda vault: [vault.password_slot(PASSWORD), vault.keyfile_slot(keys=[*his(vault).keys(), old])]
    yield forged_case("planted-retiring-key", "His retiring key stands in a keyfile slot beside the password slot.", retiring)
    added = lambda vault: [vault.password_slot(PASSWORD), (5, b"his own")]
    comment = "He added a slot of an unknown type: the slots keep the rules, MAC B does not fit."
    yield forged_case("planted-unknown-slot", comment, added)
    recovery = lambda vault: [vault.password_slot(PASSWORD), his(vault).recovery_slot(b"0" * 30)]
    yield forged_case("planted-recovery-slot", "A recovery slot with keys of his own stands there.", recovery)
    named = lambda vault: [vault.password_slot(PASSWORD), his_keys_with_their_ids(vault)]
    comment = "A recovery slot with keys of his own under the ids of the password slot's keys."
    yield forged_case("planted-recovery-slot-same-ids", comment, named)
    fewer = lambda vault: [vault.password_slot(PASSWORD)]
    yield forged_case("epoch-raised", "He raised the epoch, and nothing else.", fewer)
    comment = "His password slot takes the place of the right one: the records name other keys."
    yield forged_case("password-slot-of-his", comment, lambda vault: [his(vault).password_slot(b"his")])


def his_keys_with_their_ids(vault):
    slot = his(vault).recovery_slot(b"0" * 30)
    return replace(slot, keys=[Key(own.purpose, own.key_id, key.secret) for own, key in zip(vault.keys(), slot.keys)])


def replaced_header_cases():
    """A header with a keyfile slot alone and right MACs: only the records tell that it is not theirs."""
    for word, items in {"one-record": [BERT], "two-records": [ANNA, BERT]}.items():
        forged = his(VAULT)
        files = era_files(VAULT, items=items) | header_files(forged)
        comment = "The header has a keyfile slot with keys of his own, both MACs are right, and the records name other keys."
        yield vector("attack-keyfile-only-header-" + word, "CORRUPT", comment, ANNA, files)
        files[path_of(ANNA)] = RecordPlan(forged, ANNA).data()
        comment += " Anna's is his."
        yield vector(f"attack-keyfile-only-header-{word}-and-his", "CORRUPT", comment, ANNA, files)
    forged = his(VAULT)
    for own, key in zip(VAULT.keys(), forged.keys()):
        key.key_id = own.key_id
    files = era_files(VAULT, items=[ANNA, BERT]) | header_files(forged)
    comment = "His keys have the ids of the vault's: their records do not open."
    yield vector("attack-keyfile-only-header-same-ids", "CORRUPT", comment, ANNA, files)
    forged = his(VAULT)
    files = era_files(VAULT, items=[BERT]) | header_files(forged)
    comment = "A header with a keyfile slot alone and keys of his own, and a password is typed that the header does not ask for."
    yield vector("attack-keyfile-only-header-password-typed", "CORRUPT", comment, ANNA, files, password=PASSWORD)


def header_files(vault):
    data = vault.header_fields(epoch=2).data
    return {"header": data, "header.2": data}


def testimony_cases():
    """A record with a right state box names a class key that the header does not have: its header is another."""
    injected = RecordPlan(VAULT, ANNA, class_key=HIS_CLASS_KEY)
    comment = "Anna's record names a class key of his own, and its state box is right."
    yield record_case("attack-injected-record", injected.data(), comment, is_refused=True)
    files = era_files(items=[ANNA, BERT]) | {path_of(BERT): RecordPlan(VAULT, BERT, class_key=HIS_CLASS_KEY).data()}
    yield vector("attack-injected-record-of-another", "CORRUPT", "The same with Bert's record; Anna's is asked for.", ANNA, files)
    absent = {path_of(BERT): files[path_of(BERT)], "header": files["header"], "keyfile": files["keyfile"]}
    comment = "The same, and the item that is asked for is not there."
    yield vector("attack-injected-record-item-absent", "CORRUPT", comment, ANNA, absent)
    damaged = files[path_of(BERT)]
    state_end = 96 + int.from_bytes(damaged[80:84], "little")
    files[path_of(BERT)] = damaged[: state_end - 1] + bytes([damaged[state_end - 1] ^ 1]) + damaged[state_end:]
    comment = "Bert's record names an unknown class key, and its state box fails: it proves nothing."
    yield vector("record-that-proves-nothing-beside", "OK", comment, ANNA, files)
    files[path_of(BERT)] = without_boxes(VAULT, BERT, state_pairs()).data()
    yield vector("valid-beside-tombstone", "OK", "A tombstone names no class key.", ANNA, files)
    vault = VaultPlan("injected beside a password")
    injected = RecordPlan(vault, ANNA, class_key=HIS_CLASS_KEY).data()
    slots, changes = [vault.password_slot(PASSWORD)], {path_of(ANNA, vault): injected}
    name, comment = "attack-injected-record-beside-password", "Anna's record names a class key of his own; a password is set."
    yield locked_case(name, slots, comment, "CORRUPT", changes, vault, password=PASSWORD)
    comment = "The same, Bert's record is asked for, and the password is typed: Anna's proves the header wrong."
    yield locked_case(name + "-other-item", slots, comment, "CORRUPT", changes, vault, BERT, password=PASSWORD)
    comment = "The same without the password: a locked vault is asked for nothing that it could give."
    yield locked_case(name + "-other-item-locked", slots, comment, "LOCKED", changes, vault, BERT)


def older_cases():
    """The first era's keyfile and header are put back into the second."""
    vault, second = VaultPlan("older"), VaultPlan("older", era=2)
    slots = [second.password_slot(PASSWORD)]
    older = era_files(vault, items=[ANNA, BERT])
    files = era_files(second, slots, [ANNA, BERT]) | {"keyfile": older["keyfile"], "header": older["header"]}
    files["header.2"] = older["header.2"]
    yield vector("attack-older-keyfile-and-header", "CORRUPT", "Keyfile and header are the first era's.", ANNA, files, era=2)
