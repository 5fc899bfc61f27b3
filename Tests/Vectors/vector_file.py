"""The file format of a vector: a text header, an empty line, then the vault's files with their bytes.

Each file stands behind a line `--- PATH LENGTH`: exactly LENGTH bytes and a newline. Whoever unpacks a vector makes the
directory `records` even where no record is in it, and others for the files in them; directories have mode 0700, files 0600.
"""

import base64
import os
from dataclasses import dataclass


@dataclass
class Vector:
    """`item` is (namespace, service, account); `also` is (service, account, secret) in the same namespace, or None.

    `password` and `code` unlock the vault before anything is loaded. With `sealed`, (level, flags, bytes), the item is in
    another module, which holds these bytes for its secret and says that it has this level and these flags. With `note` what
    is read is the item's note: (level, flags, holders), each of these (machine id, module's name, key ids) and the ids in
    hexadecimal; () where it cannot be read."""

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

    def encode(self):
        lines = [f"expect: {self.expect}", "item: " + "|".join(self.item)]
        if self.expect == "OK" and self.note is None:
            lines.append(("secret-base64: " + base64.b64encode(self.secret).decode("ascii")).rstrip())
        if self.also:
            service, account, secret = self.also
            lines.append(f"also: {service}|{account} " + base64.b64encode(secret).decode("ascii"))
        if self.password is not None:
            lines.append("password-base64: " + base64.b64encode(self.password).decode("ascii"))
        if self.code is not None:
            lines.append("code: " + self.code.decode("ascii"))
        if self.sealed:
            level, flags, sealed = self.sealed
            lines.append(f"sealed: {level} {flags} " + base64.b64encode(sealed).decode("ascii"))
        if self.note is not None:
            lines.append(("note: " + encode_note(*self.note)).rstrip())
        lines.append("comment: " + self.comment)
        data = ("\n".join(lines) + "\n\n").encode("utf-8")
        for path, content in sorted(self.files.items()):
            data += f"--- {path} {len(content)}\n".encode("ascii") + content + b"\n"
        return data


def encode_note(level="", flags="", holders=()):
    words = [f"{machine}/{module}/{','.join(key_ids)}" for machine, module, key_ids in holders]
    return " ".join([str(level), str(flags), *words])


def decode_note(text):
    if not text:
        return ()
    level, flags, *words = text.split(" ")
    parts = [word.split("/") for word in words]
    holders = [(machine, module, ids.split(",") if ids else []) for machine, module, ids in parts]
    return int(level), int(flags), holders


def decode(name, data):
    head, rest = data.split(b"\n\n", 1)
    words = dict(line.split(":", 1) for line in head.decode("utf-8").split("\n"))
    words = {key: value.strip() for key, value in words.items()}
    secret = base64.b64decode(words["secret-base64"], validate=True) if "secret-base64" in words else None
    also = None
    if "also" in words:
        names, encoded = words["also"].rsplit(" ", 1)
        also = (*names.split("|"), base64.b64decode(encoded, validate=True))
    files = {}
    while rest:
        line, rest = rest.split(b"\n", 1)
        dashes, path, length = line.decode("ascii").split(" ")
        if dashes != "---" or rest[int(length) : int(length) + 1] != b"\n":
            raise ValueError(f"{name}: bad file line {line!r}")
        files[path], rest = rest[: int(length)], rest[int(length) + 1 :]
    item = tuple(words["item"].split("|"))
    password = base64.b64decode(words["password-base64"], validate=True) if "password-base64" in words else None
    code = words["code"].encode("ascii") if "code" in words else None
    sealed = None
    if "sealed" in words:
        level, flags, *encoded = words["sealed"].split(" ")
        sealed = (int(level), int(flags), base64.b64decode("".join(encoded), validate=True))
    note = decode_note(words["note"]) if "note" in words else None
    return Vector(name, words["expect"], words["comment"], item, files, secret, also, password, code, sealed, note)


def unpack(vector, directory):
    """Writes the vault into `directory`, which exists and is empty."""
    os.chmod(directory, 0o700)
    os.mkdir(os.path.join(directory, "records"), 0o700)
    for path, content in vector.files.items():
        parent = os.path.join(directory, os.path.dirname(path))
        if not os.path.isdir(parent):
            os.mkdir(parent, 0o700)
        descriptor = os.open(os.path.join(directory, path), os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
