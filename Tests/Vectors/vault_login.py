"""The vault's file `login`: docs/format.md, section 1."""

import os
import re

MAXIMUM = 128
LINE = re.compile(
    rb"([0-9]+) ([A-Za-z0-9._+@-]{1,64}) (unlocked|wrong-password|too-slow|no-password|unreachable|not-followed)\n")
LAST_TIME = 2**63 - 1


def read_login(data):
    """(time, PAM service, word); None if the file counts as missing."""
    match = LINE.fullmatch(data) if len(data) <= MAXIMUM else None
    if match is None or int(match[1]) > LAST_TIME:
        return None
    return int(match[1]), match[2].decode(), match[3].decode()


def check_login(directory):
    path = os.path.join(directory, "login")
    if os.path.isfile(path) and not os.path.islink(path):
        with open(path, "rb") as file:
            if read_login(file.read(MAXIMUM + 1)) is None:
                yield "login: no line of the format"
