"""Headers beside the kernel's trust key, which knows the last one that was right."""

import struct

from cases_attacks import HIS_HEADER_KEY, his
from cases_common import ANNA, PASSWORD, era_files, flipped, locked_case, vector
from vault_primitives import hash_bytes
from vault_writer import VaultPlan

NO_KEY = bytes(32)


def entry(header, header_key=NO_KEY, era=1, epoch=1):
    return struct.pack("<QQ", era, epoch) + hash_bytes(32, None, header) + header_key


def cases():
    yield from header_cases()
    yield from attack_cases()
    yield from era_cases()
    yield from open_cases()


def case(name, comment, expect, epoch, trusted_epoch, keeps_key, key=None, slots=None):
    """The trust key knows a header of `trusted_epoch`, the files have one of `epoch`. Nobody types the password: LOCKED says
    that the header is taken."""
    vault = VaultPlan("trust")
    own = [vault.password_slot(PASSWORD)]
    trusted = vault.header_fields(own, trusted_epoch).data
    slots = slots(vault) if slots else [*own, (5, b"another")]
    there = vault.header_fields(slots, epoch, header_key=key or vault.header_key).data
    trust = entry(trusted, vault.header_key.secret if keeps_key else NO_KEY, epoch=trusted_epoch)
    changes = {"header": there, "header.2": there}
    return locked_case("trust-" + name, own, comment, expect, changes, vault, trust=trust)


def header_cases():
    for word, keeps_key in (("unlocked", True), ("locked", False)):
        what = "with the header key" if keeps_key else "without the header key"
        for name, epoch, expect in (("higher", 6, "LOCKED"), ("same", 5, "LOCKED"), ("lower", 4, "CORRUPT")):
            comment = f"Another header of epoch {epoch} with a right MAC B; the entry has epoch 5, {what}."
            yield case(f"{name}-epoch-{word}", comment, expect, epoch, 5, keeps_key)
        vault = VaultPlan("trust")
        slots = [vault.password_slot(PASSWORD)]
        trust = entry(vault.header_fields(slots).data, vault.header_key.secret if keeps_key else NO_KEY)
        comment = f"The header has the entry's hash, {what}."
        yield locked_case(f"trust-same-header-{word}", slots, comment, "LOCKED", vault=vault, trust=trust)
        higher = trust[:8] + struct.pack("<Q", 9) + trust[16:]
        comment = f"The header has the entry's hash; the entry has a higher epoch, {what}."
        yield locked_case(f"trust-same-header-epoch-higher-{word}", slots, comment, "LOCKED", vault=vault, trust=higher)
    wrong = flipped(trust[:48] + vault.header_key.secret, 48)
    comment = "The header has the entry's hash, and the entry has another header key: the hash is enough."
    yield locked_case("trust-same-header-other-key", slots, comment, "LOCKED", vault=vault, trust=wrong)


def attack_cases():
    """MAC A is right."""
    comment = "Another header whose MAC B is under another key, and the entry has the header key."
    yield case("mac-b-wrong-unlocked", comment, "CORRUPT", 6, 5, True, HIS_HEADER_KEY)
    comment = "The same without the header key: nobody can check MAC B yet."
    yield case("mac-b-wrong-locked", comment, "LOCKED", 6, 5, False, HIS_HEADER_KEY)
    his_password = lambda vault: [his(vault).password_slot(b"his")]
    comment = "A password slot of the attacker's takes the place of the right one."
    yield case("password-slot-of-his", comment, "CORRUPT", 6, 5, True, HIS_HEADER_KEY, his_password)
    his_keyfile = lambda vault: [his(vault).keyfile_slot()]
    key = his(VaultPlan("trust")).header_key
    comment = "A keyfile slot of the attacker's takes the place of the password slot, and both MACs fit that."
    yield case("keyfile-slot-of-his", comment, "CORRUPT", 6, 5, True, key, his_keyfile)


def era_cases():
    vault, second = VaultPlan("trust"), VaultPlan("trust", era=2)
    header = vault.header_fields([vault.password_slot(PASSWORD)]).data
    slots = [second.password_slot(PASSWORD)]
    files = era_files(second, slots, [ANNA])
    first_entry, second_entry = entry(header), entry(files["header"], era=2)
    entries = {"first": (first_entry + second_entry, "LOCKED"), "last": (second_entry + first_entry, "LOCKED")}
    entries |= {"missing": (first_entry, "CORRUPT"), "missing-of-two": (first_entry + entry(header, era=3), "CORRUPT")}
    for word, (trust, expect) in entries.items():
        comment = f"The second era is in force; the trust key has {len(trust) // 80} entries."
        yield vector(f"trust-era-{word}", expect, comment, ANNA, files, era=2, trust=trust)
    older = era_files(vault, [vault.keyfile_slot()], [ANNA])
    comment = "The first era is put back, and the trust key knows the second alone. No password was set in the first."
    yield vector("trust-older-era", "CORRUPT", comment, ANNA, older, trust=second_entry)


def open_cases():
    """What is unlocked beside a trust key."""
    vault = VaultPlan("trust and unlock")
    slots = [vault.password_slot(PASSWORD)]
    header = vault.header_fields(slots).data
    trust = entry(header, vault.header_key.secret)
    comment = "The password is typed, and the header has the entry's hash."
    yield locked_case("valid-trust-unlocked", slots, comment, "OK", vault=vault, password=PASSWORD, trust=trust)
    newer = vault.header_fields(slots, epoch=2).data
    trust = entry(newer, vault.header_key.secret, epoch=2)
    comment = "The password is typed, and the header is older than the entry."
    yield locked_case("trust-older-header-password", slots, comment, "CORRUPT", vault=vault, password=PASSWORD, trust=trust)
    comment = "The password is typed, the header is older than the entry, and header.2 is the right one: it is no help."
    changes = {"header.2": newer}
    name = "trust-older-header-second-copy-right"
    yield locked_case(name, slots, comment, "CORRUPT", changes, vault, password=PASSWORD, trust=trust)
