#!/usr/bin/env python3
"""Writes a valid request of each kind into a directory. Usage: seeds.py DIRECTORY"""
import os
import sys

from world import ANCHOR, DEVICE_BYTES, Caller, Key, Reply


class Writer(Caller):
    """Writes requests in the place of sending them."""

    name = b"\x00\x0b" + bytes(range(32))

    def __init__(self, directory):
        self.directory = directory
        os.makedirs(directory, exist_ok=True)

    def ask(self, message):
        with open(os.path.join(self.directory, f"{message[4]}-{len(message)}"), "wb") as file:
            file.write(message)
        return Reply(b"TKT1" + bytes(9))


writer, key = Writer(sys.argv[1]), Key()
writer.info()
writer.info(writer.name)
writer.list()
writer.seal(key)
writer.unseal(key, bytes(240))
writer.make(key)
writer.make(key, ANCHOR, bytes(96))
for kind in (DEVICE_BYTES, ANCHOR):
    writer.read(key, 0x01800000, kind)
    writer.destroy(key, 0x01800000, kind)
writer.write(key, 0x01800000, bytes(96))
