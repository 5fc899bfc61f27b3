"""Who waits for a lock of a file, as the kernel lists it: "1: -> OFDLCK ADVISORY WRITE -1 00:2a:1234 0 EOF".

Usage: locks.py FILE      prints the file's word in that list
"""
import os
import sys


def word(path):
    """MAJOR:MINOR:INODE. The numbers are the file system's: what stat(2) says of a file's device may be another's."""
    descriptor = os.open(path, os.O_PATH)
    try:
        with open(f"/proc/self/fdinfo/{descriptor}", encoding="ascii") as file:
            mount = next(line.split()[1] for line in file if line.startswith("mnt_id:"))
        with open("/proc/self/mountinfo", encoding="utf-8") as mounts:
            device = next(fields[2] for fields in map(str.split, mounts) if fields[0] == mount)
        return ":".join([*(f"{int(number):02x}" for number in device.split(":")), str(os.fstat(descriptor).st_ino)])
    finally:
        os.close(descriptor)


def waiters(path):
    """How many wait. The process is -1 for every lock of an open file description, so the file has to tell them apart."""
    wanted = word(path)
    with open("/proc/locks", encoding="ascii") as locks:
        return sum(fields[1] == "->" and fields[6] == wanted for fields in map(str.split, locks))


if __name__ == "__main__":
    print(word(sys.argv[1]))
