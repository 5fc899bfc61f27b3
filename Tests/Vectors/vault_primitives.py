"""The primitives and layout words of docs/format.md: hash, subkey, box, text, fields, a checked cursor, typed errors."""

import hashlib
import struct

import nacl.bindings
import nacl.exceptions

NONCE_SIZE = nacl.bindings.crypto_aead_xchacha20poly1305_ietf_NPUBBYTES
BOX_OVERHEAD = NONCE_SIZE + nacl.bindings.crypto_aead_xchacha20poly1305_ietf_ABYTES
FIRST_OPTIONAL_TAG = 0x8000
PASSES_TIMES_MEMORY_MAXIMUM = 2097152


class VaultError(Exception):
    """What failed and where; `status` is the word of the C API."""

    status = "CORRUPT"

    def __init__(self, where, reason):
        super().__init__(f"{self.status}: {where}: {reason}")


class Corrupt(VaultError):
    """Fails authentication or parsing."""


class Unsupported(VaultError):
    """A file of a version that is not known here."""

    status = "UNSUPPORTED"


class NotFound(VaultError):
    """No such vault, or no such item in it."""

    status = "NOT_FOUND"


class Denied(VaultError):
    """The password, or the recovery code, opens no slot."""

    status = "DENIED"


class Locked(VaultError):
    """The key is in the header, but in no slot that was opened."""

    status = "LOCKED"


def hash_bytes(size, key, data):
    return hashlib.blake2b(data, digest_size=size, key=key or b"").digest()


def subkey(key, number, context):
    salt = struct.pack("<Q", number) + bytes(8)
    return hashlib.blake2b(b"", digest_size=32, key=key, salt=salt, person=context + bytes(8)).digest()


def open_box(key, data, box, where):
    if len(box) < BOX_OVERHEAD:
        raise Corrupt(where, "shorter than an empty box")
    try:
        return nacl.bindings.crypto_aead_xchacha20poly1305_ietf_decrypt(box[NONCE_SIZE:], data, box[:NONCE_SIZE], key)
    except nacl.exceptions.CryptoError:
        raise Corrupt(where, "does not authenticate") from None


def seal_box(key, data, plaintext, nonce):
    return nonce + nacl.bindings.crypto_aead_xchacha20poly1305_ietf_encrypt(plaintext, data, nonce, key)


def argon2id(password, salt, passes, memory_kib):
    """64 bytes: a key-encryption key and a commitment to it."""
    algorithm = nacl.bindings.crypto_pwhash_ALG_ARGON2ID13
    return nacl.bindings.crypto_pwhash_alg(64, password, salt, passes, memory_kib * 1024, algorithm)


def parse_costs(cursor, derivation):
    """Passes, memory in KiB and salt, as they stand behind the number of a derivation: 0 subkey, 1 Argon2id."""
    passes = cursor.integer(4, derivation, 16 * derivation)
    memory_kib = cursor.integer(4, 8 * derivation, 1048576 * derivation)
    if passes * memory_kib > PASSES_TIMES_MEMORY_MAXIMUM:
        raise Corrupt(cursor.where, f"{passes} passes over {memory_kib} KiB cost too much")
    salt = cursor.take(16)
    if derivation == 0 and any(salt):
        raise Corrupt(cursor.where, "a salt without Argon2id")
    return passes, memory_kib, salt


def length_prefixed(parts):
    return b"".join(struct.pack("<I", len(part)) + part for part in parts)


def decode_text(data, low, high, where):
    if not low <= len(data) <= high:
        raise Corrupt(where, f"{len(data)} bytes, allowed are {low} to {high}")
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        raise Corrupt(where, "not UTF-8") from None
    if any(ord(c) < 0x20 or 0x7F <= ord(c) <= 0x9F for c in text):
        raise Corrupt(where, "holds a control character")
    return text


def decode_word(data, where):
    """A name of `[a-z0-9._-]`, 1 to 64 bytes."""
    if not 1 <= len(data) <= 64 or any(c not in b"abcdefghijklmnopqrstuvwxyz0123456789._-" for c in data):
        raise Corrupt(where, "not a name of 1 to 64 bytes of a-z 0-9 . _ -")
    return data.decode("ascii")


class Cursor:
    """Reads forward through bytes; every length is checked against what is left."""

    def __init__(self, data, where):
        self.data, self.where, self.offset = data, where, 0

    def left(self):
        return len(self.data) - self.offset

    def take(self, size):
        if size > self.left():
            raise Corrupt(self.where, f"{size} bytes wanted at offset {self.offset}, {self.left()} are left")
        self.offset += size
        return self.data[self.offset - size : self.offset]

    def integer(self, size, low=0, high=None):
        value = int.from_bytes(self.take(size), "little")
        if value < low or (high is not None and value > high):
            raise Corrupt(self.where, f"{value} at offset {self.offset - size} is outside its range")
        return value

    def time(self):
        return int.from_bytes(self.take(8), "little", signed=True)

    def zero(self, size):
        if any(self.take(size)):
            raise Corrupt(self.where, f"reserved bytes before offset {self.offset} are not zero")

    def magic_and_version(self, magic):
        if self.take(8) != magic:
            raise Corrupt(self.where, "does not begin with " + magic.decode())
        version = self.integer(2, 1)
        if version != 1:
            raise Unsupported(self.where, f"version {version}")

    def end(self):
        if self.left():
            raise Corrupt(self.where, f"{self.left()} bytes behind the end")


def parse_fields(data, repeating, known, where):
    """The fields as {tag: [values]}. `repeating` maps a tag to how often it may stand."""
    cursor, fields, previous = Cursor(data, where), {}, -1
    while cursor.left():
        tag = cursor.integer(2)
        value = cursor.take(cursor.integer(4))
        if tag < previous:
            raise Corrupt(where, f"field {tag} stands behind field {previous}")
        if tag not in known and tag < FIRST_OPTIONAL_TAG:
            raise Corrupt(where, f"unknown field {tag}")
        fields.setdefault(tag, []).append(value)
        if len(fields[tag]) > repeating.get(tag, 1):
            raise Corrupt(where, f"field {tag} stands too often")
        previous = tag
    return fields


def field_integer(fields, tag, size, where, required=True, signed=False):
    if tag not in fields:
        if required:
            raise Corrupt(where, f"field {tag} is missing")
        return None
    value = fields[tag][0]
    if len(value) != size:
        raise Corrupt(where, f"field {tag} has {len(value)} bytes instead of {size}")
    return int.from_bytes(value, "little", signed=signed)
