"""Vaults with a password: what it and a recovery code open, what they do not, and which slots may stand beside it.

Each case that unlocks has a vault of its own: what one unlocks stays locked for the others."""

from dataclasses import replace

from cases_common import ANNA, PASSWORD, era_files, locked_case, vector
from record_writer import RecordPlan
from vault_keys import PURPOSE_PRESENCE, RETIRING, SLOT_DEVICE, SLOT_RECOVERY, normalized_code
from vault_primitives import hash_bytes
from vault_writer import Key, SlotPlan, VaultPlan, argon_slot, new_key, seeded

CODE = b"0AB1C-2DE3F-4GH5J-6KM7N-8PQ9R-STVWP"
TYPED = CODE.lower().replace(b"-", b" ").replace(b"0", b"o").replace(b"1", b"l")


def cases():
    yield from password_cases()
    yield from locked_cases()
    yield from recovery_cases()
    yield from commitment_cases()
    yield from presence_cases()
    yield from slot_rule_cases()


def case(name, comment, expect="OK", slots=None, password=PASSWORD, **more):
    """`slots`: makes the slots of the case's vault; a password slot alone if it is not given."""
    vault = VaultPlan(name)
    slots = slots(vault) if slots else [vault.password_slot(PASSWORD)]
    return locked_case(name, slots, comment, expect, vault=vault, password=password, **more)


def password_cases():
    yield case("valid-unlocked-by-password", "The password alone opens the keys.")
    comment = "The password opens the keys with 3 passes and 64 MiB."
    costly = lambda vault: [vault.password_slot(PASSWORD, passes=3, memory_kib=65536)]
    yield case("valid-unlocked-by-password-64-mib-3-passes", comment, slots=costly)
    for word, password in {"one-byte": b" ", "4096-bytes": b"p" * 4096, "no-utf8": b"\xff\0\n"}.items():
        comment = f"A password: {word.replace('-', ' ')}."
        slots = lambda vault, password=password: [vault.password_slot(password)]
        yield case(f"valid-password-{word}", comment, slots=slots, password=password)
    old = [new_key(f"retiring {number}", purpose, RETIRING) for number, purpose in enumerate((1, 2, 2, 1, PURPOSE_PRESENCE))]
    retiring = lambda vault: [vault.password_slot(PASSWORD, old)]
    yield case("valid-password-with-retiring-keys", "The password slot has retiring keys too.", slots=retiring)
    beside = lambda vault: [vault.password_slot(PASSWORD), (5, b"later")]
    comment = "A slot of an unknown type stands beside the password slot."
    yield case("valid-password-beside-unknown-slot", comment, slots=beside)
    for word, password in {"another": b"another", "longer": PASSWORD + b"\n"}.items():
        yield case(f"denied-password-{word}", "The password is another.", "DENIED", password=password)
    comment = "A recovery code is typed for a password."
    yield case("denied-password-of-recovery-slot", comment, "DENIED", with_code, normalized_code(CODE))
    open_to_keyfile = lambda vault: [vault.keyfile_slot()]
    yield case("unsupported-without-password", "A password is typed where none is set.", "UNSUPPORTED", open_to_keyfile)
    vault = VaultPlan("denied-password-of-second-copy")
    newer = vault.header_fields([vault.password_slot(PASSWORD)], epoch=2).data
    comment = "A change of the password ended between the two headers: header still has the old one."
    changes, slots = {"header.2": newer}, [vault.password_slot(b"the old one")]
    yield locked_case("denied-password-of-second-copy", slots, comment, "DENIED", changes, vault, password=PASSWORD)
    vault = VaultPlan("password-of-second-copy-first-damaged")
    newer = vault.header_fields([vault.password_slot(PASSWORD)], epoch=2).data
    comment = "header is damaged, and header.2 has the new password."
    changes = {"header": newer[:-1], "header.2": newer}
    yield locked_case("password-of-second-copy-first-damaged", slots, comment, "OK", changes, vault, password=PASSWORD)


