"""Headers beside the kernel's trust key, which knows the last one that was right."""

import struct

from cases_attacks import HIS_HEADER_KEY, his
from cases_common import ANNA, PASSWORD, era_files, locked_case, vector
from vault_primitives import hash_bytes
from vault_writer import VaultPlan

OTHER_KEY = bytes(32)
PATH = "/home/anna/.local/share/tokenkeep".encode("ascii")


def entry(header, header_key=OTHER_KEY, era=1, epoch=1):
    return struct.pack("<QQ", era, epoch) + hash_bytes(32, None, header) + header_key


def trusted(*entries, path=PATH, namespace=4026531841):
    """What the kernel's trust key holds."""
    return bytes([len(entries)]) + b"".join(entries) + struct.pack("<Q", namespace) + path


def cases():
    yield from header_cases()
    yield from payload_cases()
    yield from attack_cases()
    yield from era_cases()
    yield from open_cases()


def case(name, comment, expect, epoch, trusted_epoch, header_key=None, slots=None, entry_key=None):
    """The trust key knows a header of `trusted_epoch`, the files have one of `epoch`. Nobody types the password: LOCKED says
    that the header is taken. `header_key` makes MAC B, `entry_key` stands in the entry; both are the vault's if not given."""
    vault = VaultPlan("trust")
    own = [vault.password_slot(PASSWORD)]
    known = vault.header_fields(own, trusted_epoch).data
    slots = slots(vault) if slots else [*own, (5, b"another")]
    there = vault.header_fields(slots, epoch, header_key=header_key or vault.header_key).data
    trust = trusted(entry(known, entry_key or vault.header_key.secret, epoch=trusted_epoch))
    changes = {"header": there, "header.2": there}
    return locked_case("trust-" + name, own, comment, expect, changes, vault, trust=trust)


def header_cases():
    for name, epoch, expect in (("higher", 6, "LOCKED"), ("same", 5, "LOCKED"), ("lower", 4, "CORRUPT")):
        comment = f"Another header of epoch {epoch} with a right MAC B; the entry has epoch 5."
        yield case(f"{name}-epoch", comment, expect, epoch, 5)
    comment = "Another header of a higher epoch with a right MAC B; the entry has another header key."
    yield case("higher-epoch-other-key", comment, "CORRUPT", 6, 5, entry_key=OTHER_KEY)
    vault = VaultPlan("trust")
    slots = [vault.password_slot(PASSWORD)]
    right = entry(vault.header_fields(slots).data, vault.header_key.secret)
    same = {
        "": (right, "The header has the entry's hash."),
        "-epoch-higher": (right[:8] + struct.pack("<Q", 9) + right[16:], "The same; the entry has a higher epoch."),
        "-other-key": (right[:48] + OTHER_KEY, "The same; the entry has another header key: the hash is enough."),
    }
    for word, (content, comment) in same.items():
        yield locked_case("trust-same-header" + word, slots, comment, "LOCKED", vault=vault, trust=trusted(content))


def payload_cases():
    """A trust key that breaks the rules counts as none."""
    vault = VaultPlan("trust")
    slots = [vault.password_slot(PASSWORD)]
    newer = entry(vault.header_fields(slots, 5).data, vault.header_key.secret, epoch=5)
    broken = {
        "empty": b"",
        "no-entries": trusted(),
        "three-entries": trusted(newer, newer, newer),
        "entry-short": trusted(newer, path=b"")[:-1],
        "two-entries-second-missing": b"\2" + newer,
        "path-no-utf8": trusted(newer, path=b"/\xff"),
    }
    for word, content in broken.items():
        comment = f"The entry's epoch is higher than the header's, and the trust key breaks a rule: {word.replace('-', ' ')}."
        yield locked_case("trust-key-" + word, slots, comment, "LOCKED", vault=vault, trust=content)
    comment = "The entry's epoch is higher than the header's; the path behind it is empty."
    yield locked_case("trust-key-no-path", slots, comment, "CORRUPT", vault=vault, trust=trusted(newer, path=b""))


def attack_cases():
    """MAC A is right."""
    comment = "Another header whose MAC B is under another key."
    yield case("mac-b-wrong", comment, "CORRUPT", 6, 5, HIS_HEADER_KEY)
    his_password = lambda vault: [his(vault).password_slot(b"his")]
    comment = "A password slot of the attacker's takes the place of the right one."
    yield case("password-slot-of-his", comment, "CORRUPT", 6, 5, HIS_HEADER_KEY, his_password)
    his_keyfile = lambda vault: [his(vault).keyfile_slot()]
    key = his(VaultPlan("trust")).header_key
    comment = "A keyfile slot of the attacker's takes the place of the password slot, and both MACs fit that."
    yield case("keyfile-slot-of-his", comment, "CORRUPT", 6, 5, key, his_keyfile)


def era_cases():
    vault, second = VaultPlan("trust"), VaultPlan("trust", era=2)
    header = vault.header_fields([vault.password_slot(PASSWORD)]).data
    slots = [second.password_slot(PASSWORD)]
    files = era_files(second, slots, [ANNA])
    first_entry, second_entry = entry(header), entry(files["header"], era=2)
    entries = {"first": ([first_entry, second_entry], "LOCKED"), "last": ([second_entry, first_entry], "LOCKED")}
    entries |= {"later": ([first_entry], "LOCKED"), "missing-of-two": ([first_entry, entry(header, era=3)], "CORRUPT")}
    for word, (known, expect) in entries.items():
        comment = f"The second era is in force; the number of entries in the trust key is {len(known)}."
        yield vector(f"trust-era-{word}", expect, comment, ANNA, files, era=2, trust=trusted(*known))
    comment = "The second era is in force, the trust key knows the first alone, and the password is typed."
    trust = trusted(first_entry)
    yield vector("valid-trust-era-later", "OK", comment, ANNA, files, era=2, trust=trust, password=PASSWORD)
    comment = "The same, and another password is typed."
    yield vector("trust-era-later-wrong-password", "DENIED", comment, ANNA, files, era=2, trust=trust, password=b"another")
    bare = era_files(second, [second.keyfile_slot()], [ANNA])
    comment = "The second era has no password, and the trust key knows the first alone: nothing proves who made it."
    yield vector("trust-era-later-without-password", "CORRUPT", comment, ANNA, bare, era=2, trust=trust)
    older = era_files(vault, [vault.keyfile_slot()], [ANNA])
    comment = "The first era is put back, and the trust key knows the second alone. No password was set in the first."
    yield vector("trust-older-era", "CORRUPT", comment, ANNA, older, trust=trusted(second_entry))


def open_cases():
    """What is unlocked beside a trust key."""
    vault = VaultPlan("trust and unlock")
    slots = [vault.password_slot(PASSWORD)]
    header = vault.header_fields(slots).data
    trust = trusted(entry(header, vault.header_key.secret))
    comment = "The password is typed, and the header has the entry's hash."
    yield locked_case("valid-trust-unlocked", slots, comment, "OK", vault=vault, password=PASSWORD, trust=trust)
    newer = vault.header_fields(slots, epoch=2).data
    trust = trusted(entry(newer, vault.header_key.secret, epoch=2))
    comment = "The password is typed, and the header is older than the entry."
    yield locked_case("trust-older-header-password", slots, comment, "CORRUPT", vault=vault, password=PASSWORD, trust=trust)
    comment = "The password is typed, the header is older than the entry, and header.2 is the right one: it takes the place."
    changes = {"header.2": newer}
    name = "trust-older-header-second-copy-right"
    yield locked_case(name, slots, comment, "OK", changes, vault, password=PASSWORD, trust=trust)
