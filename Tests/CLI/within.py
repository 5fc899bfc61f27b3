"""Runs a command and says whether it ended within so many seconds of the tests' clock. Usage: within.py SECONDS COMMAND..."""
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "Support"))
import tests_clock  # noqa: E402: its folder must be on the path first

began = tests_clock.now()
subprocess.run(sys.argv[2:], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
taken = tests_clock.now() - began
print(f"within {sys.argv[1]} s" if taken < float(sys.argv[1]) else f"after {taken} s")
