"""What the tests of the Python package share: a private home with a vault for each test."""
import os
import subprocess
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, os.path.join(ROOT, "Tests", "Support"))
from patience import PATIENCE  # noqa: E402: its folder must be on the path first

PROGRAM = os.environ["TOKENKEEP_PROGRAM_UNDER_TEST"]
STACK = "any required vault"
PASSWORD = "correct horse"

# Another process that holds the vault's lock until its standard input ends.
HOLDER = """
import fcntl, sys
with open(sys.argv[1], "r+b") as file:
    fcntl.lockf(file, fcntl.LOCK_EX)
    print("held", flush=True)
    sys.stdin.read()
"""


class StoreCase(unittest.TestCase):
    """Each test has a vault of its own, by TOKENKEEP_VAULT."""

    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.directory = directory.name
        self.vault = os.path.join(self.directory, "vault")
        for name, value in (("TOKENKEEP_VAULT", self.vault), ("HOME", self.directory), ("XDG_CONFIG_HOME", self.directory)):
            self.set_variable(name, value)

    def set_variable(self, name, value):
        before = os.environ.get(name)
        os.environ[name] = value
        self.addCleanup(lambda: os.environ.pop(name) if before is None else os.environ.update({name: before}))

    def open(self, stack=STACK, **options):
        import tokenkeep
        store = tokenkeep.Store(stack, timeout=options.pop("timeout", PATIENCE), **options)
        self.addCleanup(store.close)
        return store

    def run_program(self, *arguments, **options):
        """Runs the program tokenkeep on the test's vault."""
        return subprocess.run(
            [PROGRAM, *arguments], check=True, capture_output=True, text=True, timeout=PATIENCE, **options).stdout

    def set_password(self):
        """Gives the vault a password, and leaves it unlocked."""
        self.run_program("password", "set", "--stdin", input=PASSWORD)

    def hold_lock(self):
        """Another process holds the vault's lock until its standard input is closed."""
        holder = subprocess.Popen(
            [sys.executable, "-c", HOLDER, os.path.join(self.vault, "lock")], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.addCleanup(release, holder)
        self.assertEqual(holder.stdout.readline(), b"held\n")
        return holder


def release(holder):
    """Ends the hold."""
    if not holder.stdin.closed:
        holder.stdin.close()
    holder.wait()
    holder.stdout.close()


def in_child(function):
    """What a child made by fork() makes of `function()`: its result, or the name of its exception."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            said = str(function())
        except BaseException as exception:  # the child must end here
            said = type(exception).__name__
        os.write(writer, said.encode())
        os._exit(0)
    os.close(writer)
    with open(reader, encoding="utf-8") as file:
        said = file.read()
    os.waitpid(child, 0)
    return said