def locked_cases():
    yield case("locked-with-password", "There is a password, and it is not typed.", "LOCKED", password=None)
    vault = VaultPlan("not-found-in-locked-vault")
    files = era_files(vault, [vault.password_slot(PASSWORD)])
    comment = "A locked vault still tells that an item is not there."
    yield vector("not-found-in-locked-vault", "NOT_FOUND", comment, ANNA, files)
    salt = seeded("salt", 16)

    def costly(vault):
        slot = vault.password_slot(PASSWORD)
        limit = replace(slot, passes=16, memory_kib=131072)
        recovery = SlotPlan(vault.keys(), bytes(64), SLOT_RECOVERY, 9, 1, 2, 1048576, salt)
        return [limit, recovery]

    comment = "The slots ask for as much as they may, which nobody has to derive here."
    yield case("locked-slots-at-cost-limits", comment, "LOCKED", costly, password=None)


def with_code(vault, retiring=()):
    return [vault.password_slot(b"forgotten", retiring), vault.recovery_slot(normalized_code(CODE), retiring)]


def recovery_cases():
    yield case("valid-opened-by-code", "The recovery code opens the keys.", slots=with_code, password=None, code=CODE)
    comment = "The code is typed in lower case, with spaces and look-alikes."
    yield case("valid-opened-by-code-as-it-was-typed", comment, slots=with_code, password=None, code=TYPED)
    first = lambda vault: with_code(vault)[::-1]
    comment = "The recovery slot stands before the password slot."
    yield case("valid-opened-by-code-slot-first", comment, slots=first, password=None, code=CODE)
    old = [new_key("old class 2", 2, RETIRING)]
    comment = "Password and recovery slot have the same retiring key."
    both = lambda vault: with_code(vault, old)
    yield case("valid-opened-by-code-with-retiring-key", comment, slots=both, password=None, code=CODE)
    fewer = lambda vault: [vault.password_slot(b"forgotten", old), vault.recovery_slot(normalized_code(CODE))]
    comment = "The password slot alone has a retiring key."
    yield case("valid-opened-by-code-fewer-retiring-keys", comment, slots=fewer, password=None, code=CODE)
    other = lambda vault: [vault.password_slot(b"forgotten"), vault.recovery_slot(b"0" * 30)]
    yield case("denied-code", "The recovery code is another.", "DENIED", other, None, code=CODE)
    comment = "A recovery code is typed where there is none."
    yield case("unsupported-code-without-recovery-slot", comment, "UNSUPPORTED", password=None, code=CODE)


def commitment_cases():
    def spoilt(vault, half):
        slot = vault.password_slot(PASSWORD)
        derived = slot.derived[:32] + bytes(32) if half == "commitment" else bytes(32) + slot.derived[32:]
        return [replace(slot, derived=derived)]

    comment = "The keys are wrapped under the password, and the commitment is another one's."
    yield case("denied-commitment", comment, "DENIED", lambda vault: spoilt(vault, "commitment"))
    comment = "The commitment is the password's, and the keys are wrapped under another one."
    yield case("password-commitment-right-boxes-not", comment, "CORRUPT", lambda vault: spoilt(vault, "boxes"))
    vault = VaultPlan("password-class-key-box")
    fields = vault.header_fields([vault.password_slot(PASSWORD)])
    for word, place in {"header-key": "slot1-key4-box-tag", "class-key": "slot1-key1-box-tag"}.items():
        data = vault.patched_header(place, bytes(16), fields)
        comment = f"The box of the {word} fails while commitment and MACs are right."
        name, changes = f"password-{word}-box", {"header": data, "header.2": data}
        slots = [vault.password_slot(PASSWORD)]
        yield locked_case(name, slots, comment, "CORRUPT", changes, vault, password=PASSWORD)
    recovery = lambda vault: [vault.password_slot(b"any"), replace(with_code(vault)[1], derived=bytes(64))]
    yield case("denied-code-commitment", "The recovery slot has another commitment.", "DENIED", recovery, None, code=CODE)


