#!/usr/bin/python3
"""Prints the secret that a vault sealed for another module: docs/format.md, section 6.

Usage: open_sealed.py DIR NAMESPACE SERVICE ACCOUNT LEVEL FLAGS BASE64, the vault's password, if it has one, on standard input.
LEVEL and FLAGS are numbers. BASE64 may begin with the words that stand before it in the Secret Service.
Exit: 0 done; 1 it cannot be opened, with the reason on standard error; 2 usage.
"""

import base64
import sys

from vault_primitives import VaultError
from vault_reader import VaultReader
from vault_sealed import open_sealed


def main():
    if len(sys.argv) != 8:
        print(__doc__, file=sys.stderr)
        return 2
    directory, *names, level, flags, text = sys.argv[1:]
    sealed = base64.b64decode(text.removeprefix("tokenkeep-base64:"), validate=True)
    try:
        reader = VaultReader(directory, sys.stdin.buffer.read() or None)
        sys.stdout.buffer.write(open_sealed(reader, names, int(level), int(flags), sealed))
    except VaultError as error:
        print(f"open_sealed: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
