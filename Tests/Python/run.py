#!/usr/bin/python3
"""Tests the Python package with an installed TokenKeep. Usage: run.py PREFIX [NAME…]

PREFIX is where TokenKeep is installed. The package is tested in its folder by the system's Python and Debian's keyring, then
as a wheel with PyPI's keyring, pip, twine, uv and poetry (packages.py). Without PyPI the second half says "skipped", and fails.
"""
import os
import subprocess
import sys
import tempfile
import time
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "Support"))
import tests_clock  # noqa: E402: its folder must be on the path first

MODULES = ["test_package", "test_store", "test_calls", "test_forks", "test_sessions", "test_keyring"]


class Lines(unittest.TestResult):
    """One line for each test, as the other suites print them."""

    def startTest(self, test):
        super().startTest(test)
        self.began = time.monotonic()

    def say(self, word, test, more=""):
        print(f"{word} {test.id().split('.', 1)[1]} ({time.monotonic() - self.began:.1f} s){more}", flush=True)

    def addSuccess(self, test):
        super().addSuccess(test)
        self.say("ok  ", test)

    def addFailure(self, test, err):
        super().addFailure(test, err)
        self.say("FAIL", test, "\n" + self.failures[-1][1])

    def addError(self, test, err):
        super().addError(test, err)
        self.say("FAIL", test, "\n" + self.errors[-1][1])

    def addSkip(self, test, reason):
        super().addSkip(test, reason)
        print(f"skipped {test.id()}: {reason}", flush=True)


def run(modules):
    """Runs tests in this process. Whether all passed."""
    result = Lines()
    unittest.defaultTestLoader.loadTestsFromNames(modules).run(result)
    bad = len(result.failures) + len(result.errors)
    print(f"{result.testsRun - bad - len(result.skipped)} passed, {bad} failed, {len(result.skipped)} skipped", flush=True)
    return bad == 0


def environment(prefix, directory, *path):
    """The environment of the tests: a private home, the library of the prefix, no bus, the tests' clock for programs."""
    return {
        **tests_clock.environment(),
        "PATH": os.environ["PATH"], "HOME": directory, "XDG_CONFIG_HOME": directory, "TMPDIR": directory, "LC_ALL": "C.UTF-8",
        "LD_LIBRARY_PATH": os.path.join(prefix, "lib"), "TOKENKEEP_PROGRAM_UNDER_TEST": os.path.join(prefix, "bin", "tokenkeep"),
        "PYTHONPATH": os.pathsep.join([HERE, *path]), "PYTHONDONTWRITEBYTECODE": "1", "TOKENKEEP_VAULT": directory + "/vault",
        "DBUS_SESSION_BUS_ADDRESS": "unix:path=/nonexistent", **({"CI": os.environ["CI"]} if "CI" in os.environ else {})}


def main():
    tests_clock.require()
    prefix, names = os.path.realpath(sys.argv[1]), sys.argv[2:]
    with tempfile.TemporaryDirectory() as directory:
        package = os.path.join(os.path.dirname(os.path.dirname(HERE)), "python")
        # Beside each other: one half waits for PyPI, the other for locks and prompts.
        with open(directory + "/said", "w+", encoding="utf-8") as said:
            packages = None if names else subprocess.Popen(
                ["/usr/bin/python3", os.path.join(HERE, "packages.py"), prefix], stdout=said, stderr=said)
            tested = subprocess.run(
                ["/usr/bin/python3", __file__, "--here", *(names or MODULES)], env=environment(prefix, directory, package),
                check=False)
            failed = (packages.wait() if packages else 0) or tested.returncode
            said.seek(0)
            print(said.read(), end="")
        return failed


if __name__ == "__main__":
    if sys.argv[1] == "--here":
        sys.exit(0 if run(sys.argv[2:]) else 1)
    sys.exit(main())
