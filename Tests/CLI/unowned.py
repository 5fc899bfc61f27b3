"""Waits until a name has no owner on the session bus. Usage: unowned.py NAME"""
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "Support"))
from patience import wait_until  # noqa: E402: its folder must be on the path first

BUS = ["gdbus", "call", "--session", "--dest", "org.freedesktop.DBus", "--object-path", "/org/freedesktop/DBus"]
OWNER = [*BUS, "--method", "org.freedesktop.DBus.GetNameOwner", sys.argv[1]]


def has_no_owner():
    return subprocess.run(OWNER, capture_output=True).returncode != 0


wait_until(has_no_owner, f"{sys.argv[1]} has an owner")
