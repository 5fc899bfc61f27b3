"""Runs a program on a message bus that never answers: a service that may have items. Usage: silent_bus.py PROGRAM ARGUMENT...

The program's limits are passed once it has reached the bus."""
import os
import socket
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "Support"))
import tests_clock  # noqa: E402: its folder must be on the path first
from patience import PATIENCE  # noqa: E402

with tempfile.TemporaryDirectory() as directory, socket.socket(socket.AF_UNIX) as bus:
    bus.bind(f"{directory}/bus")
    bus.listen()
    bus.settimeout(PATIENCE)
    environment = {**os.environ, "DBUS_SESSION_BUS_ADDRESS": f"unix:path={directory}/bus"}
    with subprocess.Popen(sys.argv[1:], env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                          stderr=subprocess.DEVNULL) as process:
        connection, _ = bus.accept()
        with connection:
            tests_clock.pass_limits(process)
