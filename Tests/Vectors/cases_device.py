"""Device slots: what they open on their machine, what they do not elsewhere, and which of them may stand in a header."""

from dataclasses import replace

from cases_common import ANNA, PASSWORD, era_files, vector
from cases_unlock import CODE
from vault_header import anchor_mark
from vault_keys import (
    CREDENTIAL_TYPES,
    FORM_BLOB,
    FORM_INDEX,
    PROVIDER_SYSTEMD,
    PROVIDER_TPM2,
    RETIRING,
    SLOT_KEYFILE,
    SLOT_PASSWORD,
    SLOT_RECOVERY,
    anchor,
    anchor_auth_value,
    normalized_code,
    tpm_auth_value,
)
from vault_writer import VaultPlan, device_extension, new_key, seeded

MACHINE_KEY = seeded("machine key", 32)
SYMBOLS = normalized_code(CODE)
TPM_NAME, OTHER_NAME = b"\0\x0b" + seeded("name of a TPM's primary", 32), b"\0\x0b" + bytes(32)
TPM_SECRET = seeded("secret in a TPM", 32)
CREDENTIAL_SECRET = seeded("secret in a credential", 32)
HOST_ALONE = bytes.fromhex("55b9ed1d38594d43a8319d2ebb332ac6")


def cases():
    yield from opened_cases()
    yield from tpm_cases()
    yield from systemd_cases()
    yield from extension_cases()
    yield from rule_cases()


def case(name, comment, slots, expect="OK", level=4, machine_key=MACHINE_KEY, **more):
    """`slots`: makes the slots of the case's vault, whose item has this level."""
    vault, item = VaultPlan(name), replace(ANNA, level=level)
    return vector(name, expect, comment, item, era_files(vault, slots(vault), [item]), machine_key=machine_key, **more)


def with_keyfile(vault, machine_key=MACHINE_KEY, **changes):
    slot = vault.keyfile_slot()
    return [slot, vault.device_slot(slot, machine_key, **changes)]


def with_password(vault, **changes):
    slot = vault.password_slot(PASSWORD)
    return [slot, vault.device_slot(slot, MACHINE_KEY, **changes)]


def with_code(vault):
    slot = vault.recovery_slot(SYMBOLS)
    return [*with_password(vault), slot, vault.device_slot(slot, MACHINE_KEY, slot_id=11)]


def opened_cases():
    for level in (3, 4):
        comment = f"Keyfile and machine key open an item of level {level}."
        yield case(f"valid-device-keyfile-level-{level}", comment, with_keyfile, level=level)
        comment = f"The recovery code and the machine key open an item of level {level}."
        yield case(f"valid-device-code-level-{level}", comment, with_code, level=level, code=CODE)
    for level in (3, 4, 5):
        comment = f"The password and the machine key open an item of level {level}."
        yield case(f"valid-device-password-level-{level}", comment, with_password, level=level, password=PASSWORD)
    two = lambda vault: [*with_password(vault, levels=(3, 4)), with_password(vault, levels=(5,), slot_id=11)[1]]
    yield case("valid-device-two-slots", "Two device slots divide the levels.", two, level=5, password=PASSWORD)
    retiring = lambda vault: with_keyfile(vault, keys=[vault.class_keys[3], vault.class_keys[4], new_key("old", 4, RETIRING)])
    yield case("valid-device-retiring-key", "A device slot has a retiring key.", retiring)
    yield case("locked-device-elsewhere", "Another machine has another key.", with_keyfile, "LOCKED", machine_key=bytes(32))
    yield case("locked-device-absent", "The machine has no key.", with_keyfile, "LOCKED", machine_key=None)
    comment = "The password opens an item of level 2 without the machine."
    yield case("valid-device-absent-level-2", comment, with_password, level=2, machine_key=None, password=PASSWORD)
    comment = "The recovery code opens no item of level 5."
    yield case("locked-device-code-level-5", comment, with_code, "LOCKED", level=5, code=CODE)
    sealed = lambda vault: with_keyfile(vault, extension=tpm(SLOT_KEYFILE, FORM_BLOB, b"b" * 1024))
    comment = "A TPM's device slot has the longest blob; there is no TPM."
    yield case("locked-device-tpm-blob", comment, sealed, "LOCKED")
    index = lambda vault: with_keyfile(vault, extension=tpm(SLOT_KEYFILE, FORM_INDEX, b"\0\0\x80\1"))
    yield case("locked-device-tpm-index", "A TPM's device slot names an index; there is no TPM.", index, "LOCKED")


