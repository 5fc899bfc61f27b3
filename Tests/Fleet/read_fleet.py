#!/usr/bin/python3
"""A second reader of the registry, written from docs/fleet.md.

Usage: read_fleet.py --write      writes fleet.vectors anew
"""
import base64
import hashlib
import json
import os
import struct
import sys

from nacl.bindings import (
    crypto_aead_xchacha20poly1305_ietf_decrypt, crypto_aead_xchacha20poly1305_ietf_encrypt)
from nacl.bindings import crypto_pwhash_ALG_ARGON2ID13, crypto_pwhash_alg

VECTORS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "fleet.vectors")
CONSONANTS, VOWELS = "bdfghjklmnprstvz", "aiou"
START = "tokenkeep-fleet-1."


def keyed(key, size, *parts):
    text = b""
    for part in ("tokenkeep fleet 1", *parts):
        part = part.encode() if isinstance(part, str) else part
        text += struct.pack("<I", len(part)) + part
    return hashlib.blake2b(text, digest_size=size, key=key).digest()


def user_key(fleet_key, name):
    return keyed(fleet_key, 32, "user", name)


def identify(key, *parts):
    return keyed(key, 16, *parts).hex()


def open_value(value, key, path):
    """The members of a value; an exception if it was forged or moved."""
    if value[:1] != b"\x01":
        raise ValueError("another version")
    data = b"tokenkeep fleet 1\0" + path.encode()
    return json.loads(crypto_aead_xchacha20poly1305_ietf_decrypt(value[25:], data, value[1:25], key))


def seal_value(members, key, path, nonce):
    data = b"tokenkeep fleet 1\0" + path.encode()
    text = json.dumps(members, separators=(",", ":"), sort_keys=True).encode()
    return b"\x01" + nonce + crypto_aead_xchacha20poly1305_ietf_encrypt(text, data, nonce, key)


def words_of(random):
    words = []
    for (bits,) in struct.iter_unpack(">H", random):
        words.append("".join([
            CONSONANTS[bits >> 12], VOWELS[bits >> 10 & 3], CONSONANTS[bits >> 6 & 15], VOWELS[bits >> 4 & 3],
            CONSONANTS[bits & 15]]))
    return " ".join(words)


def code_key(words, passes, memory, salt):
    return crypto_pwhash_alg(64, words.encode(), salt, passes, memory * 1024, crypto_pwhash_ALG_ARGON2ID13)[:32]


def open_code(code, words):
    text = code.removeprefix(START)
    content = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
    assert hashlib.blake2b(content[:-16], digest_size=16).digest() == content[-16:], "damaged"
    passes, memory = struct.unpack("<II", content[:8])
    salt, nonce, box = content[8:24], content[24:48], content[48:-16]
    key = code_key(words, passes, memory, salt)
    return json.loads(crypto_aead_xchacha20poly1305_ietf_decrypt(box, b"tokenkeep fleet 1 join", nonce, key))


def seal_code(invitation, words, salt, nonce, passes=1, memory=8192):
    text = json.dumps(invitation).encode()
    key = code_key(words, passes, memory, salt)
    content = struct.pack("<II", passes, memory) + salt + nonce
    content += crypto_aead_xchacha20poly1305_ietf_encrypt(text, b"tokenkeep fleet 1 join", nonce, key)
    content += hashlib.blake2b(content, digest_size=16).digest()
    return START + base64.urlsafe_b64encode(content).decode().rstrip("=")


def vectors():
    fleet_key, nonce = bytes(range(32)), bytes(range(100, 124))
    key = user_key(fleet_key, "ann")
    user = identify(fleet_key, "user id", "ann")
    session = identify(key, "session id", "api.example.com", "ann", "00ff" * 8, "7")
    device = "0123456789abcdef"
    order = identify(key, "order id", device, session)
    path = f"/tokenkeep/home/1/users/{user}/orders/{device}/{order}"
    members = {"what": "sign-out", "session": session, "service": "api.example.com", "account": "ann", "from": device,
               "reason": "lost", "at": 1764201600, "event_at": 1764201600}
    words = words_of(bytes(range(16)))
    invitation = {"endpoints": ["https://etcd.example.com:2379"], "ends_at": 4102444800, "fleet": "home", "person": "ann",
                  "presence": 900, "user_id": user, "user_key": key.hex(), "user": "tokenkeep-ann", "password": "p\u00e4ss"}
    return {
        "fleet_key": fleet_key.hex(), "person": "ann", "user_id": user, "user_key": key.hex(),
        "administration_key": keyed(fleet_key, 32, "administration").hex(),
        "account_id": identify(key, "account id", "api.example.com", "ann"), "session_id": session, "order_id": order,
        "subject": identify(key, "subject", "https://id.example.com", "248"), "email": identify(key, "email", "ann@example.com"),
        "path": path, "value": base64.b64encode(seal_value(members, key, path, nonce)).decode(),
        "words": words, "code": seal_code(invitation, words, bytes(16), nonce)}


if __name__ == "__main__":
    if sys.argv[1:] != ["--write"]:
        sys.exit(__doc__)
    with open(VECTORS, "w", encoding="utf-8") as file:
        json.dump(vectors(), file, indent=1)
        file.write("\n")
