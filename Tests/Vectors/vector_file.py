"""The file format of a vector: a text header, an empty line, then the vault's files with their bytes.

Each file stands behind a line `--- PATH LENGTH`: exactly LENGTH bytes and a newline. A symbolic link stands behind a line
`--> PATH LENGTH` in the same way: the bytes are its target. Whoever unpacks a vector makes the directories that the paths
name, and `records` in each `era-N` among them; directories have mode 0700, files 0600.
"""

import base64
import os
import re
from dataclasses import dataclass


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

    def encode(self):
        lines = [f"expect: {self.expect}", "item: " + "|".join(self.item)]
        if self.secret is not None:
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
        if self.carried is not None:
            lines.append(("carried-base64: " + base64.b64encode(self.carried).decode("ascii")).rstrip())
        if self.passphrase is not None:
            lines.append("passphrase-base64: " + base64.b64encode(self.passphrase).decode("ascii"))
        if self.items is not None:
            lines.append(f"items: {self.items}")
        if self.trust is not None:
            lines.append("trust-base64: " + base64.b64encode(self.trust).decode("ascii"))
        if self.machine_key is not None:
            lines.append("machine-key-base64: " + base64.b64encode(self.machine_key).decode("ascii"))
        if self.tpm is not None:
            lines.append("tpm-base64: " + base64.b64encode(self.tpm).decode("ascii"))
        if self.systemd is not None:
            lines.append("systemd-base64: " + base64.b64encode(self.systemd).decode("ascii"))
        lines.append("comment: " + self.comment)
        data = ("\n".join(lines) + "\n\n").encode("utf-8")
        for path, content in sorted(self.files.items()):
            mark = "-->" if isinstance(content, Link) else "---"
            data += f"{mark} {path} {len(content)}\n".encode("ascii") + content + b"\n"
        return data


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


def decode(name, data):
    head, rest = data.split(b"\n\n", 1)
    words = dict(line.split(":", 1) for line in head.decode("utf-8").split("\n"))
    words = {key: value.strip() for key, value in words.items()}

    def decoded(key):
        return base64.b64decode(words[key], validate=True) if key in words else None

    also = sealed = None
    if "also" in words:
        names, encoded = words["also"].rsplit(" ", 1)
        also = (*names.split("|"), base64.b64decode(encoded, validate=True))
    if "sealed" in words:
        level, flags, *encoded = words["sealed"].split(" ")
        sealed = (int(level), int(flags), base64.b64decode("".join(encoded), validate=True))
    return Vector(
        name,
        words["expect"],
        words["comment"],
        tuple(words["item"].split("|")),
        decode_files(name, rest),
        decoded("secret-base64"),
        also,
        decoded("password-base64"),
        words["code"].encode("ascii") if "code" in words else None,
        sealed,
        decode_note(words["note"]) if "note" in words else None,
        decoded("carried-base64"),
        decoded("passphrase-base64"),
        int(words["items"]) if "items" in words else None,
        decoded("trust-base64"),
        decoded("machine-key-base64"),
        decoded("tpm-base64"),
        decoded("systemd-base64"),
    )


def decode_files(name, rest):
    files = {}
    while rest:
        line, rest = rest.split(b"\n", 1)
        mark, path, length = line.decode("ascii").split(" ")
        if mark not in ("---", "-->") or rest[int(length) : int(length) + 1] != b"\n":
            raise ValueError(f"{name}: bad file line {line!r}")
        files[path] = (Link if mark == "-->" else bytes)(rest[: int(length)])
        rest = rest[int(length) + 1 :]
    return files


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

