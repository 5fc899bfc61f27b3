#!/usr/bin/python3
"""Prints the items of an export: docs/format.md, section 7. Usage: read_export.py FILE, the passphrase on standard input."""

import sys

from vault_export import read_export


def main():
    passphrase = sys.stdin.buffer.read().removesuffix(b"\n")
    with open(sys.argv[1], "rb") as file:
        items = read_export(file.read(), passphrase)
    for level, flags, metadata, secret in items:
        name = "/".join((metadata.namespace, metadata.service, metadata.account))
        print(name, level, flags, repr(metadata.label), metadata.expires_at, metadata.attributes, secret)


if __name__ == "__main__":
    main()
