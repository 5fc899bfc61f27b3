"""Plays with the kernel's keyrings of the user: keys.py VERB [ARGUMENT...]

plant-as UID VAULT    puts keys of the same descriptions in place of this vault's, as another user who inherits a session
                      keyring that the user's is linked into
count VAULT           says whether keys of this vault are there that open anything
forget VAULT          takes every key of this vault out of the keyring, as a start of the machine does
read-as UID VAULT     tries to find and to read every key of this vault as another user, who inherits a session keyring that
                      the user's is linked into, as a login leaves it
read-from OWNER UID VAULT
                      the same with the keys of another owner, started by root
end-key VAULT CLASS HOW
                      revokes, invalidates, unlinks or expires the key of one class
new-session COMMAND   runs a command in a session keyring of its own
no-session COMMAND    runs a command in a session keyring that the user's is not linked into
fill COMMAND          runs a command while the user has as many keys as he may
nearly-fill COMMAND   the same while he may have two more
"""

import ctypes
import os
import struct
import sys
import time

ADD_KEY, KEYCTL = 248, 250  # x86-64
GET_ID, JOIN_SESSION, REVOKE, SETPERM, DESCRIBE, LINK, UNLINK, SEARCH, READ = 0, 1, 3, 5, 6, 8, 9, 10, 11
SET_TIMEOUT, INVALIDATE = 15, 21
EVERYTHING = 0x3F3F3F3F
THREAD, PROCESS, SESSION, USER = -1, -2, -3, -4
libc = ctypes.CDLL(None, use_errno=True)


def control(*arguments):
    return libc.syscall(ctypes.c_long(KEYCTL), *(ctypes.c_long(a) if isinstance(a, int) else a for a in arguments))


def add(description, keyring, payload=b"x"):
    return libc.syscall(
        ctypes.c_long(ADD_KEY), b"user", description, payload, ctypes.c_size_t(len(payload)), ctypes.c_long(keyring))


def keys():
    size = control(READ, USER, None, 0)
    while True:
        # Others add keys meanwhile.
        buffer = ctypes.create_string_buffer(size + 4 * 64)
        size = control(READ, USER, buffer, len(buffer))
        if size <= len(buffer):
            break
    for (key,) in struct.iter_unpack("<i", buffer.raw[:size]):
        text = ctypes.create_string_buffer(512)
        if control(DESCRIBE, key, text, len(text)) > 0 and b";tokenkeep:" in text.value:
            yield key, text.value.rsplit(b";", 1)[1]


def become(uid):
    os.setresgid(uid, uid, uid)
    os.setgroups([]) if os.getuid() == 0 else None
    os.setresuid(uid, uid, uid)


def keys_of(vault):
    """Those of other vaults are somebody's."""
    with open(vault + "/current/keyfile", "rb") as keyfile:
        vault_id = keyfile.read()[16:32].hex().encode()
    return [(key, description) for key, description in keys() if description.startswith(b"tokenkeep:" + vault_id)]


def log_in():
    """A session keyring that the user's is linked into, as pam_keyinit makes it."""
    keyring = control(GET_ID, USER, 1)
    control(JOIN_SESSION, None)
    control(LINK, keyring, SESSION)
    return keyring


def plant_as(uid, vault):
    keyring = log_in()
    descriptions = [description for _, description in keys_of(vault)]
    become(uid)
    planted = 0
    for description in descriptions:
        key = add(description, THREAD, b"k" * 32)
        planted += control(SETPERM, key, EVERYTHING) >= 0 and control(LINK, key, keyring) >= 0
    print(f"keys there: {'some' if descriptions else 'none'}, all replaced: {planted == len(descriptions)}")


def read_as(uid, vault, owner=None):
    if owner is not None:
        # Back to root, which may become the next one; whoever runs a set-user-id program gives it his session.
        os.setresgid(owner, owner, 0)
        os.setresuid(owner, owner, 0)
    log_in()
    found = keys_of(vault)
    if owner is not None:
        os.setresuid(0, 0, 0)
    become(uid)
    buffer = ctypes.create_string_buffer(64)
    read = sum(control(READ, key, buffer, len(buffer)) >= 0 for key, _ in found)
    searched = sum(control(SEARCH, SESSION, b"user", description, 0) >= 0 for _, description in found)
    print(f"keys there: {'some' if found else 'none'}, read by the other user: {read}, found by their names: {searched}")


def end_key(vault, number, how):
    key = next(key for key, description in keys_of(vault) if description.split(b":")[2] == number.encode())
    if how == "revoke":
        done = control(REVOKE, key)
    elif how == "invalidate":
        done = control(INVALIDATE, key)
    elif how == "unlink":
        done = control(UNLINK, key, USER)
    else:
        done = control(SET_TIMEOUT, key, 1)
        buffer, deadline = ctypes.create_string_buffer(64), time.monotonic() + 300
        while done == 0 and control(READ, key, buffer, len(buffer)) >= 0 and time.monotonic() < deadline:
            pass
    print(f"{how} the key of class {number}:", "done" if done == 0 else os.strerror(ctypes.get_errno()))


def free_keys():
    with open("/proc/key-users") as users:
        for line in users:
            if line.split()[0] == f"{os.getuid()}:":
                used, most = line.split()[3].split("/")
                return int(most) - int(used)
    return 0


def fill(command, but=0):
    # This process's keyring goes with it, so the command runs below it.
    made = 0
    add(b"filler", PROCESS)
    # The kernel frees keys of ended processes later, and counts these keys until then.
    deadline = time.monotonic() + 300
    while but > 0 and free_keys() < 150 and time.monotonic() < deadline:
        pass
    while made < 1000 and (but == 0 or free_keys() > but) and add(b"filler %d" % made, PROCESS) >= 0:
        made += 1
    print("the quota is", "not reached" if made == 1000 else f"full but for {free_keys()}", flush=True)
    child = os.fork()
    if child == 0:
        os.execvp(command[0], command)
    sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))


def count(vault):
    opening = [key for key, description in keys_of(vault) if not description.endswith((b":trust", b":locked"))]
    print(f"keys of the vault: {'some' if opening else 'none'}")


def forget(vault):
    for key, _ in keys_of(vault):
        if control(UNLINK, key, USER) < 0:
            sys.exit(f"keys.py: {os.strerror(ctypes.get_errno())}")


verb, rest = sys.argv[1], sys.argv[2:]
if verb == "read-as":
    read_as(int(rest[0]), rest[1])
elif verb == "read-from":
    read_as(int(rest[1]), rest[2], owner=int(rest[0]))
elif verb == "plant-as":
    plant_as(int(rest[0]), rest[1])
elif verb == "count":
    count(rest[0])
elif verb == "forget":
    forget(rest[0])
elif verb == "end-key":
    end_key(*rest)
elif verb == "fill":
    fill(rest)
elif verb == "nearly-fill":
    fill(rest, but=2)
else:
    control(JOIN_SESSION, None if verb == "new-session" else b"tokenkeep-test")
    os.execv(rest[0], rest)
