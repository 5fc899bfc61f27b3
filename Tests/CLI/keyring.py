"""Runs a scenario's text in bash with a real, unlocked gnome-keyring on a bus of its own, in the directory KEYRING. Usage: keyring.py TEXT"""
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.environ["HERE"], "..", "Benchmarks"))
from private_keyring import PrivateKeyring  # noqa: E402

with tempfile.TemporaryDirectory() as directory, PrivateKeyring(f"{directory}/keyring") as keyring:
    environment = {
        **os.environ, "DBUS_SESSION_BUS_ADDRESS": keyring.environment["DBUS_SESSION_BUS_ADDRESS"], "KEYRING": keyring.directory}
    ended = subprocess.run(["bash", "-u", "-c", '. "$HERE/lib.sh"; ' + sys.argv[1]], env=environment, stdin=subprocess.DEVNULL)
sys.exit(ended.returncode)