def presence_cases():
    """Items that ask at each use."""
    item = replace(ANNA, flags=2)
    for word, expect in (("", "OK"), ("-retiring", "CORRUPT"), ("-foreign", "CORRUPT"), ("-without", "CORRUPT")):
        name = ("valid" if expect == "OK" else "record") + "-presence-key" + word
        vault = VaultPlan(name)
        old = new_key(name + " old", PURPOSE_PRESENCE, RETIRING)
        keys = {"": vault.presence_key, "-retiring": old, "-foreign": new_key(name + " foreign", PURPOSE_PRESENCE)}
        class_key = vault.class_keys[2]
        if word in keys:
            class_key = Key(2, class_key.key_id, hash_bytes(32, class_key.secret, keys[word].secret))
        files = era_files(vault, [vault.password_slot(PASSWORD, [old])])
        files["records/" + vault.name_of(*item.names())] = RecordPlan(vault, item, class_key=class_key).data()
        comment = f"The record is sealed with the presence key{word.replace('-', ' ')}."
        yield vector(name, expect, comment, item, files, password=PASSWORD)
    vault = VaultPlan("locked-presence-with-code")
    class_key = vault.class_keys[2]
    joined = Key(2, class_key.key_id, hash_bytes(32, class_key.secret, vault.presence_key.secret))
    files = era_files(vault, with_code(vault))
    files["records/" + vault.name_of(*item.names())] = RecordPlan(vault, item, class_key=joined).data()
    comment = "The recovery slot has no presence key."
    yield vector("locked-presence-with-code", "LOCKED", comment, item, files, code=CODE)


def slot_rule_cases():
    """Slots that must not stand together, or keys in the wrong one, under right MACs."""
    odd = [new_key("odd", 2, RETIRING)]
    symbols = normalized_code(CODE)
    presence = lambda vault: [*vault.keys(), vault.presence_key]
    wrong = {
        "two-password-slots": lambda v: [argon_slot(presence(v), b"another", slot_id=9), v.password_slot(PASSWORD)],
        "two-recovery-slots": lambda v: [v.password_slot(PASSWORD), v.recovery_slot(symbols), v.recovery_slot(symbols)],
        "two-keyfile-slots": lambda v: [v.keyfile_slot(), v.keyfile_slot(slot_id=9)],
        "recovery-slot-alone": lambda v: [v.recovery_slot(symbols)],
        "recovery-beside-keyfile-slot": lambda v: [v.keyfile_slot(), v.recovery_slot(symbols)],
        "device-slot-alone": lambda v: [v.device_slot(v.keyfile_slot(), bytes(32))],
        "unknown-slot-alone": lambda v: [(5, b"later")],
        "keyfile-beside-password-slot": lambda v: [v.password_slot(PASSWORD), v.keyfile_slot()],
        "keyfile-before-password-slot": lambda v: [v.keyfile_slot(), v.password_slot(PASSWORD)],
        "password-without-presence-key": lambda v: [argon_slot(v.keys(), PASSWORD)],
        "password-without-header-key": lambda v: [argon_slot(presence(v)[:3] + presence(v)[4:], PASSWORD)],
        "password-two-presence-keys": lambda v: [v.password_slot(PASSWORD, [new_key("odd", PURPOSE_PRESENCE)])],
        "password-retiring-metadata-key": lambda v: [v.password_slot(PASSWORD, [new_key("odd", 17, RETIRING)])],
        "password-current-level-3": lambda v: [v.password_slot(PASSWORD, [new_key("odd", 3)])],
        "recovery-key-of-its-own": lambda v: [v.password_slot(PASSWORD), v.recovery_slot(symbols, odd)],
        "recovery-class-key-of-its-own": lambda v: [v.password_slot(PASSWORD), replaced_key(v.recovery_slot(symbols))],
        "recovery-with-presence-key": lambda v: [v.password_slot(PASSWORD), argon_slot(presence(v), symbols, SLOT_RECOVERY)],
        "recovery-without-header-key": lambda v: [v.password_slot(PASSWORD), argon_slot(v.keys()[:3], symbols, SLOT_RECOVERY)],
    }
    for name, slots in wrong.items():
        comment = f"Wrong slots: {name.replace('-', ' ')}."
        yield case("slots-" + name, comment, "CORRUPT", slots)


def replaced_key(slot):
    keys = [new_key("another class 1", 1), *slot.keys[1:]]
    return replace(slot, keys=keys)
