#!/usr/bin/python3
"""Writes the vectors of the vault's format and of exports, one file per case, always the same bytes.

Usage: make_vectors.py [--check]
--check writes nothing; it says which files differ, are missing or stand there too many, and then exits with 1.
"""

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

HERE = os.path.dirname(os.path.abspath(__file__))
VAULT_CASES = [cases_valid, cases_keyfile, cases_header, cases_slots, cases_device, cases_unlock, cases_attacks, cases_trust]
VAULT_CASES += [cases_record, cases_fields, cases_carried, cases_sealed, cases_copies]
FOLDERS = {"vault": VAULT_CASES, "export": [cases_export]}


def make_vectors():
    """{path: bytes}"""
    vectors = {}
    for folder, modules in FOLDERS.items():
        for vector in (vector for module in modules for vector in module.cases()):
            path = f"{folder}/{vector.name}.vector"
            if path in vectors:
                raise ValueError(f"two cases are named {vector.name}")
            vectors[path] = vector.encode()
    return vectors


def read_vectors():
    vectors = {}
    for folder in FOLDERS:
        directory = os.path.join(HERE, folder)
        for file_name in sorted(os.listdir(directory)) if os.path.isdir(directory) else []:
            with open(os.path.join(directory, file_name), "rb") as file:
                vectors[f"{folder}/{file_name}"] = file.read()
    return vectors


def check(made, there):
    for path in sorted(made.keys() | there.keys()):
        if made.get(path) != there.get(path):
            word = "missing" if path not in there else "not made by any case" if path not in made else "differs"
            print(f"make_vectors: {path}: {word}", file=sys.stderr)
    return 0 if made == there else 1


def write(made, there):
    for folder in FOLDERS:
        os.makedirs(os.path.join(HERE, folder), exist_ok=True)
    for path in there.keys() - made.keys():
        os.remove(os.path.join(HERE, path))
    for path, data in made.items():
        with open(os.path.join(HERE, path), "wb") as file:
            file.write(data)
    print(f"{len(made)} vectors, {sum(map(len, made.values()))} bytes")
    return 0


if __name__ == "__main__":
    if sys.argv[1:] not in ([], ["--check"]):
        sys.exit(__doc__.strip())
    sys.exit((check if sys.argv[1:] else write)(make_vectors(), read_vectors()))
