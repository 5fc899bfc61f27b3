#!/usr/bin/python3
"""Kills each change of a vault's passwords at every system call that changes something, or fails it there.

Usage: passwords.py PROGRAM

Whatever happened, exactly one of the old and the new password (or none) opens the vault, every item is readable then, and
another run completes the work.
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile

PROGRAM = os.path.abspath(sys.argv[1])
CALLS = ["rename", "renameat", "renameat2", "unlinkat", "fsync", "fdatasync", "pwrite64", "write", "linkat"]
ITEMS = {"ann": "token of ann", "bob": "token of bob"}


class Machine:
    stack = "any required vault"

    def __init__(self, work, **environment):
        self.vault = work + "/vault"
        self.environment = {
            "PATH": os.environ["PATH"], "HOME": work, "XDG_CONFIG_HOME": work, "TOKENKEEP_VAULT": self.vault, **environment}
        self.save_items()

    def save_items(self):
        for level, (account, token) in zip(("when-unlocked", "after-first-unlock"), ITEMS.items()):
            self.expect("save", "s", account, "--level", level, input=token)

    def run(self, *arguments, input="", wrapper=()):
        return subprocess.run(
            [*wrapper, PROGRAM, *arguments, "--stack", self.stack], env=self.environment, input=input, text=True,
            capture_output=True, timeout=120)

    def expect(self, *arguments, input=""):
        done = self.run(*arguments, input=input)
        assert done.returncode == 0, f"{arguments}: {done.stderr}"
        return done.stdout

    def status(self):
        return self.expect("status")

    def check_items(self, when):
        for account, token in ITEMS.items():
            found = self.run("load", "s", account)
            assert (found.returncode, found.stdout) == (0, token), f"{account} {when}: {found}"

    def opens(self, password):
        """Whether a password unlocks the vault, which is locked before."""
        self.run("lock")
        return self.run("unlock", "--stdin", input=password + "\n").returncode == 0

    def restore(self, copy):
        self.run("lock")
        shutil.rmtree(self.vault)
        shutil.copytree(copy, self.vault)


def calls_of(machine, *arguments, input):
    """How often the program makes each call."""
    trace = machine.vault + ".trace"
    wrapper = ("strace", "-f", "-qq", "-o", trace, "-e", "trace=" + ",".join(CALLS))
    assert machine.run(*arguments, input=input, wrapper=wrapper).returncode == 0
    with open(trace) as lines:
        names = re.findall(r"^\d+ +(\w+)\(", lines.read(), re.MULTILINE)
    return [(name, number) for name in CALLS for number in range(1, names.count(name) + 1)]


def faults(machine, copy, arguments, input, before, after, fault):
    """One fault each; `before` and `after` are the passwords that open the vault, None for no password."""
    machine.restore(copy)
    if before:
        assert machine.opens(before)
    calls = calls_of(machine, *arguments, input=input)
    for name, number in calls:
        machine.restore(copy)
        if before:
            assert machine.opens(before)
        wrapper = ("strace", "-f", "-qq", "-o", "/dev/null", "-e", f"inject={name}:{fault}:when={number}")
        machine.run(*arguments, input=input, wrapper=wrapper)
        when = f"after {fault} at {name} {number} of {' '.join(arguments)}"
        machine.check_items(when)
        opening = [password for password in {before, after} - {None} if machine.opens(password)]
        locked = "protected by a password" in machine.status()
        assert len(opening) <= 1 and (opening or not locked), f"{opening} open it {when}"
        # An unlock finishes a removal that was cut short: then there is nothing to unlock.
        assert not locked or machine.opens(opening[0]), f"{opening[0]} opens it once {when}"
        machine.check_items(when + " and an unlock")
        assert "interrupted" not in machine.status(), f"the change goes on with no unlock {when}"
    return len(calls)


def derives_once(machine):
    """An unlock asks for the memory of Argon2id one time: with the right password, and with a wrong one."""
    for password in ("one", "wrong"):
        trace = machine.vault + ".trace"
        wrapper = ("strace", "-f", "-qq", "-o", trace, "-e", "trace=mmap,munmap")
        machine.run("unlock", "--stdin", input=password + "\n", wrapper=wrapper)
        with open(trace) as lines:
            count = len(re.findall(r"mmap\(NULL, 671\d{5}, ", lines.read()))
        assert count == 1, f"{count} derivations for {password}"


def main():
    if shutil.which("strace") is None:
        print("skip passwords: strace is not installed")
        return 0
    failed = 0
    changes = [
        (("password", "set", "--stdin"), "one\n", None, "one"),
        (("password", "change", "--stdin"), "one\ntwo\n", "one", "two"),
        (("password", "change", "--compromised", "--stdin"), "one\ntwo\n", "one", "two"),
        (("password", "remove", "--stdin"), "one\n", "one", None),
        (("recovery", "create", "--stdin"), "one\n", "one", "one"),
    ]
    for arguments, input, before, after in changes:
        work = tempfile.mkdtemp(prefix="tokenkeep-passwords-", dir="/dev/shm" if os.access("/dev/shm", os.W_OK) else None)
        name = " ".join(arguments[:-1])
        try:
            machine = Machine(work)
            if before:
                machine.expect("password", "set", "--stdin", input=before + "\n")
            shutil.copytree(machine.vault, work + "/copy")
            kills = faults(machine, work + "/copy", arguments, input, before, after, "signal=KILL")
            # How a failure is met does not depend on which of the changes it befalls.
            errors = name in ("password set", "recovery create") and faults(
                machine, work + "/copy", arguments, input, before, after, "error=ENOSPC")
            assert kills > 3, f"only {kills} kills"
            if after == "one":
                machine.restore(work + "/copy")
                machine.run("password", "set", "--stdin", input="one\n")
                derives_once(machine)
            print(f"ok   {name}: {kills} kills, {errors or 0} failures", flush=True)
        except Exception as problem:
            failed += 1
            print(f"FAIL {name}: {problem}", flush=True)
        finally:
            machine.run("lock")
            shutil.rmtree(work, ignore_errors=True)
    print(f"{len(changes) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