def tpm_cases():
    for level in (3, 4):
        comment = f"Keyfile and TPM open an item of level {level}."
        yield tpm_case(f"valid-device-tpm-keyfile-level-{level}", comment, level=level)
    for level in (2, 3, 4, 5):
        comment = f"The password and the TPM open an item of level {level}."
        yield tpm_case(f"valid-device-tpm-password-level-{level}", comment, level=level, password=PASSWORD)
    comment = "Another TPM has another name."
    yield tpm_case("locked-device-tpm-elsewhere", comment, "LOCKED", name=OTHER_NAME, password=PASSWORD)
    comment = "The password opens an item of level 2 on another machine."
    yield tpm_case("valid-device-tpm-elsewhere-level-2", comment, level=2, name=OTHER_NAME, password=PASSWORD)
    comment = "The TPM gives another secret than the one that it sealed."
    yield tpm_case("locked-device-tpm-secret", comment, "LOCKED", secret=bytes(32), password=PASSWORD)


    yield from index_cases()
    yield from anchor_cases()


def anchor_cases():
    other = seeded("another header", 48)
    comment = "The TPM's anchor names the header."
    yield anchor_case("valid-device-tpm-anchor", comment, lambda mark: (mark, bytes(48)))
    comment = "The TPM's anchor names the header as the one that is about to be in force."
    yield anchor_case("valid-device-tpm-anchor-next", comment, lambda mark: (other, mark))
    comment = "The TPM's anchor names another header: an older one was put back."
    yield anchor_case("refused-device-tpm-anchor", comment, lambda mark: (other, bytes(48)), "CORRUPT")
    comment = "The TPM's anchor names two other headers."
    yield anchor_case("refused-device-tpm-anchor-next", comment, lambda mark: (other, other), "CORRUPT")
    comment = "The anchor is that of another vault."
    yield anchor_case("valid-device-tpm-anchor-of-another-vault", comment, lambda mark: (other, other), vault_id=bytes(16))
    comment = "An anchor with another authValue is not readable."
    yield anchor_case("valid-device-tpm-anchor-auth", comment, lambda mark: (other, other), auth=b"\1" * 32)


def anchor_case(word, comment, marks, expect="OK", vault_id=None, auth=None):
    """A vault with a password that is bound to a TPM. `marks`: what its anchor names, from the mark of the header."""
    vault, item = VaultPlan(word), replace(ANNA, level=4)
    base = vault.password_slot(PASSWORD)
    files = era_files(vault, [base, vault.tpm_slot(base, TPM_NAME, TPM_SECRET)], [item])
    owner = vault_id or vault.vault_id
    machine = TPM_NAME + tpm_auth_value(base.derived[:32], TPM_NAME) + TPM_SECRET + b"\2\0\x80\1\2" + owner
    machine += auth or anchor_auth_value(vault.journal_key.secret)
    machine += anchor(owner, *marks(anchor_mark(files["header"])))
    return vector(word, expect, comment, item, files, tpm=machine, password=PASSWORD)


def index_cases():
    for level in (3, 4, 5):
        comment = f"The keys of level 5 need an index of the TPM, those of the others a blob: level {level} opens."
        yield index_case(f"valid-device-tpm-index-level-{level}", comment, level=level)
    comment = "The index of level 5 was destroyed: level {} {}."
    yield index_case("locked-device-tpm-index-destroyed", comment.format(5, "stays closed"), "LOCKED", number=b"")
    yield index_case("valid-device-tpm-index-destroyed-level-4", comment.format(4, "opens"), level=4, number=b"")
    comment = "The TPM has another index than the one that the header names."
    yield index_case("locked-device-tpm-index-number", comment, "LOCKED", number=b"\2\0\x80\1")
    comment = "The index is that of another vault."
    yield index_case("locked-device-tpm-index-of-another-vault", comment, "LOCKED", vault_id=bytes(16))
    comment = "The index has another authValue, as after a change of the password."
    yield index_case("locked-device-tpm-index-auth", comment, "LOCKED", auth=b"\1" * 32)


