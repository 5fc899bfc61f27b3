#!/usr/bin/python3
"""Exchanges the names of two files in one step, so that neither is missing for a moment. Usage: exchange.py ONE OTHER"""

import ctypes
import os
import sys

AT_FDCWD, RENAME_EXCHANGE = -100, 2


def exchange(one, other):
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.renameat2(AT_FDCWD, os.fsencode(one), AT_FDCWD, os.fsencode(other), RENAME_EXCHANGE) != 0:
        raise OSError(ctypes.get_errno(), f"cannot exchange {one} and {other}")


if __name__ == "__main__":
    exchange(*sys.argv[1:])
