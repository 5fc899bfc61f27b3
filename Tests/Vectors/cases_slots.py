"""Vaults that a password or a recovery code opens."""

from cases_common import ANNA, BERT
from vault_keys import PURPOSE_PRESENCE, RETIRING, SLOT_PASSWORD, SLOT_RECOVERY, normalized_code
from vault_primitives import argon2id, hash_bytes
from vault_writer import Key, RecordPlan, SlotPlan, VaultPlan, new_key, replace, seeded
from vector_file import Vector

PASSWORD = "correct horse \u00fc".encode("utf-8")
CODE = b"0AB1C-2DE3F-4GH5J-6KM7N-8PQ9R-STVWP"


def cases():
    yield from password_cases()
    yield from presence_cases()
    yield from recovery_cases()
    yield from rekeying_cases()


def argon_slot(keys, secret, slot_type=SLOT_PASSWORD, passes=1, memory_kib=8, slot_id=8):
    salt = seeded(f"salt of slot {slot_id}", 16)
    kek = argon2id(secret, salt, passes, memory_kib)
    return SlotPlan(keys, kek, slot_type, slot_id, 1, passes, memory_kib, salt)


def case(name, vault, slots, records, comment, expect="OK", item=ANNA, password=PASSWORD, code=None):
    """A vault of its own for each case: what one unlocks stays locked for the others."""
    header = vault.header_fields(slots).data
    files = {"keyfile": vault.keyfile_fields().data, "header": header, "header.2": header, "lock": b""}
    for plan in records:
        files["records/" + vault.name_of(*plan.item.names())] = plan.data()
    secret = item.secret if expect == "OK" else None
    return Vector(name, expect, comment, item.names(), files, secret, None, password, code)


def password_cases():
    for word, passes, memory_kib in (("", 1, 8), ("-64-mib-3-passes", 3, 65536)):
        vault = VaultPlan("password" + word)
        slot = argon_slot(vault.keyfile_slot().keys, PASSWORD, passes=passes, memory_kib=memory_kib)
        comment = f"The password alone opens the keys: {passes} passes, {memory_kib} KiB."
        yield case("valid-unlocked-by-password" + word, vault, [slot], [RecordPlan(vault, ANNA)], comment)
    vault = VaultPlan("two passwords")
    keys = vault.keyfile_slot().keys
    slots = [argon_slot(keys, b"another", slot_id=9), argon_slot(keys, PASSWORD)]
    comment = "The password opens the second of two password slots."
    yield case("valid-unlocked-by-second-password-slot", vault, slots, [RecordPlan(vault, ANNA)], comment)
    vault = VaultPlan("wrong password")
    slots = [argon_slot(vault.keyfile_slot().keys, b"another")]
    comment = "The password is another."
    yield case("denied-wrong-password", vault, slots, [RecordPlan(vault, ANNA)], comment, "DENIED")
    vault = VaultPlan("code as password")
    slots = [argon_slot(vault.keyfile_slot().keys, b"another"), argon_slot(vault.keyfile_slot().keys, PASSWORD, SLOT_RECOVERY, slot_id=9)]
    comment = "The password would open a recovery slot, which is none of its own."
    yield case("denied-password-of-recovery-slot", vault, slots, [RecordPlan(vault, ANNA)], comment, "DENIED")


def presence_cases():
    item = replace(ANNA, flags=2)
    for word, sealing, expect in (("", "presence", "OK"), ("-retiring", "old presence", "OK"), ("-foreign", "foreign presence", "CORRUPT")):
        vault = VaultPlan("presence" + word)
        keys = {
            "presence": new_key("presence", PURPOSE_PRESENCE),
            "old presence": new_key("old presence", PURPOSE_PRESENCE, RETIRING),
            "foreign presence": new_key("foreign presence", PURPOSE_PRESENCE),
        }
        slot = argon_slot([*vault.keyfile_slot().keys, keys["presence"], keys["old presence"]], PASSWORD)
        class_key = vault.class_keys[2]
        joined = Key(2, class_key.key_id, hash_bytes(32, class_key.secret, keys[sealing].secret))
        name = ("valid" if expect == "OK" else "record") + "-presence-key" + word
        comment = f"An item that asks at each use, sealed with the {sealing} key."
        yield case(name, vault, [slot], [RecordPlan(vault, item, class_key=joined)], comment, expect, item)


def recovery_cases():
    for word, typed in (("", CODE), ("-as-it-was-typed", CODE.lower().replace(b"-", b" ").replace(b"0", b"o").replace(b"1", b"l"))):
        vault = VaultPlan("recovery" + word)
        keys = vault.keyfile_slot().keys
        slots = [argon_slot(keys, b"forgotten"), argon_slot(keys, normalized_code(CODE), SLOT_RECOVERY, slot_id=9)]
        comment = "The recovery code opens the keys" + (", in lower case, with spaces and look-alikes." if word else ".")
        yield case("valid-opened-by-code" + word, vault, slots, [RecordPlan(vault, ANNA)], comment, password=None, code=typed)


def rekeying_cases():
    """The first password was set, and not every record is sealed anew yet."""
    for word, item in (("old", ANNA), ("new", BERT)):
        vault = VaultPlan("rekeying " + word)
        old = [new_key(f"old {key.purpose}", key.purpose, RETIRING) for key in vault.keyfile_slot().keys]
        slots = [vault.keyfile_slot(keys=old), argon_slot(vault.keyfile_slot().keys, PASSWORD)]
        records = [RecordPlan(vault, ANNA, class_key=old[1], metadata_key=old[2]), RecordPlan(vault, BERT)]
        comment = f"Keys are being replaced; the record is sealed under the {word} one."
        yield case(f"valid-rekeying-{word}-record", vault, slots, records, comment, item=item)
        name, expect = ("valid-rekeying-old-record-while-locked", "OK") if word == "old" else ("locked-rekeying-new-record", "LOCKED")
        comment = f"The same without the password: the keyfile opens what is sealed under the old key alone."
        yield case(name, VaultPlan("rekeying " + word), slots, records, comment, expect, item, password=None)
