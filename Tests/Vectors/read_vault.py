#!/usr/bin/python3
"""Prints every item of a vault, written by anybody, and verifies what docs/format.md promises about its files.

Usage: read_vault.py DIR [--json] [--password-stdin | --code-stdin]
Exit: 0 all is well; 1 something is not as the format says, each place on a line of standard error; 2 usage.
"""

import argparse
import base64
import json
import os
import re
import stat
import sys

from vault_login import check_login
from vault_primitives import VaultError
from vault_reader import ERA_NAME, VaultReader
from vault_sessions import FOLDER as SESSIONS
from vault_sessions import NAMES as SESSION_NAMES
from vault_sessions import check_record, check_shared_files, read_sessions

TOP_LEVEL_FILES = re.compile(r"(lock|changes|login)(\.tmp)?")
ERA_FILES = re.compile(r"(keyfile|header|header\.2)(\.tmp)?|header(\.2)?\.corrupt-[0-9]+|making")
NAMED_FILES = re.compile(r"[0-9a-f]{32}(\.tmp|\.corrupt-[0-9]+)?")
# The files of an era's directories, and their size where all have the same.
ERA_FOLDERS = {
    "records": (NAMED_FILES, None),
    "pending": (re.compile(r"[0-9a-f]{32}"), 0),
    "holders": (re.compile(r"[0-9a-f]{32}\.[a-z0-9._-]{1,64}@[0-9a-f]{32}"), None),
    "used": (re.compile(r"[a-z0-9._-]{1,64}@[0-9a-f]{32}"), 0),
    SESSIONS: (SESSION_NAMES, None),
}


def check_entries(directory):
    """Modes, owners, kinds and names of everything in the vault, but for what is in eras that are not in force."""
    yield from check_entry(directory, ".", is_directory=True)
    for entry in sorted(os.listdir(directory)):
        if entry in ("current", "current.tmp"):
            yield from check_owner(directory, entry)
        elif ERA_NAME.fullmatch(entry) or TOP_LEVEL_FILES.fullmatch(entry):
            yield from check_entry(directory, entry, is_directory=entry.startswith("era-"))
        elif entry == SESSIONS:
            yield from check_entry(directory, entry, is_directory=True)
            yield from check_shared_files(os.path.join(directory, entry))
            for name in sorted(os.listdir(os.path.join(directory, entry))):
                yield from check_entry(directory, f"{entry}/{name}", is_directory=False)
        else:
            yield f"{entry}: no name of the format"
    if not os.path.lexists(os.path.join(directory, "lock")):
        yield "lock: missing"
    elif os.lstat(os.path.join(directory, "lock")).st_size:
        yield "lock: not empty"


def check_era(reader):
    for entry in reader.names(""):
        if entry not in ERA_FOLDERS and not ERA_FILES.fullmatch(entry):
            yield f"{entry}: no name of the format"
            continue
        yield from check_entry(reader.directory, f"{reader.folder}/{entry}", is_directory=entry in ERA_FOLDERS)
    for folder, (names, size) in ERA_FOLDERS.items():
        for name in reader.names(folder):
            entry = f"{folder}/{name}"
            if not names.fullmatch(name):
                yield f"{entry}: no name of the format"
            elif size is not None and os.lstat(reader.path(entry)).st_size != size:
                yield f"{entry}: not of {size} bytes"
            yield from check_entry(reader.directory, f"{reader.folder}/{entry}", is_directory=False)
    if not os.path.isdir(reader.path("records")):
        yield "records: missing"


def check_entry(directory, entry, is_directory):
    status = os.lstat(os.path.join(directory, entry))
    expected_kind, expected_mode = (stat.S_ISDIR, 0o700) if is_directory else (stat.S_ISREG, 0o600)
    if not expected_kind(status.st_mode):
        yield f"{entry}: not a {'directory' if is_directory else 'regular file'}"
    elif stat.S_IMODE(status.st_mode) != expected_mode:
        yield f"{entry}: mode {stat.S_IMODE(status.st_mode):04o} instead of {expected_mode:04o}"
    yield from check_owner(directory, entry)


