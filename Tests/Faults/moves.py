#!/usr/bin/python3
"""Kills `tokenkeep migrate` and `tokenkeep sync` at each system call that changes something, with a real gnome-keyring.

Usage: moves.py PROGRAM

Whatever is killed, every item is found, another run completes the work, and the item is in one place then.
"""
import os
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "Benchmarks"))
import private_keyring  # noqa: E402: its folder must be on the path first
from share import SHARE  # noqa: E402
from tracing import fault, strace  # noqa: E402

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "Support"))
import tests_clock  # noqa: E402
from patience import PATIENCE  # noqa: E402

tests_clock.require()

PROGRAM = os.path.abspath(sys.argv[1])
CALLS = ["rename", "unlink", "unlinkat", "fsync", "fdatasync", "sendmsg", "sendto"]
STACK = "any sufficient secret-service\nany required vault"
ITEMS = {"ann": "token of ann", "bob": "token of bob"}


class Machine:
    def __init__(self, keyring, work):
        self.vault = os.path.join(work, "vault")
        self.environment = dict(keyring.environment, TOKENKEEP_VAULT=self.vault, **tests_clock.environment())
        self.run("load", "nobody", "nobody")  # from then on the service is used, and its absence an outage

    def run(self, *arguments, input="", wrapper=(), online=True):
        environment = dict(self.environment)
        if not online:
            environment["DBUS_SESSION_BUS_ADDRESS"] = "unix:path=/nonexistent/bus"
        return subprocess.run(
            [*wrapper, PROGRAM, *arguments, "--stack", STACK], env=environment, input=input, text=True,
            capture_output=True, timeout=PATIENCE)

    def expect(self, *arguments, online=True):
        done = self.run(*arguments, online=online)
        assert done.returncode == 0, f"{arguments}: {done.stderr}"
        return done.stdout

    def check_items(self, expected, when):
        for account, token in expected.items():
            found = self.run("load", "example.com", account)
            assert (found.returncode, found.stdout) == ((0, token) if token else (1, "")), f"{account} {when}: {found}"

    def modules(self):
        return {line.split()[-1] for line in self.expect("list").splitlines()[1:]}

    def records(self):
        return len(os.listdir(self.vault + "/current/records"))


def killed(machine, call, count, *arguments, online=True):
    """Whether the program was killed at this call, the count-th in its thread."""
    return machine.run(*arguments, wrapper=fault(call, "signal=KILL", count), online=online).returncode != 0


def each_kill(machine, *arguments, before, online=True, least=20):
    """Kills at one call after the other, until the program comes to its end unharmed."""
    kills = 0
    for call in CALLS:
        for count in range(1, 400, SHARE):
            before()
            if not killed(machine, call, count, *arguments, online=online):
                break
            kills += 1
            yield f"after a kill at {call} {count} of {arguments[0]}"
    assert kills > least // SHARE, f"only {kills} kills"
    print(f"     {kills} kills")


def moves(machine, source, target):
    for account, token in ITEMS.items():
        machine.run("save", "example.com", account, input=token)

    def put_back():
        machine.expect("migrate", "--from", target, "--to", source)
        assert machine.modules() == {source}

    for when in each_kill(machine, "migrate", "--from", source, "--to", target, before=put_back):
        machine.check_items(ITEMS, when)
        machine.expect("migrate", "--from", source, "--to", target)
        assert machine.modules() == {target}, f"{machine.modules()} {when}"
        assert machine.records() == (len(ITEMS) if target == "vault" else 0), when
        machine.check_items(ITEMS, when + " and another run")


def syncs(machine):
    expected = {"ann": "new", "bob": ""}

    def save_offline():
        machine.run("save", "example.com", "ann", input="old")
        machine.run("save", "example.com", "bob", input="old")
        assert machine.run("save", "example.com", "ann", input="new", online=False).returncode == 0
        machine.expect("clear", "example.com", "bob", online=False)

    for when in each_kill(machine, "sync", before=save_offline):
        machine.check_items(expected, when)
        machine.expect("sync")
        machine.check_items(expected, when + " and another run")
        assert machine.records() == 0, when


def removals(machine):
    """A service is cleared without a bus: what the keyring has of it goes as a whole or not at all, and then for good."""
    gone = dict.fromkeys(ITEMS, "")

    def fill():
        machine.expect("sync")
        for account, token in ITEMS.items():
            machine.run("save", "example.com", account, input=token)

    for when in each_kill(machine, "clear", "example.com", "--all", before=fill, online=False, least=2):
        there = machine.run("load", "example.com", "ann").returncode == 0
        machine.check_items(ITEMS if there else gone, when)
        machine.expect("clear", "example.com", "--all", online=False)
        machine.check_items(gone, when + " and another run")
        machine.expect("sync")
        assert machine.records() == 0 and machine.modules() == set(), when

    def save_offline():
        fill()
        machine.expect("clear", "example.com", "--all", online=False)

    for when in each_kill(machine, "sync", before=save_offline, least=10):
        machine.check_items(gone, when)
        machine.expect("sync")
        assert machine.records() == 0 and machine.modules() == set(), when


def hints(machine):
    """A hint that somebody left who was killed before it was durable is made so by whoever relies on it."""
    machine.run("save", "example.com", "ann", input="old", online=False)
    hint = os.path.join(machine.vault, "current/pending", os.listdir(machine.vault + "/current/pending")[0])
    machine.expect("forget", "secret-service", "--yes", "--though-reachable")
    assert not os.path.exists(hint)
    open(hint, "w").close()
    machine.run("load", "nobody", "nobody")  # the service is used again
    trace = machine.vault + ".trace"
    wrapper = strace({"fsync", "rename", "renameat", "renameat2"}, "-y", "-o", trace)
    assert machine.run("save", "example.com", "ann", input="new", online=False, wrapper=wrapper).returncode == 0
    with open(trace) as calls:
        lines = list(calls)
    synced = [number for number, line in enumerate(lines) if "fsync(" in line and "/pending>" in line]
    written = [number for number, line in enumerate(lines) if "rename" in line and os.path.basename(hint) in line]
    assert synced and written and synced[0] < written[0], lines


def main():
    if shutil.which("strace") is None or private_keyring.missing():
        print("skip moves: strace or a keyring is not installed")
        return 0
    failed = 0
    tests = [
        ("a move to the vault", lambda machine: moves(machine, "secret-service", "vault")),
        ("a move to the service", lambda machine: moves(machine, "vault", "secret-service")),
        ("a sync", syncs),
        ("the removal of a service", removals),
        ("a hint that is there", hints),
    ]
    for name, test in tests:
        work = tempfile.mkdtemp(prefix="tokenkeep-moves-")
        try:
            with private_keyring.PrivateKeyring(work + "/keyring") as keyring:
                test(Machine(keyring, work))
            print(f"ok   {name}", flush=True)
        except Exception as problem:
            failed += 1
            print(f"FAIL {name}: {problem}", flush=True)
        finally:
            shutil.rmtree(work, ignore_errors=True)
    print(f"{len(tests) - failed} passed, {failed} failed")
    return 1 if failed else 0


sys.exit(main())
