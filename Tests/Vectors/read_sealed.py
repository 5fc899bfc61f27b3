#!/usr/bin/python3
"""Prints the items that a vault sealed for the Secret Service of the session bus, and the copies that its records name: docs/format.md, section 6.

Usage: read_sealed.py DIR, the vault's password on standard input. Each item is a line of JSON, in the order of their names,
and then each note: names, level, flags, and for each module that may hold it the module, the machine, what its keys are.
Exit: 0 all is well; 1 something is not as the format says, in the vault's files or in the service.
"""

import base64
import json
import sys

import gi

from read_vault import audit
from vault_format import fingerprint, machine_hash
from vault_keys import CURRENT
from vault_primitives import Corrupt, VaultError
from vault_reader import VaultReader
from vault_sealed import open_sealed

gi.require_version("Secret", "1")
from gi.repository import Secret  # noqa: E402: the version must be said first

MODULE = "secret-service"
PREFIX = b"tokenkeep-base64:"
LEVELS = ["when-unlocked", "after-first-unlock"]
LEVELS += [word + "-this-device-only" for word in (*LEVELS, "when-passcode-set")]
REQUIRED = {"service", "account", "namespace", "access", "encoding", "sealed"}
OPTIONAL = {"flags", "expires"}


def stored_items(vault_id):
    """[(label, attributes, secret's bytes)]"""
    service = Secret.Service.get_sync(Secret.ServiceFlags.OPEN_SESSION | Secret.ServiceFlags.LOAD_COLLECTIONS)
    flags = Secret.SearchFlags.ALL | Secret.SearchFlags.LOAD_SECRETS
    items = service.search_sync(None, {"tokenkeep:sealed": vault_id}, flags, None)
    return [(item.get_label(), item.get_attributes(), item.get_secret().get()) for item in items]


def read_item(reader, label, attributes, stored):
    where = f"item {label!r}"
    if attributes.get("xdg:schema") != "org.tokenkeep.Item":
        raise Corrupt(where, "another schema")
    rest = {name: value for name, value in attributes.items() if name != "xdg:schema"}
    own = {name[12:]: rest.pop(name) for name in sorted(rest) if name.startswith("tokenkeep:a:")}
    if any(not name.startswith("tokenkeep:") for name in rest):
        raise Corrupt(where, f"attributes that others look for, or may add: {sorted(rest)}")
    values = {name[10:]: value for name, value in rest.items()}
    if not REQUIRED <= values.keys() <= REQUIRED | OPTIONAL or values["encoding"] != "base64":
        raise Corrupt(where, f"not the attributes of a sealed secret: {sorted(rest)}")
    if values.get("flags") == "0" or not stored.startswith(PREFIX):
        raise Corrupt(where, "flags of 0, or a secret without the words before base64")
    names = (values["namespace"], values["service"], values["account"])
    level, flags = LEVELS.index(values["access"]) + 1, int(values.get("flags", "0"))
    sealed = base64.b64decode(stored.removeprefix(PREFIX), validate=True)
    check_fingerprint(reader, names, sealed, where)
    secret = open_sealed(reader, names, level, flags, sealed)
    ends = values.get("expires")
    return [*names, level, flags, label, ends, own, base64.b64encode(secret).decode("ascii")]


def this_machine(reader):
    with open("/etc/machine-id", encoding="ascii") as file:
        return machine_hash(reader.header.journal_key, file.read().strip())


def check_fingerprint(reader, names, sealed, where):
    """The record of the item knows what the service has."""
    note = reader.copies(*names)
    here = this_machine(reader)
    known = [holder.fingerprints for holder in note.holders if (holder.machine, holder.module) == (here, MODULE)]
    if not any(fingerprint(reader.header.journal_key, sealed) in fingerprints for fingerprints in known):
        raise Corrupt(where, "its record has another fingerprint")


def read_notes(reader):
    here = this_machine(reader)
    for name in reader.record_names():
        note = reader.read_item(name).state.copies
        if note is None:
            continue
        holders = []
        for holder in note.holders:
            states = [reader.header.wrapped.get((note.level, key_id)) for key_id in holder.key_ids]
            keys = ["unknown" if state is None else "current" if state == CURRENT else "retiring" for state in states]
            holders.append([holder.module, "here" if holder.machine == here else "elsewhere", keys])
        yield [*note.names, note.level, note.flags, holders]


def main():
    directory, password = sys.argv[1], sys.stdin.buffer.read()
    problems = audit(directory, password)["problems"]
    items, notes = [], []
    try:
        reader = VaultReader(directory, password)
        for stored in stored_items(reader.keyfile.vault_id.hex()):
            items.append(read_item(reader, *stored))
        notes = list(read_notes(reader))
    except VaultError as error:
        problems.append(str(error))
    for line in sorted(items, key=lambda item: item[:3]) + sorted(notes):
        print(json.dumps(line, ensure_ascii=False))
    for problem in problems:
        print("read_sealed: " + problem, file=sys.stderr)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
