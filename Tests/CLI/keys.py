"""Plays with the kernel's keyrings of the user: keys.py VERB [ARGUMENT...]

read-as UID           tries to read every key of TokenKeep's as another user who inherits all keyrings
new-session COMMAND   runs a command in a session keyring of its own
no-session COMMAND    runs a command in a session keyring that the user's is not linked into
fill COMMAND          runs a command while the user has as many keys as he may
"""

import ctypes
import os
import struct
import sys

ADD_KEY, KEYCTL = 248, 250  # x86-64
JOIN_SESSION, READ, UNLINK, DESCRIBE, REVOKE = 1, 11, 9, 6, 3
THREAD, PROCESS, SESSION, USER = -1, -2, -3, -4
libc = ctypes.CDLL(None, use_errno=True)


def control(*arguments):
    return libc.syscall(ctypes.c_long(KEYCTL), *(ctypes.c_long(a) if isinstance(a, int) else a for a in arguments))


def add(description, keyring):
    return libc.syscall(
        ctypes.c_long(ADD_KEY), b"user", description, b"x", ctypes.c_size_t(1), ctypes.c_long(keyring))


def keys():
    buffer = ctypes.create_string_buffer(4 * 4096)
    size = control(READ, USER, buffer, len(buffer))
    for (key,) in struct.iter_unpack("<i", buffer.raw[:size]):
        text = ctypes.create_string_buffer(512)
        if control(DESCRIBE, key, text, len(text)) > 0 and b";tokenkeep:" in text.value:
            yield key


def read_as(uid):
    found = list(keys())
    os.setresgid(uid, uid, uid)
    os.setgroups([]) if os.getuid() == 0 else None
    os.setresuid(uid, uid, uid)
    buffer = ctypes.create_string_buffer(64)
    read = sum(control(READ, key, buffer, len(buffer)) >= 0 for key in found)
    print(f"keys there: {'some' if found else 'none'}, read by the other user: {read}")


def fill(command):
    # This process's keyring goes with it, so the command runs below it.
    made = 0
    while made < 1000 and add(b"filler %d" % made, PROCESS) >= 0:
        made += 1
    print("the quota is", "full" if made < 1000 else "not reached", flush=True)
    child = os.fork()
    if child == 0:
        os.execvp(command[0], command)
    sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))


verb, rest = sys.argv[1], sys.argv[2:]
if verb == "read-as":
    read_as(int(rest[0]))
elif verb == "fill":
    fill(rest)
else:
    control(JOIN_SESSION, None if verb == "new-session" else b"tokenkeep-test")
    os.execv(rest[0], rest)