def index_case(word, comment, expect="OK", level=5, number=b"\1\0\x80\1", vault_id=None, auth=None):
    """A vault with a password that is bound to a TPM. `number`, `vault_id`, `auth`: those of the TPM's index; none if empty."""
    vault, item = VaultPlan(word), replace(ANNA, level=level)
    base, secret = vault.password_slot(PASSWORD), seeded("secret in an index", 32)
    slots = [base, vault.tpm_slot(base, TPM_NAME, TPM_SECRET, levels=(3, 4))]
    slots.append(vault.tpm_index_slot(base, TPM_NAME, secret, b"\1\0\x80\1"))
    machine = TPM_NAME + tpm_auth_value(base.derived[:32], TPM_NAME) + TPM_SECRET
    if number:
        machine += number + b"\1" + (vault_id or vault.keyfile.vault_id)
        machine += (auth or tpm_auth_value(base.derived[:32], TPM_NAME, 2)) + secret
    return vector(word, expect, comment, item, era_files(vault, slots, [item]), tpm=machine, password=PASSWORD)


def tpm_case(word, comment, expect="OK", level=4, name=TPM_NAME, secret=TPM_SECRET, **unlocking):
    """A vault that is bound to a TPM. `name`, `secret`: what the TPM of this machine has."""
    vault, item = VaultPlan(word), replace(ANNA, level=level)
    base = vault.password_slot(PASSWORD) if unlocking else vault.keyfile_slot()
    files = era_files(vault, [base, vault.tpm_slot(base, TPM_NAME, TPM_SECRET)], [item])
    machine = name + tpm_auth_value(base.derived[:32], TPM_NAME) + secret
    return vector(word, expect, comment, item, files, tpm=machine, **unlocking)


def credential(kind=CREDENTIAL_TYPES[0], label="credential", length=200):
    return (kind + seeded(label, 64) * 32)[:length]


def systemd_cases():
    for level in (3, 4):
        comment = f"Keyfile and systemd open an item of level {level}."
        yield systemd_case(f"valid-device-systemd-keyfile-level-{level}", comment, level=level)
    for level in (2, 3, 4, 5):
        comment = f"The password and systemd open an item of level {level}."
        yield systemd_case(f"valid-device-systemd-password-level-{level}", comment, level=level, password=PASSWORD)
    comment = "The credential has a PCR policy that a public key signs, and the greatest length."
    blob = credential(CREDENTIAL_TYPES[1], length=2048)
    yield systemd_case("valid-device-systemd-public-key", comment, blob=blob, machine=blob, password=PASSWORD)
    comment = "The systemd of another machine does not decrypt the credential."
    yield systemd_case("locked-device-systemd-elsewhere", comment, "LOCKED", machine=credential(label="other"), password=PASSWORD)
    comment = "systemd decrypts another secret than the vault's."
    yield systemd_case("locked-device-systemd-secret", comment, "LOCKED", secret=bytes(32), password=PASSWORD)
    comment = "The credential needs the host's key alone: a reader asks no systemd for it."
    blob = credential(HOST_ALONE)
    yield systemd_case("locked-device-systemd-host-alone", comment, "LOCKED", blob=blob, machine=blob, password=PASSWORD)


def systemd_case(
    word, comment, expect="OK", level=4, blob=credential(), machine=credential(), secret=CREDENTIAL_SECRET, **unlocking
):
    """A vault that is bound to systemd. `machine`, `secret`: the credential that this machine's decrypts, and as what."""
    vault, item = VaultPlan(word), replace(ANNA, level=level)
    base = vault.password_slot(PASSWORD) if unlocking else vault.keyfile_slot()
    files = era_files(vault, [base, vault.systemd_slot(base, CREDENTIAL_SECRET, blob)], [item])
    return vector(word, expect, comment, item, files, systemd=secret + machine, **unlocking)


def tpm(base, form, data, name=b"\0\x0b" + bytes(32)):
    return device_extension(base, name, PROVIDER_TPM2, form, data)


