"""Changes what TOKENKEEP_KEYS_FD names, then runs a program: inherited_keys.py CHANGE PROGRAM [ARGUMENT...]"""

import fcntl
import os
import sys

ALL_SEALS = fcntl.F_SEAL_SEAL | fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_WRITE
NAME = "TOKENKEEP_KEYS_FD"
NOBODY = 65534


def memory_file(content, seals=ALL_SEALS):
    """The descriptor of a new memory file that programs inherit."""
    descriptor = os.memfd_create("test", os.MFD_ALLOW_SEALING)
    os.write(descriptor, content)
    fcntl.fcntl(descriptor, fcntl.F_ADD_SEALS, seals)
    return descriptor


def regular_file(content):
    path = os.environ["WORK"] + "/tmp/keys"
    with open(path, "wb") as file:
        file.write(content)
    return os.open(path, os.O_RDONLY)


def pipe(content):
    reader, writer = os.pipe()
    os.write(writer, content)
    return reader


def of_another_user(content):
    """A memory file that another user made."""
    os.seteuid(NOBODY)
    descriptor = memory_file(content)
    os.seteuid(0)
    return descriptor


def main():
    change, program = sys.argv[1], sys.argv[2:]
    inherited = int(os.environ[NAME])
    content = os.pread(inherited, 1 << 16, 0)
    flipped = bytearray(content)
    for index in range(12, len(flipped), 7):
        flipped[index] ^= 0xFF
    make = {
        "none": lambda: inherited,
        "closed": lambda: os.close(inherited) or inherited,
        "unsealed": lambda: memory_file(content, fcntl.F_SEAL_WRITE),
        "file": lambda: regular_file(content),
        "pipe": lambda: pipe(content),
        "cut": lambda: memory_file(content[:-1]),
        "empty": lambda: memory_file(b""),
        "longer": lambda: memory_file(content + b"\0"),
        "magic": lambda: memory_file(b"X" + content[1:]),
        "version": lambda: memory_file(content[:8] + b"\2\0" + content[10:]),
        "count": lambda: memory_file(content[:10] + b"\xff\xff" + content[12:]),
        "bits": lambda: memory_file(bytes(flipped)),
        "other-number": lambda: 1,
        "words": lambda: "100 and more",
        "negative": lambda: -1,
        "other-user": lambda: of_another_user(content),
        "raised": lambda: inherited,
    }
    descriptor = make[change]()
    if isinstance(descriptor, int) and descriptor > 2 and change != "closed":
        os.set_inheritable(descriptor, True)
    os.environ[NAME] = str(descriptor)
    if change == "raised":
        os.setresuid(NOBODY, 0, 0)
    os.execv(program[0], program)


main()