def check_owner(directory, entry):
    owner, expected = os.lstat(os.path.join(directory, entry)).st_uid, os.lstat(directory).st_uid
    if owner != expected:
        yield f"{entry}: belongs to uid {owner}, the directory to {expected}"


def check_header_copies(reader):
    """Both copies are good; header.2 is written first, so it is the same or one epoch ahead."""
    copies = []
    for name in ("header", "header.2"):
        try:
            copies.append(reader.read_header_copy(name))
        except VaultError as error:
            yield str(error)
    if len(copies) == 2:
        first, second = copies
        if not first.epoch <= second.epoch <= first.epoch + 1:
            yield f"header.2: epoch {second.epoch} beside epoch {first.epoch} in header"
        elif first.epoch == second.epoch and first.data != second.data:
            yield "header.2: same epoch as header, other bytes"


def state_name(item):
    """The state is computed from the value and the pending parts."""
    if item.level == 0:
        return "tombstone" if item.state.pending or not item.state.copies else "copies"
    return "pending" if item.state.pending else "home"


def item_to_dictionary(item):
    result = {"name": item.name, "state": state_name(item), "level": item.level, "flags": item.flags}
    result["changed_at"] = item.state.changed_at
    result["pending"] = [vars(part) for part in item.state.pending]
    result["pending_refresh"] = encode(item.state.pending_refresh)
    result["copies"] = item.state.copies and [vars(holder) for holder in item.state.copies.holders]
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
        if item.state.pending and name not in reader.names("pending"):
            problems.append(f"pending/{name}: missing beside a record with pending parts")
        if item.level != 0 and item.secret is None:
            problems.append(f"LOCKED: records/{name}: its keys are in no slot that could be opened")
    return items, problems


def audit(directory, password=None, code=None, trust=None, **machine):
    """A dictionary of vault, items, sessions and problems; the latter is empty where all is well."""
    result = {"vault": None, "items": [], "sessions": [], "problems": []}
    try:
        result["problems"] += check_entries(directory)
        result["problems"] += check_login(directory)
        reader = VaultReader(directory, password, code, trust, **machine)
        result["problems"] += check_era(reader)
        result["problems"] += check_header_copies(reader)
        header = reader.header
        vault = {"vault_id": reader.keyfile.vault_id.hex(), "era": reader.era}
        result["vault"] = vault | {"epoch": header.epoch, "created_at": header.created_at}
        result["items"], problems = read_items(reader)
        result["problems"] += problems
        result["sessions"], problems = read_sessions(reader)
        result["problems"] += problems
        for note in result["sessions"]:
            result["problems"] += check_record(reader, note)
    except (VaultError, OSError) as error:
        result["problems"].append(str(error))
    return result


def print_text(result):
    for item in result["items"]:
        for key, value in item.items():
            if isinstance(value, (list, dict)):
                value = json.dumps(value, ensure_ascii=False)
            print(f"{key}: {'' if value is None else value}")
        print()


def main():
    parser = argparse.ArgumentParser(description="Print every item of a vault and verify its files.")
    parser.add_argument("directory", metavar="DIR")
    parser.add_argument("--json", action="store_true", help="one JSON object: vault, items, sessions, problems")
    secret = parser.add_mutually_exclusive_group()
    secret.add_argument("--password-stdin", action="store_true", help="the password is on standard input")
    secret.add_argument("--code-stdin", action="store_true", help="a recovery code is on standard input")
    arguments = parser.parse_args()
    password = sys.stdin.buffer.read() if arguments.password_stdin else None
    code = sys.stdin.buffer.read() if arguments.code_stdin else None
    result = audit(arguments.directory, password, code)
    if arguments.json:
        print(json.dumps(result, ensure_ascii=False, indent=1))
    else:
        print_text(result)
    for problem in result["problems"]:
        print(f"read_vault: {problem}", file=sys.stderr)
    return 1 if result["problems"] else 0


if __name__ == "__main__":
    sys.exit(main())
