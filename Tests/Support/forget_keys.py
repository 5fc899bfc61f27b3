#!/usr/bin/python3
"""Takes what the kernel still holds of vaults that tests have removed out of the user's keyring, and for root out of the
keyrings of all users, as whom tests run programs.

Usage: forget_keys.py [--quiet] [--before-tests]

A vault's trust key (docs/format.md, "While the vault is unlocked") stays until the machine is started anew, so that an older
copy of the vault is refused. Tests make thousands of vaults: a look through root's keys then takes seconds for a traced
program, and another user's 200 keys are used up.

A vault keeps its keys if the directory of its test is there (a test may have moved the vault away for a moment), and if it
never was in a temporary directory. A vault that has no trust key tells no path. Before tests, while no test runs, such a vault
keeps its keys if it is found in a temporary directory or in a home.
"""
import ctypes
import glob
import os
import platform
import pwd
import struct
import sys
import tempfile

KEYCTL = {"x86_64": 250, "aarch64": 219}
DESCRIBE, UNLINK, READ = 6, 9, 11
USER_KEYRING = -4
ENTRY = 80
PREFIXES = (b"tokenkeep", b"tokenkeep-stash")
PLACES = tuple({"/tmp/", "/var/tmp/", "/dev/shm/", os.path.join(tempfile.gettempdir(), "")})
VAULTS = ("~/.local/share/tokenkeep", "$XDG_DATA_HOME/tokenkeep", "$TOKENKEEP_VAULT")
libc = ctypes.CDLL(None, use_errno=True)


class Keyring:
    """The keyring of the process's real user, who alone may look at its keys. Files are looked at as the effective user."""

    def __init__(self):
        self.user, self.effective = os.getuid(), os.geteuid()

    def control(self, *arguments):
        number = KEYCTL.get(platform.machine())
        if number is None:
            return -1
        libc.setfsuid(self.user)
        result = libc.syscall(
            ctypes.c_long(number), *(ctypes.c_long(a) if isinstance(a, int) else a for a in arguments))
        libc.setfsuid(self.effective)
        return result

    def bytes(self, command, key):
        size = self.control(command, key, None, 0)
        buffer = ctypes.create_string_buffer(max(size, 0) + 1)
        return buffer.raw[:size] if size > 0 and self.control(command, key, buffer, size) == size else b""

    def vaults(self):
        """The keys of each vault's id, with what each is for."""
        found = {}
        for (key,) in struct.iter_unpack("<i", self.bytes(READ, USER_KEYRING)):
            words = self.bytes(DESCRIBE, key).rstrip(b"\0").rsplit(b";", 1)[-1].split(b":")
            if len(words) > 2 and words[0] in PREFIXES:
                found.setdefault(words[1], {})[key] = words[2]
        return found

    def paths(self, keys):
        """Where the vault was unlocked: behind the verified headers and the mount namespace."""
        payloads = [self.bytes(READ, key) for key, purpose in keys.items() if purpose == b"trust"]
        return [payload[1 + payload[0] * ENTRY + 8:].decode(errors="replace") for payload in payloads if payload]

    def forget(self, known):
        """known: the ids of the vaults that are found, or None where a vault without a path keeps its keys."""
        forgotten = 0
        for name, keys in self.vaults().items():
            paths = self.paths(keys)
            if any(map(is_gone, paths)) if paths else known is not None and name not in known:
                forgotten += sum(self.control(UNLINK, key, USER_KEYRING) == 0 for key in keys)
        return forgotten


def is_gone(path):
    """Whether the directory that a test made is gone: the first of the project's name, or else the first temporary one."""
    place = max((place for place in PLACES if path.startswith(place)), key=len, default=None)
    if place is None:
        return False
    names = path[len(place):].split("/")
    named = next((index for index, name in enumerate(names) if "tokenkeep" in name.lower()), 0)
    return not os.path.lexists(place + "/".join(names[:named + 1]))


def known_vaults():
    """The ids of all vaults in temporary directories and in homes."""
    homes = {user.pw_dir for user in pwd.getpwall()}
    own = {os.path.expandvars(vault) for vault in VAULTS} | {vault.replace("~", home) for vault in VAULTS for home in homes}
    keyfiles = [name for vault in own for name in glob.glob(glob.escape(vault) + "/*/keyfile")]
    for place in PLACES:
        for directory, _, names in os.walk(place):
            keyfiles += [os.path.join(directory, name) for name in names if name == "keyfile"]
    ids = set()
    for name in keyfiles:
        try:
            with open(name, "rb") as keyfile:
                ids.add(keyfile.read(32)[16:].hex().encode())
        except OSError:
            pass
    return ids


def for_user(user, known):
    """The same in a process whose real user is this one."""
    child = os.fork()
    if child == 0:
        try:
            os.setresuid(user, 0, 0)
            Keyring().forget(known)
        finally:
            os._exit(0)
    os.waitpid(child, 0)


def main():
    known = known_vaults() if "--before-tests" in sys.argv else None
    forgotten = Keyring().forget(known)
    if "--quiet" not in sys.argv:
        print(f"{forgotten} keys of removed vaults")
    if os.getresuid() != (0, 0, 0):
        return
    with open("/proc/key-users", encoding="ascii") as table:
        users = [int(line.split(":")[0]) for line in table]
    for user in users:
        if user != 0:
            for_user(user, known)


if __name__ == "__main__":
    main()
