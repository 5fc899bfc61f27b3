#!/usr/bin/python3
"""Writes the vectors of the vault's format and of exports, one archive per module of cases, always the same bytes.

Usage: make_vectors.py [--check]
--check writes nothing; it says which archives differ, are missing or stand there too many, and then exits with 1.
"""

import glob
import os
import sys

import cases_attacks
import cases_carried
import cases_copies
import cases_device
import cases_export
import cases_fields
import cases_header
import cases_keyfile
import cases_record
import cases_sealed
import cases_slots
import cases_trust
import cases_unlock
import cases_valid
from vector_archive import decode_archive, encode_archive

HERE = os.path.dirname(os.path.abspath(__file__))
VAULT_CASES = [cases_valid, cases_keyfile, cases_header, cases_slots, cases_device, cases_unlock, cases_attacks, cases_trust]
VAULT_CASES += [cases_record, cases_fields, cases_carried, cases_sealed, cases_copies]


def make_archives():
    """{path: text}"""
    families = {f"vault/{module.__name__.removeprefix('cases_')}": list(module.cases()) for module in VAULT_CASES}
    families["export"] = list(cases_export.cases())
    names = [vector.name for vectors in families.values() for vector in vectors]
    if twice := {name for name in names if names.count(name) > 1}:
        raise ValueError(f"two cases are named {', '.join(twice)}")
    return {f"{family}.vectors": encode_archive(vectors) for family, vectors in families.items()}


def read_archives():
    archives = {}
    for path in glob.glob("vault/*", root_dir=HERE) + ["export.vectors"]:
        if os.path.exists(os.path.join(HERE, path)):
            with open(os.path.join(HERE, path), encoding="utf-8", newline="") as file:
                archives[path] = file.read()
    return archives


def read_vectors():
    """The vectors of all archives."""
    return [vector for path, text in sorted(read_archives().items()) for vector in decode_archive(text).values()]


def check(made, there):
    for path in sorted(made.keys() | there.keys()):
        if made.get(path) != there.get(path):
            word = "missing" if path not in there else "not made by any case" if path not in made else "differs"
            print(f"make_vectors: {path}: {word}", file=sys.stderr)
    return 0 if made == there else 1


def write(made, there):
    os.makedirs(os.path.join(HERE, "vault"), exist_ok=True)
    for path in there.keys() - made.keys():
        os.remove(os.path.join(HERE, path))
    for path, text in made.items():
        with open(os.path.join(HERE, path), "w", encoding="utf-8", newline="") as file:
            file.write(text)
    print(f"{sum(len(decode_archive(text)) for text in made.values())} vectors, {sum(map(len, made.values()))} characters")
    return 0


if __name__ == "__main__":
    if sys.argv[1:] not in ([], ["--check"]):
        sys.exit(__doc__.strip())
    sys.exit((check if sys.argv[1:] else write)(make_archives(), read_archives()))
