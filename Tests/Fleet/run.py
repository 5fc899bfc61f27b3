#!/usr/bin/python3
"""Fleets of devices on a real etcd.

Usage: run.py PROGRAM [--slow] [NAME…]      NAME: a part of a test's name

A test is a function `test_…(place, server)` of a file t_*.py here. With --slow it is `slow_…`: a runner counts its minutes by
the time since the machine's start, suspensions included, which no test can move. The devices live by the tests' clock
(Tests/Support/Clock), etcd by the real one: a member that a busy machine stalls has twice as long for its answer.
"""
import glob
import importlib
import os
import subprocess
import sys
import tempfile
import traceback

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "..", "Support")]
import memory  # noqa: E402: its folder must be on the path first
import tests_clock  # noqa: E402
from fleet_parts import Place  # noqa: E402: its folder must be on the path first
from rotating_server import RotatingServer  # noqa: E402


def tests(kind, names):
    for path in sorted(glob.glob(f"{HERE}/t_*.py")):
        module = importlib.import_module(os.path.basename(path)[:-3])
        for name, test in list(vars(module).items()):
            if name.startswith(kind) and (not names or any(part in name for part in names)):
                yield name, test


def main():
    os.environ.setdefault("TOKENKEEP_SLOWNESS", "2")
    tests_clock.require()
    program, names = os.path.realpath(sys.argv[1]), [name for name in sys.argv[2:] if name != "--slow"]
    version = subprocess.run(["etcd", "--version"], capture_output=True, text=True, check=True).stdout.splitlines()[0]
    print(version, flush=True)
    failed = count = 0
    with tempfile.TemporaryDirectory(prefix="fleet.") as directory, RotatingServer(3600) as server, \
            memory.directory() as registry:
        # etcd answers when its disk has. In memory it does so within the commands' deadlines, however busy the disk is.
        for name, test in tests("slow_" if "--slow" in sys.argv else "test_", names):
            count += 1
            try:
                with Place(program, f"{directory}/{name}", f"{registry}/{name}") as place:
                    test(place, server)
                print(f"ok {name}", flush=True)
            except Exception:
                failed += 1
                print(f"FAILED {name}", flush=True)
                traceback.print_exc()
    print(f"{count - failed} of {count} tests of the fleet passed")
    return 1 if failed or not count else 0


if __name__ == "__main__":
    sys.exit(main())
