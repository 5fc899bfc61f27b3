"""A vector: a vault's files, what is loaded from them, and what must come of it. vector_archive.py is its file.

A program that unpacks a vector makes the directories that the paths name, and `records` in each `era-N` among them;
directories have mode 0700, files 0600.
"""

import base64
import os
import re
from dataclasses import dataclass

# The fields of bytes that may be missing; in an archive `KEY-base64`.
BYTES = ["secret", "password", "carried", "passphrase", "trust", "machine_key", "tpm", "systemd"]


class Link(bytes):
    """The target of a symbolic link, in the place of a file's bytes."""


@dataclass
class Vector:
    """`item` is (namespace, service, account); `also` is (service, account, secret) in the same namespace, or None.

    `password` and `code` unlock the vault before anything is loaded. With `sealed`, (level, flags, bytes), the item is in
    another module, which holds these bytes for its secret and says that it has this level and these flags. With `note` what
    is read are the sealed copies that the item's record names: (level, flags, holders), each of these (machine's hash, module's name, key ids,
    fingerprints), all but the name in hexadecimal; () if they cannot be read. With `carried` the item's record is of
    kind 4, and these are the bytes in it. With `passphrase` the one file `export` is read instead of a vault: `item` and
    `secret` are of its first item, `items` is how many it has. `trust` is what the kernel's trust key holds; None if there
    is no such key. `machine_key` is the machine's key, which device slots need. `tpm` is what the
    machine's TPM gives: the name of its storage primary (34 bytes), and the authValue (32) and secret (32) of each blob; for each index its number (4, as in the header), kind (1), vault id (16), authValue (32) and content (32; 128 of an anchor);
    None if there is no TPM. `systemd` is a secret (32) and the credential in which the machine's systemd encrypted it; None if
    there is no such service."""

    name: str
    expect: str
    comment: str
    item: tuple
    files: dict
    secret: bytes | None = None
    also: tuple | None = None
    password: bytes | None = None
    code: bytes | None = None
    sealed: tuple | None = None
    note: tuple | None = None
    carried: bytes | None = None
    passphrase: bytes | None = None
    items: int | None = None
    trust: bytes | None = None
    machine_key: bytes | None = None
    tpm: bytes | None = None
    systemd: bytes | None = None


def encode_fields(vector):
    """The lines `KEY: VALUE`."""
    yield f"expect: {vector.expect}"
    yield "item: " + "|".join(vector.item)
    if vector.also:
        service, account, secret = vector.also
        yield f"also: {service}|{account} " + base64.b64encode(secret).decode("ascii")
    if vector.code is not None:
        yield "code: " + vector.code.decode("ascii")
    if vector.sealed:
        level, flags, sealed = vector.sealed
        yield f"sealed: {level} {flags} " + base64.b64encode(sealed).decode("ascii")
    if vector.note is not None:
        yield ("note: " + encode_note(*vector.note)).rstrip()
    if vector.items is not None:
        yield f"items: {vector.items}"
    for key in BYTES:
        if (value := getattr(vector, key)) is not None:
            yield (f"{key.replace('_', '-')}-base64: " + base64.b64encode(value).decode("ascii")).rstrip()
    yield "comment: " + vector.comment


def encode_note(level="", flags="", holders=()):
    words = [f"{machine}/{module}/{','.join(ids)}/{','.join(prints)}" for machine, module, ids, prints in holders]
    return " ".join([str(level), str(flags), *words])


def decode_note(text):
    if not text:
        return ()
    level, flags, *words = text.split(" ")
    holders = []
    for machine, module, *lists in (word.split("/") for word in words):
        ids, prints = (text.split(",") if text else [] for text in lists)
        holders.append((machine, module, ids, prints))
    return int(level), int(flags), holders


def decode_fields(name, words, files):
    """The vector of these fields, {KEY: VALUE}, and files."""
    also = sealed = None
    if "also" in words:
        names, encoded = words["also"].rsplit(" ", 1)
        also = (*names.split("|"), base64.b64decode(encoded, validate=True))
    if "sealed" in words:
        level, flags, *encoded = words["sealed"].split(" ")
        sealed = (int(level), int(flags), base64.b64decode("".join(encoded), validate=True))
    encoded = {key: words.get(key.replace("_", "-") + "-base64") for key in BYTES}
    return Vector(
        name,
        words["expect"],
        words["comment"],
        tuple(words["item"].split("|")),
        files,
        also=also,
        code=words["code"].encode("ascii") if "code" in words else None,
        sealed=sealed,
        note=decode_note(words["note"]) if "note" in words else None,
        items=int(words["items"]) if "items" in words else None,
        **{key: base64.b64decode(text, validate=True) for key, text in encoded.items() if text is not None},
    )


def unpack(vector, directory):
    """Writes the vault into `directory`, which exists and is empty."""
    os.chmod(directory, 0o700)
    for path, content in vector.files.items():
        era = re.match("era-[0-9]+/", path)
        for folder in (os.path.dirname(path), era and era[0] + "records"):
            os.makedirs(os.path.join(directory, folder or ""), 0o700, exist_ok=True)
        if isinstance(content, Link):
            os.symlink(content, os.path.join(directory, path))
            continue
        descriptor = os.open(os.path.join(directory, path), os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)

