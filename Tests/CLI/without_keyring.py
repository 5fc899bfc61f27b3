"""Runs a program whose kernel has no keyrings, or forbids them: without_keyring.py ERRNO PROGRAM [ARGUMENT...]"""

import ctypes
import errno
import os
import struct
import sys

ADD_KEY, KEYCTL = 248, 250  # x86-64
LOAD, JUMP_EQUAL, RETURN = 0x20, 0x15, 0x06
ALLOW, FAIL = 0x7FFF0000, 0x00050000
PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP, FILTER = 38, 22, 2


def main():
    number = getattr(errno, sys.argv[1])
    program = [
        (LOAD, 0, 0, 0),
        (JUMP_EQUAL, 2, 0, ADD_KEY),
        (JUMP_EQUAL, 1, 0, KEYCTL),
        (RETURN, 0, 0, ALLOW),
        (RETURN, 0, 0, FAIL | number),
    ]
    code = ctypes.create_string_buffer(b"".join(struct.pack("<HBBI", *step) for step in program))
    head = ctypes.create_string_buffer(struct.pack("<HxxxxxxQ", len(program), ctypes.addressof(code)))
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) or libc.prctl(PR_SET_SECCOMP, FILTER, head, 0, 0):
        sys.exit(f"without_keyring.py: {os.strerror(ctypes.get_errno())}")
    os.execv(sys.argv[2], sys.argv[2:])


main()
