"""Runs a command as a user whose quota of the kernel's keys is used up but for some. Usage: full_keyring.py FREE COMMAND...

The user's number is of a range that no other test takes, nor systemd; its keys are gone at the end.
"""
import ctypes
import os
import platform
import pwd
import subprocess
import sys

ADD_KEY, KEYCTL = {"x86_64": (248, 250), "aarch64": (217, 219)}[platform.machine()]
USER_KEYRING, CLEAR, READ = ctypes.c_long(-4), ctypes.c_long(7), ctypes.c_long(11)
libc = ctypes.CDLL(None, use_errno=True)


def users_with_keys():
    """The number of each user who has keys or processes, and the used keys and the limit of each."""
    with open("/proc/key-users", encoding="ascii") as table:
        rows = [line.split() for line in table]
    return {int(row[0].rstrip(":")): [int(number) for number in row[3].split("/")] for row in rows}


def is_unused(user):
    try:
        pwd.getpwuid(user)
    except KeyError:
        return user not in users_with_keys()
    return False


def become(user):
    os.setgroups([])
    os.setresgid(user, user, user)
    os.setresuid(user, user, user)


def fill(user, free):
    number = 0
    while True:
        used, limit = users_with_keys().get(user, [0, 1])
        if used >= limit - free > 0:
            return
        number += 1
        if libc.syscall(ctypes.c_long(ADD_KEY), b"user", b"tokenkeep-test:%d" % number, b"x", ctypes.c_long(1), USER_KEYRING) < 0:
            sys.exit(os.strerror(ctypes.get_errno()))


def empty():
    """Clears the user's keyring. The kernel frees the keys soon after."""
    libc.syscall(ctypes.c_long(KEYCTL), CLEAR, USER_KEYRING)
    if libc.syscall(ctypes.c_long(KEYCTL), READ, USER_KEYRING, None, ctypes.c_long(0)) != 0:
        sys.exit("the test's user keeps keys")


START = 40000 + os.getpid() % 4500 * 2
USER = next(user for user in range(START, 50000) if is_unused(user))
become(USER)
try:
    fill(USER, int(sys.argv[1]))
    code = subprocess.run(sys.argv[2:], check=False).returncode
finally:
    empty()
sys.exit(code)
