#!/usr/bin/python3
"""Kills changes of a vault's keys while a real gnome-keyring holds items that the vault sealed.

Usage: sealed.py PREFIX      (the prefix into which the package was installed)

Whatever happened, one password (or none) opens the vault, every item is readable then, whether in the keyring it is still
sealed under the old keys or not, and an unlock completes the work.
"""
import json
import os
import re
import shutil
import sys

import passwords
from faults import PREFIX
from keyring_cases import LASTING, Keyring
from share import SHARE
from tracing import fault, strace

passwords.PROGRAM = PREFIX + "/bin/tokenkeep"
# Enough to meet each step of the work, few enough to be quick.
KILLS = 24 // SHARE


class Machine(passwords.Machine):
    stack = "any sufficient secret-service\nany required vault"

    def modules(self):
        """Where the items are."""
        return [item["module"] for item in json.loads(self.expect("list", "--json"))["items"]]


def kills_of(machine, *arguments, input):
    trace = machine.vault + ".trace"
    done = machine.run(*arguments, input=input, wrapper=strace(LASTING, "-o", trace))
    assert done.returncode == 0, done
    with open(trace) as lines:
        names = re.findall(r"^\d+ +(\w+)\(", lines.read(), re.MULTILINE)
    calls = [(name, names[: index + 1].count(name)) for index, name in enumerate(names)]
    step = max(1, len(calls) // KILLS)
    return calls[::step]


def start(machine, copy, before):
    """The vault as it was, and its items sealed in the keyring."""
    machine.restore(copy)
    assert machine.opens(before)
    machine.save_items()


def kill(machine, copy, arguments, input, before, after):
    start(machine, copy, before)
    assert machine.modules() == ["secret-service"] * len(passwords.ITEMS)
    calls = kills_of(machine, *arguments, input=input)
    for name, number in calls:
        start(machine, copy, before)
        machine.run(*arguments, input=input, wrapper=fault(name, "signal=KILL", number))
        machine.check_change(before, after, f"after a kill at {name} {number} of {' '.join(arguments)}")
    return len(calls)


def main():
    if shutil.which("strace") is None or shutil.which("gnome-keyring-daemon") is None:
        print("skip sealed: strace or gnome-keyring is not installed")
        return 0
    passwords.ITEMS = {"ann": "token of ann"}
    changes = [
        (("password", "change", "--compromised", "--stdin"), "one\ntwo\n", "one", "two"),
        (("password", "remove", "--stdin"), "one\n", "one", None),
    ]
    failed = 0
    for arguments, input, before, after in changes:
        work = passwords.memory.make_directory()
        name = " ".join(arguments[:-1])
        with Keyring() as keyring:
            machine = Machine(work, **keyring.environment)
            try:
                machine.expect("password", "set", "--stdin", input=before + "\n")
                shutil.copytree(machine.vault, work + "/copy", symlinks=True)
                count = kill(machine, work + "/copy", arguments, input, before, after)
                assert count > 10 // SHARE, f"only {count} kills"
                print(f"ok   {name} with sealed items: {count} kills", flush=True)
            except Exception as problem:
                failed += 1
                print(f"FAIL {name} with sealed items: {problem}", flush=True)
            finally:
                machine.run("lock")
                shutil.rmtree(work, ignore_errors=True)
    print(f"{len(changes) - failed} passed, {failed} failed")
    return 1 if failed else 0


sys.exit(main())
