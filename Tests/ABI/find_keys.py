#!/usr/bin/python3
"""Prints the names of the vault's keys, passwords and secrets that a file holds, one a line.

Usage: find_keys.py VAULT FILE SECRET      The password comes from standard input.
"""

import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "Vectors"))

from vault_keys import SLOT_PASSWORD  # noqa: E402
from vault_primitives import subkey  # noqa: E402
from vault_reader import VaultReader  # noqa: E402


def main(vault, path, secret):
    password = sys.stdin.buffer.read()
    reader = VaultReader(vault, password=password)
    header = reader.header
    sought = {
        "the password": password,
        "the secret": secret.encode(),
        "the key derived from the password": header.slot(SLOT_PASSWORD).derived(password)[:32],
        "the keyfile's key": reader.keyfile.key,
        "the name key": header.name_key,
        "the journal key": header.journal_key,
        "the subkey for file names": subkey(header.name_key, 1, b"TKname__"),
    }
    for (purpose, _), key in header.opened.items():
        sought[f"the key of purpose {purpose}"] = key
    with open(path, "rb") as file:
        content = file.read()
    for name, value in sought.items():
        if value in content:
            print(name)


main(*sys.argv[1:])
