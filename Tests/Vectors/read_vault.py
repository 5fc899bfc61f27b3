#!/usr/bin/python3
"""Prints every item of a vault, written by anybody, and verifies what docs/format.md promises about its files.

Usage: read_vault.py DIR [--json] [--password-stdin]
Exit: 0 all is well; 1 something is not as the format says, each place on a line of standard error; 2 usage.
"""

import argparse
import base64
import json
import os
import re
import stat
import sys

from vault_format import STATE_NAMES, VaultReader
from vault_keys import parse_header
from vault_notes import NOTE_FILES, note_names, read_note
from vault_primitives import VaultError

TOP_LEVEL_FILES = re.compile(r"(keyfile|header|header\.2|lock|generation|changed)(\.tmp)?|header(\.2)?\.corrupt-[0-9]+")
TOP_LEVEL_DIRECTORIES = {"records", "owed", "sent", "used", "sealed"}
RECORD_FILES = re.compile(r"[0-9a-f]{32}(\.tmp|\.corrupt-[0-9]+)?")
MARK_FILES = re.compile(r"[a-z0-9._-]{1,64}@[0-9a-f]{32}")
# The files of a directory, and their size where all have the same.
BESIDE_RECORDS = {"used": (MARK_FILES, 0), "sealed": (re.compile(NOTE_FILES.pattern + r"(\.tmp|\.corrupt-[0-9]+)?"), None)}


def check_entries(directory):
    """Modes, owners, kinds and names of everything in the vault."""
    owner = os.lstat(directory).st_uid
    yield from check_entry(directory, ".", owner, True)
    for entry in sorted(os.listdir(directory)):
        is_directory = entry in TOP_LEVEL_DIRECTORIES
        if not is_directory and not TOP_LEVEL_FILES.fullmatch(entry):
            yield f"{entry}: no name of the format"
            continue
        yield from check_entry(directory, entry, owner, is_directory)
    records = os.path.join(directory, "records")
    for entry in sorted(os.listdir(records)) if os.path.isdir(records) else []:
        if not RECORD_FILES.fullmatch(entry):
            yield f"records/{entry}: no name of the format"
        yield from check_entry(directory, "records/" + entry, owner, False)
    for folder in BESIDE_RECORDS:
        yield from check_files(directory, folder, owner)
    for entry in ("records", "lock"):
        if not os.path.lexists(os.path.join(directory, entry)):
            yield f"{entry}: missing"


def check_files(directory, folder, owner):
    names, size = BESIDE_RECORDS[folder]
    path = os.path.join(directory, folder)
    for name in sorted(os.listdir(path)) if os.path.isdir(path) else []:
        entry = f"{folder}/{name}"
        if not names.fullmatch(name):
            yield f"{entry}: no name of the format"
        elif size is not None and os.lstat(os.path.join(path, name)).st_size != size:
            yield f"{entry}: not of {size} bytes"
        yield from check_entry(directory, entry, owner, False)


def check_entry(directory, entry, owner, is_directory):
    status = os.lstat(os.path.join(directory, entry))
    expected_kind, expected_mode = (stat.S_ISDIR, 0o700) if is_directory else (stat.S_ISREG, 0o600)
    if not expected_kind(status.st_mode):
        yield f"{entry}: not a {'directory' if is_directory else 'regular file'}"
    elif stat.S_IMODE(status.st_mode) != expected_mode:
        yield f"{entry}: mode {stat.S_IMODE(status.st_mode):04o} instead of {expected_mode:04o}"
    if status.st_uid != owner:
        yield f"{entry}: belongs to uid {status.st_uid}, the directory to {owner}"
    if entry == "lock" and status.st_size:
        yield f"lock: {status.st_size} bytes instead of none"


def check_header_copies(reader):
    """Both copies are good; header.2 is written first, so it is the same or one epoch ahead."""
    data, epochs = [], []
    for name in ("header", "header.2"):
        try:
            data.append(reader.read(name, 65537))
            epochs.append(parse_header(data[-1], reader.keyfile, name, reader.password, reader.code).epoch)
        except VaultError as error:
            yield str(error)
    if len(epochs) == 2:
        if not epochs[0] <= epochs[1] <= epochs[0] + 1:
            yield f"header.2: epoch {epochs[1]} beside epoch {epochs[0]} in header"
        elif epochs[0] == epochs[1] and data[0] != data[1]:
            yield "header.2: same epoch as header, other bytes"


def item_to_dictionary(item):
    result = {"name": item.name, "state": STATE_NAMES[item.state.state], "level": item.level, "flags": item.flags}
    result["changed_at"] = item.state.changed_at
    result["debts"] = [vars(debt) for debt in item.state.debts]
    result["pending_refresh"] = encode(item.state.pending_refresh)
    result["outbox_flags"] = item.state.outbox_flags
    if item.metadata:
        result.update(vars(item.metadata))
        result["attributes"] = dict(item.metadata.attributes)
        result["secret"] = encode(item.secret)
    return result


def encode(data):
    return None if data is None else base64.b64encode(data).decode("ascii")


def read_items(reader):
    """The readable items and what is wrong with the others."""
    items, problems = [], []
    for name in reader.record_names():
        try:
            item = reader.read_item(name)
        except VaultError as error:
            problems.append(str(error))
            continue
        items.append(item_to_dictionary(item))
        if item.state.state in (1, 2) and item.secret is None:
            problems.append(f"LOCKED: records/{name}: its keys are in no slot that could be opened")
    return items, problems


def check_notes(reader):
    """Each note opens and keeps the rules, with a password or without."""
    for name in note_names(reader):
        try:
            read_note(reader, name)
        except VaultError as error:
            yield str(error)


def audit(directory, password=None, code=None):
    """A dictionary of vault, items and problems; the latter is empty where all is well."""
    result = {"vault": None, "items": [], "problems": []}
    try:
        result["problems"] += check_entries(directory)
        reader = VaultReader(directory, password, code)
        result["problems"] += check_header_copies(reader)
        header = reader.header
        result["vault"] = {
            "vault_id": reader.keyfile.vault_id.hex(),
            "epoch": header.epoch,
            "created_at": header.created_at,
        }
        result["items"], problems = read_items(reader)
        result["problems"] += problems
        result["problems"] += check_notes(reader)
    except (VaultError, OSError) as error:
        result["problems"].append(str(error))
    return result


def print_text(result):
    for item in result["items"]:
        for key, value in item.items():
            print(
                f"{key}: {json.dumps(value, ensure_ascii=False) if isinstance(value, (list, dict)) else '' if value is None else value}"
            )
        print()


def main():
    parser = argparse.ArgumentParser(description="Print every item of a vault and verify its files.")
    parser.add_argument("directory", metavar="DIR")
    parser.add_argument("--json", action="store_true", help="one JSON object: vault, items, problems")
    parser.add_argument("--password-stdin", action="store_true", help="the password is on standard input")
    arguments = parser.parse_args()
    password = sys.stdin.buffer.read() if arguments.password_stdin else None
    result = audit(arguments.directory, password)
    if arguments.json:
        print(json.dumps(result, ensure_ascii=False, indent=1))
    else:
        print_text(result)
    for problem in result["problems"]:
        print(f"read_vault: {problem}", file=sys.stderr)
    return 1 if result["problems"] else 0


if __name__ == "__main__":
    sys.exit(main())
