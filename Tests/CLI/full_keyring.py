"""Runs a command as a user whose quota of the kernel's keys is used up but for some. Usage: full_keyring.py UID FREE COMMAND..."""
import ctypes
import os
import subprocess
import sys

ADD_KEY = 248  # x86_64
USER_KEYRING = ctypes.c_long(-4)


def used_and_limit(user):
    with open("/proc/key-users", encoding="ascii") as table:
        for line in table:
            words = line.split()
            if words[0] == f"{user}:":
                return [int(number) for number in words[3].split("/")]
    return [0, 1]


user, free = int(sys.argv[1]), int(sys.argv[2])
os.setgroups([])
os.setresgid(user, user, user)
os.setresuid(user, user, user)
libc = ctypes.CDLL(None, use_errno=True)
number = 0
while True:
    used, limit = used_and_limit(user)
    if used >= limit - free > 0:
        break
    number += 1
    description = b"tokenkeep-test:%d" % number
    if libc.syscall(ADD_KEY, b"user", description, b"x", ctypes.c_long(1), USER_KEYRING) < 0:
        sys.exit(os.strerror(ctypes.get_errno()))
sys.exit(subprocess.run(sys.argv[3:]).returncode)
