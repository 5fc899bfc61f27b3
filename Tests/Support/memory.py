"""Directories in memory, for tests that sync thousands of files or start servers that do.

Usage: memory.py      removes the directories whose tests were killed

A process locks the directories that it makes, as TemporaryDirectory.swift does. A lock ends with its process, however that
ends: a directory that can be locked is nobody's, and the next run removes it.
"""
import contextlib
import fcntl
import glob
import os
import shutil
import tempfile

MEMORY = "/dev/shm" if os.access("/dev/shm", os.W_OK) else tempfile.gettempdir()
NAME = "tokenkeep-memory-"
locked = []


def lock(path):
    """Locks a directory until this process ends. False if another process has it, or if it is gone."""
    with contextlib.suppress(OSError):
        descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
        with contextlib.suppress(BlockingIOError):
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if os.path.exists(path):
                locked.append(descriptor)
                return True
        os.close(descriptor)
    return False


def remove_left():
    """Removes the directories of processes that are gone."""
    for path in glob.glob(f"{MEMORY}/{NAME}*"):
        if lock(path):
            shutil.rmtree(path, ignore_errors=True)
            os.close(locked.pop())


def make_directory():
    """The path of a new directory, which is this process's."""
    remove_left()
    # Another process that looks for directories of nobody may come between.
    while not lock(path := tempfile.mkdtemp(prefix=NAME, dir=MEMORY)):
        pass
    return path


@contextlib.contextmanager
def directory():
    """A directory that ends with the block."""
    path = make_directory()
    try:
        yield path
    finally:
        shutil.rmtree(path, ignore_errors=True)


if __name__ == "__main__":
    remove_left()
