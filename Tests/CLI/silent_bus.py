"""Runs a program on a message bus that never answers: a service that may have items. Usage: silent_bus.py PROGRAM ARGUMENT..."""
import os
import socket
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "Support"))
from patience import PATIENCE  # noqa: E402: its folder must be on the path first

with tempfile.TemporaryDirectory() as directory, socket.socket(socket.AF_UNIX) as bus:
    bus.bind(f"{directory}/bus")
    bus.listen()
    environment = {**os.environ, "DBUS_SESSION_BUS_ADDRESS": f"unix:path={directory}/bus"}
    subprocess.run(sys.argv[1:], env=environment, stdin=subprocess.DEVNULL, capture_output=True, timeout=PATIENCE)
