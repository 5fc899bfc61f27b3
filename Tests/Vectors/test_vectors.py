#!/usr/bin/python3
"""Runs the second reader over every vector, and the audit over the valid ones. Prints `N passed, N failed`."""

import os
import sys
import tempfile

from make_vectors import read_vectors
from read_vault import audit
from vault_export import read_export
from vault_format import RECORD_MAXIMUM, item_name
from vault_login import read_login
from vault_primitives import VaultError
from vault_reader import VaultReader
from vault_sealed import open_carried_over, open_sealed
from vector_file import unpack

STATUSES = {"OK", "CORRUPT", "UNSUPPORTED", "NOT_FOUND", "LOCKED", "DENIED"}


def load(directory, names, password=None, code=None, sealed=None, note=None, trust=None, **machine):
    """(status; secret, sealed copies or message)"""
    try:
        reader = VaultReader(directory, password, code, trust, **machine)
        if note is not None:
            return "OK", in_vector(reader.copies(*names))
        return "OK", open_sealed(reader, names, *sealed) if sealed else reader.load(*names).secret
    except VaultError as error:
        return error.status, str(error)


def in_vector(note):
    """Sealed copies as a vector tells of them."""
    told = ((holder.machine, holder.module, holder.key_ids, holder.fingerprints) for holder in note.holders)
    holders = [(machine, module, [f"{number:016x}" for number in ids], prints) for machine, module, ids, prints in told]
    return note.level, note.flags, holders


def carried_over(directory, names):
    """The file in the item's record, which is of kind 4; None if it cannot be had."""
    reader = VaultReader(directory)
    name = item_name(reader.header.name_key, *names)
    try:
        own_names, content = open_carried_over(reader, name, reader.read("records/" + name, RECORD_MAXIMUM + 1))
    except VaultError:
        return None
    return content if own_names == names else None


def export_failures(vector):
    try:
        items = read_export(vector.files["export"], vector.passphrase)
        status = "OK"
    except VaultError as error:
        status, items = error.status, []
    if status != vector.expect:
        yield f"{status} instead of {vector.expect}"
    if status == "OK" and len(items) != vector.items:
        yield f"{len(items)} items instead of {vector.items}"
    if items:
        _, _, metadata, secret = items[0]
        if ((metadata.namespace, metadata.service, metadata.account), secret) != (vector.item, vector.secret):
            yield f"the first item is {metadata}"


def failures(vector, directory):
    before = snapshot(directory)
    unlocking = {"password": vector.password, "code": vector.code, "trust": vector.trust}
    unlocking |= {"machine_key": vector.machine_key, "tpm": vector.tpm, "systemd": vector.systemd}
    status, answer = load(directory, vector.item, sealed=vector.sealed, note=vector.note, **unlocking)
    expected = vector.secret if vector.note is None else vector.note
    if vector.expect not in STATUSES:
        yield f"expects {vector.expect}"
    if status != vector.expect or (status == "OK" and answer != expected):
        yield f"{status} instead of {vector.expect} ({answer})"
    if vector.also:
        service, account, secret = vector.also
        if load(directory, (vector.item[0], service, account)) != ("OK", secret):
            yield "the other item is not readable"
    if "-carried-over" in vector.name and vector.expect == "CORRUPT":
        if carried_over(directory, vector.item) != vector.carried:
            yield "what is carried over is not what it should be"
    problems = audit(directory, **unlocking)["problems"]
    # What another module holds is no damage of the vault's.
    is_whole = vector.name.startswith("valid-") or vector.sealed
    if is_whole and "while-locked" not in vector.name and vector.expect != "LOCKED" and problems:
        yield f"the audit finds {problems}"
    if vector.expect == "CORRUPT" and not is_whole and not problems:
        yield "the audit finds nothing"
    if snapshot(directory) != before:
        yield "the reader changed the vault"


def login_failures():
    with open(os.path.join(os.path.dirname(__file__), "login.vectors"), encoding="ascii") as lines:
        cases = [line.rstrip("\n").split("\t") for line in lines if not line.startswith("#")]
    if len(cases) < 30:
        yield f"only {len(cases)} lines"
    for expected, data in cases:
        note = read_login(bytes.fromhex(data))
        read = "-" if note is None else "{} {} {}".format(*note)
        if read != expected:
            yield f"{data}: {read} instead of {expected}"


def snapshot(directory):
    paths = [os.path.join(parent, name) for parent, _, names in os.walk(directory) for name in names]
    return {path: open(path, "rb").read() for path in paths if not os.path.islink(path)}


def main():
    passed = failed = 0
    for vector in read_vectors():
        with tempfile.TemporaryDirectory() as directory:
            unpack(vector, directory)
            found = list(failures(vector, directory) if vector.passphrase is None else export_failures(vector))
        for failure in found:
            print(f"{vector.name}: {failure}")
        passed, failed = passed + (not found), failed + bool(found)
    found = list(login_failures())
    for failure in found:
        print(f"login.vectors: {failure}")
    passed, failed = passed + (not found), failed + bool(found)
    print(f"{passed} passed, {failed} failed")
    return 0 if passed and not failed else 1


if __name__ == "__main__":
    sys.exit(main())
