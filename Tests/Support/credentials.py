#!/usr/bin/env python3
"""io.systemd.Credentials in the place of systemd's.

Usage: credentials.py SOCKET KEYS MODE

KEYS is the folder of a machine's keys: what was encrypted there is decrypted there, for the same uid. MODE is a file with
the word for the next calls' replies, read at each call. Each call adds a line to KEYS/calls, and a reply that is too long
adds the number of bytes that the client took to KEYS/taken. The socket appears once it listens.
"""
import base64
import json
import os
import secrets
import socket
import struct
import sys
import threading

HOST_AND_TPM2 = bytes.fromhex("ef4ac13679a9480ea7db68897f9f165d")
HOST_AND_TPM2_WITH_PUBLIC_KEY = bytes.fromhex("adbc4ca3efb64201ba881b6f2e4095ea")
HOST = bytes.fromhex("55b9ed1d38594d43a8319d2ebb332ac6")
NULL = bytes.fromhex("058469daf6f54324800549da0f8ea2fb")
TYPES = {"host": HOST, "null": NULL, "unknown-type": bytes(16), "public-key": HOST_AND_TPM2_WITH_PUBLIC_KEY}
INTERFACE = "io.systemd.Credentials."


class Refusal(Exception):
    """The name of a varlink error."""


class Machine:
    """The keys of a machine: here the secrets themselves, in files named like the ends of their credentials."""

    def __init__(self, folder):
        self.folder = folder

    def note(self, file, line):
        with open(os.path.join(self.folder, file), "a", encoding="ascii") as out:
            out.write(line + "\n")

    def encrypt(self, uid, parameters, kind, registers):
        if set(parameters) != {"name", "scope", "data"} or parameters["scope"] != "user":
            raise Refusal("org.varlink.service.InvalidParameter")
        number = secrets.token_bytes(16)
        head = kind + struct.pack("<4I12s4xQ", 32, 1, 12, 16, secrets.token_bytes(12), registers)
        entry = {"uid": uid, "name": parameters["name"], "data": parameters["data"]}
        path = os.path.join(self.folder, number.hex())
        with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="ascii") as file:
            json.dump(entry, file)
        return {"blob": base64.b64encode(head + secrets.token_bytes(180) + number).decode()}

    def decrypt(self, uid, parameters):
        if set(parameters) != {"name", "scope", "blob"} or parameters["scope"] != "user":
            raise Refusal("org.varlink.service.InvalidParameter")
        blob = base64.b64decode(parameters["blob"], validate=True)
        try:
            with open(os.path.join(self.folder, blob[-16:].hex()), encoding="ascii") as file:
                entry = json.load(file)
        except FileNotFoundError:
            # The key of another TPM fails before that of another host.
            raise Refusal(INTERFACE + "KeyBelongsToOtherTPM") from None
        if entry["uid"] != uid:
            raise Refusal(INTERFACE + "BadFormat")
        if entry["name"] != parameters["name"]:
            raise Refusal(INTERFACE + "NameMismatch")
        return {"data": entry["data"]}

    def call(self, uid, message, mode):
        method = message["method"].removeprefix(INTERFACE)
        self.note("calls", f"{method} {uid}")
        if method == "Encrypt":
            return self.encrypt(uid, message["parameters"], TYPES.get(mode, HOST_AND_TPM2), 1 << 7 if mode == "pcr-7" else 0)
        if method == "Decrypt":
            return self.decrypt(uid, message["parameters"])
        raise Refusal("org.varlink.service.MethodNotFound")


def message(value):
    return json.dumps(value).encode() + b"\0"


def text(value):
    return base64.b64encode(value).decode()


# Replies that are wrong whatever the call is. A member that another method has is passed over.
WRONG = {
    "garbage": b"\xff\xfe{]\0",
    "empty": b"\0",
    "array": b"[]\0",
    "no-parameters": message({}),
    "other-member": message({"parameters": {"text": "a"}}),
    "number": message({"parameters": {"blob": 5, "data": 5}}),
    "array-member": message({"parameters": {"blob": ["a"], "data": ["a"]}}),
    "parameters-text": message({"parameters": "a"}),
    "twice": b'{"parameters":{"blob":"YQ==","blob":"YQ==","data":"YQ==","data":"YQ=="}}\0',
    "two-objects": b'{"parameters":{"data":"YQ==","blob":"YQ=="}} {}\0',
    "deep": b'{"parameters":' + b"[" * 4000 + b"\0",
    "error-number": message({"error": 5}),
    "error-null": message({"error": None}),
    "error-escape": message({"error": "io.systemd.\x1b[31mRed"}),
    "error-long": message({"error": "a" * 200}),
    "base64": message({"parameters": {"blob": text(HOST_AND_TPM2 + bytes(200))[:-1], "data": text(bytes(32))[:-1]}}),
    "base64-lines": message({"parameters": {"blob": text(HOST_AND_TPM2) + "\n", "data": text(bytes(32)) + "\n"}}),
    "base64-url": message({"parameters": {"blob": "__--", "data": "_" * 42 + "8="}}),
    "short": message({"parameters": {"blob": "", "data": text(bytes(31))}}),
    "long": message({"parameters": {"blob": text(HOST_AND_TPM2 + bytes(2033)), "data": text(bytes(33))}}),
    "another": message({"parameters": {"blob": text(HOST_AND_TPM2 + bytes(200)), "data": text(bytes(32))}}),
}


def serve(connection, machine, mode_file):
    with connection:
        uid = struct.unpack("3i", connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))[1]
        received = b""
        while not received.endswith(b"\0"):
            part = connection.recv(65536)
            if not part:
                machine.note("calls", f"nothing {len(received)}")
                return
            received += part
        with open(mode_file, encoding="ascii") as file:
            mode = file.read().strip()
        reply(connection, json.loads(received[:-1]), uid, machine, mode)


def reply(connection, call, uid, machine, mode):
    if mode == "silence":
        connection.recv(1)
    elif mode == "huge":
        taken, chunk = 0, b'{"parameters":{"blob":"' + b"A" * 65536
        try:
            while taken < 100_000_000:
                taken += connection.send(chunk)
        except OSError:
            pass
        machine.note("taken", str(taken))
    elif mode == "drip":
        gate = threading.Event()
        try:
            while not gate.wait(0.05):
                connection.send(b" ")
        except OSError:
            pass
    elif mode == "cut":
        connection.sendall(b'{"parameters":{"blob":"AAAA')
    elif mode in WRONG:
        connection.sendall(WRONG[mode])
    elif mode.startswith("errno "):
        connection.sendall(message({"error": "io.systemd.System", "parameters": {"errno": int(mode[6:])}}))
    elif mode.startswith("error "):
        connection.sendall(message({"error": mode[6:], "parameters": {}}))
    else:
        try:
            connection.sendall(message({"parameters": machine.call(uid, call, mode)}))
        except Refusal as refusal:
            connection.sendall(message({"error": str(refusal), "parameters": {}}))


def main():
    path, folder, mode_file = sys.argv[1:]
    os.makedirs(folder, exist_ok=True)
    machine = Machine(folder)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(path + ".new")
        os.chmod(path + ".new", 0o666)
        listener.listen(64)
        os.rename(path + ".new", path)
        print("ready", flush=True)
        while True:
            threading.Thread(target=serve, args=(listener.accept()[0], machine, mode_file), daemon=True).start()


if __name__ == "__main__":
    main()
