#!/usr/bin/python3
"""Writes the vectors of the vault's format, one file per case, always the same bytes.

Usage: make_vectors.py [--check]
--check writes nothing; it says which files differ, are missing or stand there too many, and then exits with 1.
"""

import os
import sys

import cases_fields
import cases_keys
import cases_notes
import cases_record
import cases_sealed
import cases_slots
import cases_valid

DIRECTORY = os.path.join(os.path.dirname(os.path.abspath(__file__)), "vault")


def make_vectors():
    """{file name: bytes}"""
    vectors = {}
    for module in (cases_valid, cases_keys, cases_slots, cases_record, cases_fields, cases_sealed, cases_notes):
        for vector in module.cases():
            file_name = vector.name + ".vector"
            if file_name in vectors:
                raise ValueError(f"two cases are named {vector.name}")
            vectors[file_name] = vector.encode()
    return vectors


def read_vectors():
    vectors = {}
    for file_name in sorted(os.listdir(DIRECTORY)) if os.path.isdir(DIRECTORY) else []:
        with open(os.path.join(DIRECTORY, file_name), "rb") as file:
            vectors[file_name] = file.read()
    return vectors


def check(made, there):
    for file_name in sorted(made.keys() | there.keys()):
        if made.get(file_name) != there.get(file_name):
            word = (
                "missing" if file_name not in there else "not made by any case" if file_name not in made else "differs"
            )
            print(f"make_vectors: {file_name}: {word}", file=sys.stderr)
    return 0 if made == there else 1


def write(made, there):
    os.makedirs(DIRECTORY, exist_ok=True)
    for file_name in there.keys() - made.keys():
        os.remove(os.path.join(DIRECTORY, file_name))
    for file_name, data in made.items():
        with open(os.path.join(DIRECTORY, file_name), "wb") as file:
            file.write(data)
    print(f"{len(made)} vectors, {sum(map(len, made.values()))} bytes")
    return 0


if __name__ == "__main__":
    if sys.argv[1:] not in ([], ["--check"]):
        sys.exit(__doc__.strip())
    sys.exit((check if sys.argv[1:] else write)(make_vectors(), read_vectors()))