def extension_cases():
    name = bytes(32)
    wrong = {
        "empty": b"",
        "cut": device_extension(SLOT_KEYFILE, name)[:-1],
        "byte-behind": device_extension(SLOT_KEYFILE, name) + b"\0",
        "provider-0": device_extension(SLOT_KEYFILE, name, 0),
        "provider-4": device_extension(SLOT_KEYFILE, b"", 4),
        "base-0": device_extension(0, name),
        "base-device": device_extension(4, name),
        "base-not-there": device_extension(SLOT_PASSWORD, name),
        "reserved-not-zero": device_extension(SLOT_KEYFILE, name, reserved=b"\1"),
        "name-of-31-bytes": device_extension(SLOT_KEYFILE, name[1:]),
        "machine-key-with-blob": device_extension(SLOT_KEYFILE, name, form=FORM_BLOB, data=b"blob"),
        "machine-key-with-data": device_extension(SLOT_KEYFILE, name, data=b"data"),
        "tpm-without-object": tpm(SLOT_KEYFILE, 0, b""),
        "tpm-empty-blob": tpm(SLOT_KEYFILE, FORM_BLOB, b""),
        "tpm-blob-of-1025-bytes": tpm(SLOT_KEYFILE, FORM_BLOB, bytes(1025)),
        "tpm-index-of-3-bytes": tpm(SLOT_KEYFILE, FORM_INDEX, bytes(3)),
        "systemd-without-object": device_extension(SLOT_KEYFILE, b"", PROVIDER_SYSTEMD),
        "systemd-empty-blob": device_extension(SLOT_KEYFILE, b"", PROVIDER_SYSTEMD, FORM_BLOB),
        "systemd-blob-of-2049-bytes": device_extension(SLOT_KEYFILE, b"", PROVIDER_SYSTEMD, FORM_BLOB, bytes(2049)),
        "systemd-index": device_extension(SLOT_KEYFILE, b"", PROVIDER_SYSTEMD, FORM_INDEX, bytes(4)),
        "systemd-name": device_extension(SLOT_KEYFILE, name, PROVIDER_SYSTEMD, FORM_BLOB, credential()),
        "form-3": tpm(SLOT_KEYFILE, 3, bytes(4)),
    }
    for word, extension in wrong.items():
        slots = lambda vault, extension=extension: with_keyfile(vault, extension=extension)
        comment = f"The extension of a device slot is wrong: {word.replace('-', ' ')}."
        yield case("device-extension-" + word, comment, slots, "CORRUPT")


def rule_cases():
    key = new_key("odd", 4, RETIRING)
    wrong = {
        "level-2": lambda v: with_keyfile(v, keys=[v.class_keys[2], v.class_keys[3], v.class_keys[4]]),
        "level-3-missing": lambda v: with_keyfile(v, levels=(4,)),
        "level-5-with-keyfile": lambda v: with_keyfile(v, levels=(3, 4, 5)),
        "key-id-twice": lambda v: with_keyfile(v, keys=[v.class_keys[3], v.class_keys[4], replace(key, key_id=v.class_keys[4].key_id)]),
        "level-4-twice": lambda v: with_keyfile(v, keys=[v.class_keys[3], v.class_keys[4], new_key("odd", 4)]),
        "key-id-twice-in-two-slots": lambda v: [*with_keyfile(v), with_keyfile(v, levels=(4,), slot_id=11)[1]],
        "retiring-level-4-in-keyfile-slot": lambda v: [v.keyfile_slot(keys=[*v.keys(), key]), with_keyfile(v)[1]],
        "two-providers": lambda v: [
            *with_keyfile(v, levels=(3,)),
            with_keyfile(v, levels=(4,), slot_id=11, extension=tpm(SLOT_KEYFILE, FORM_BLOB, b"blob"))[1],
        ],
        "systemd-and-tpm": lambda v: [
            *with_keyfile(v, levels=(3,), extension=device_extension(SLOT_KEYFILE, b"", PROVIDER_SYSTEMD, FORM_BLOB, credential())),
            with_keyfile(v, levels=(4,), slot_id=11, extension=tpm(SLOT_KEYFILE, FORM_BLOB, b"blob"))[1],
        ],
        "costs-of-its-own": lambda v: with_keyfile(v, derivation=1, passes=1, memory_kib=8, salt=bytes(16)),
    }
    for word, slots in wrong.items():
        comment = f"Device slots that must not be so: {word.replace('-', ' ')}."
        yield case("device-slots-" + word, comment, slots, "CORRUPT")
    wrong = {
        "level-5-missing": lambda v: with_password(v, levels=(3, 4)),
        "another-salt": lambda v: with_password(v, salt=bytes(16)),
        "other-costs": lambda v: with_password(v, passes=2),
        "code-alone": lambda v: [v.password_slot(PASSWORD), *[slot for slot in with_code(v)[2:]]],
        "code-with-level-5": lambda v: [*with_password(v), *recovery_pair(v, levels=(3, 4, 5))],
        "code-with-a-key-of-its-own": lambda v: [*with_password(v), *recovery_pair(v, keys=[v.class_keys[3], new_key("odd", 4)])],
    }
    for word, slots in wrong.items():
        comment = f"Device slots that must not be so: {word.replace('-', ' ')}."
        yield case("device-slots-" + word, comment, slots, "CORRUPT", password=PASSWORD)


def recovery_pair(vault, **changes):
    slot = vault.recovery_slot(SYMBOLS)
    return [slot, vault.device_slot(slot, MACHINE_KEY, slot_id=11, **changes)]
