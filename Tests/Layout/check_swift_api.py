#!/usr/bin/env python3
"""Fails if `import TokenKeep` brings other names than it should, or a public declaration has no docstring.

Usage: check_swift_api.py TokenKeep.symbols.json      (swift package dump-symbol-graph)
"""
import json
import sys

NAMES = {"TokenItem", "TokenKeepError", "TokenSession", "TokenSessions", "TokenStore"}


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        symbols = json.load(file)["symbols"]
    faults = [
        f"{'.'.join(symbol['pathComponents'])} has no docstring" for symbol in symbols if "docComment" not in symbol
    ]
    names = {symbol["pathComponents"][0] for symbol in symbols}
    if names != NAMES:
        faults.append(f"import TokenKeep brings {', '.join(sorted(names))}: nest them in {', '.join(sorted(NAMES))}")
    for fault in faults:
        print(fault, file=sys.stderr)
    return 1 if faults or not symbols else 0


sys.exit(main())
