#!/usr/bin/python3
"""Kills each change of a vault's passwords at every system call that changes something, or fails it there.

Usage: passwords.py PROGRAM [CHANGE]

CHANGE is one of them alone, as "password set".

Whatever happened, exactly one of the old and the new password (or none) opens the vault, every item is readable then, the
next unlock or change removes the era that was in the making, and another run completes the work. The same with others that
read and write all the while, and with the recovery code in the place of the password.
"""
import ctypes
import os
import platform
import re
import shutil
import subprocess
import sys
import threading

from share import SHARE, share
from tracing import fault, kill, strace

SUPPORT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "Support")
sys.path.insert(0, SUPPORT)
import memory  # noqa: E402: its folder must be on the path first
import tests_clock  # noqa: E402
from patience import PATIENCE  # noqa: E402

PROGRAM = os.path.abspath(sys.argv[1])
CALLS = [
    "rename", "renameat", "renameat2", "unlinkat", "fsync", "fdatasync", "syncfs", "pwrite64", "write", "linkat", "symlinkat",
    "mkdirat"]
ITEMS = {"ann": "token of ann", "bob": "token of bob"}


class Machine:
    stack = "any required vault"

    def __init__(self, work, **environment):
        self.vault = work + "/vault"
        self.environment = {
            "PATH": os.environ["PATH"], "HOME": work, "XDG_CONFIG_HOME": work, "TOKENKEEP_VAULT": self.vault,
            **tests_clock.environment(), **environment}
        self.save_items()

    def save_items(self):
        for level, (account, token) in zip(("when-unlocked", "after-first-unlock"), ITEMS.items()):
            self.expect("save", "s", account, "--level", level, input=token)

    def run(self, *arguments, input="", wrapper=()):
        stack = () if arguments[0] == "login" else ("--stack", self.stack)
        return subprocess.run(
            [*wrapper, PROGRAM, *arguments, *stack], env=self.environment, input=input, text=True,
            capture_output=True, timeout=PATIENCE)

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

    def check_change(self, before, after, when):
        """One password at most opens the vault, every item is readable, and nothing is left of another era.

        Returns whether the change was made."""
        self.check_items(when)
        opening = [password for password in {before, after} - {None} if self.opens(password)]
        locked = "protected by a password" in self.status()
        assert len(opening) <= 1 and (opening or not locked), f"{opening} open it {when}"
        assert not locked or self.opens(opening[0]), f"{opening[0]} opens it once {when}"
        self.check_items(when + " and an unlock")
        # Where no password is set there is no unlock: the next change removes the rubbish.
        assert not locked or len(self.eras()) == 1, f"{self.eras()} are left {when} and an unlock"
        return opening == [after] if after else not locked

    def eras(self):
        return [name for name in os.listdir(self.vault) if name.startswith("era-")]

    def opens(self, password):
        """Whether a password unlocks the vault, which is locked before."""
        self.run("lock")
        return self.run("unlock", "--stdin", input=password + "\n").returncode == 0

    def unlocks(self, password, wrapper=()):
        """The same where the keys stay as they are until then: others read meanwhile."""
        return self.run("unlock", "--stdin", input=password + "\n", wrapper=wrapper).returncode == 0

    def restore(self, copy):
        """The vault as it was, on a machine that knows nothing of a later one."""
        self.start_anew()
        shutil.rmtree(self.vault)
        shutil.copytree(copy, self.vault, symlinks=True)

    def start_anew(self):
        """Whether a trust key was there to be forgotten."""
        self.run("lock")
        with open(self.vault + "/current/keyfile", "rb") as keyfile:
            identifier = keyfile.read()[16:32].hex()
        forget(f"tokenkeep:{identifier}:locked")
        return forget(f"tokenkeep:{identifier}:trust")

    def leave(self):
        """No key of the vault stays in the kernel: calls that read the user's whole keyring would take longer for good."""
        if os.path.exists(self.vault + "/current/keyfile"):
            self.start_anew()


def forget(description):
    """Takes a key out of the user's keyring, as a start of the machine does. Whether it was there."""
    number = {"x86_64": 250, "aarch64": 219}[platform.machine()]
    keyctl, user_keyring, search, unlink = ctypes.CDLL(None, use_errno=True).syscall, -4, 10, 9
    key = keyctl(number, search, user_keyring, b"user", description.encode(), 0)
    return key > 0 and keyctl(number, unlink, key, user_keyring) == 0


def calls_of(machine, *arguments, input):
    """How often the program makes each call."""
    trace = machine.vault + ".trace"
    wrapper = strace(CALLS, "-o", trace)
    assert machine.run(*arguments, input=input, wrapper=wrapper).returncode == 0
    with open(trace) as lines:
        names = re.findall(r"^\d+ +(\w+)\(", lines.read(), re.MULTILINE)
    # Each moment derives a key from a password some eight times.
    return share([(name, number) for name in CALLS for number in range(1, names.count(name) + 1)], costly=3)


def faults(machine, copy, arguments, input, before, after, what):
    """One fault each; `before` and `after` are the passwords that open the vault, None for no password."""
    machine.restore(copy)
    if before:
        assert machine.opens(before)
    calls = calls_of(machine, *arguments, input=input)
    for name, number in calls:
        machine.restore(copy)
        if before:
            assert machine.opens(before)
        machine.run(*arguments, input=input, wrapper=fault(name, what, number))
        when = f"after {what} at {name} {number} of {' '.join(arguments)}"
        changed = machine.check_change(before, after, when)
        if arguments[:2] == ("recovery", "use"):
            machine.expect("recovery", "use", "--stdin", input=input)
        elif not changed and arguments[:2] != ("recovery", "create"):
            machine.expect(*arguments, input=input)
            machine.check_items(when + " and another run")
            assert len(machine.eras()) == 1, f"{machine.eras()} are left {when} and another run"
    return len(calls)


class Reader:
    """Loads every item again and again, and notes what it misses."""

    def __init__(self, machine, wrapper=()):
        self.machine, self.wrapper, self.missed, self.rounds = machine, wrapper, [], 0
        self.over, self.turn = threading.Event(), threading.Condition()
        self.thread = threading.Thread(target=self.read)

    def read(self):
        while not self.over.is_set():
            for account, token in ITEMS.items():
                found = self.machine.run("load", "s", account, wrapper=self.wrapper)
                if (found.returncode, found.stdout) != (0, token):
                    self.missed.append(f"{account}: {found.returncode} {found.stderr.strip()}")
            with self.turn:
                self.rounds += 1
                self.turn.notify_all()

    def finish_round(self):
        """Waits until a round is over that began after this call."""
        with self.turn:
            last = self.rounds + 2
            assert self.turn.wait_for(lambda: self.rounds >= last, timeout=PATIENCE), "the reader stands still"

    def __enter__(self):
        self.thread.start()
        self.finish_round()
        return self

    def __exit__(self, *_):
        self.over.set()
        self.thread.join()


class Writer:
    """Saves one item after the other, and notes which were acknowledged."""

    def __init__(self, machine):
        self.machine, self.saved, self.failed = machine, {}, []
        self.over = threading.Event()
        self.thread = threading.Thread(target=self.write)

    def write(self):
        number = 0
        while not self.over.is_set():
            account, number = f"writer-{number % 5}", number + 1
            done = self.machine.run("save", "s", account, input=f"value {number}")
            if done.returncode == 0:
                self.saved[account] = f"value {number}"
            else:
                self.failed.append(f"{account}: {done.returncode} {done.stderr.strip()}")

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.over.set()
        self.thread.join()

    def check(self, when):
        assert not self.failed, f"saves failed {when}: {self.failed}"
        assert self.saved, f"nothing was saved {when}"
        for account, value in self.saved.items():
            found = self.machine.run("load", "s", account)
            assert (found.returncode, found.stdout) == (0, value), f"{account} {when}: {found}"


def faults_while_others_go_on(machine, copy, arguments, input, before, after):
    """Kills at each call; another process unlocks, and so removes what is left: nobody who reads meanwhile misses an item, and
    what was saved meanwhile is there."""
    machine.restore(copy)
    assert not before or machine.opens(before)
    # The moments between two steps are widened in turn with that of a reader who has the record, between it and its key.
    slow = [*CALLS, "keyctl"]
    slowly = strace(slow, "-o", "/dev/null", "-e", f"inject={','.join(slow)}:delay_exit=2000")
    thinking = strace(["keyctl"], "-o", "/dev/null", "-e", "inject=keyctl:delay_enter=10000")
    calls = calls_of(machine, *arguments, input=input)
    kept = changed = 0
    # Every moment of one change, and every other one of those that are made in the same way.
    step = 1 if SHARE > 1 or "--compromised" in arguments else 2
    for index, (name, number) in enumerate(calls[::step]):
        machine.restore(copy)
        assert not before or machine.opens(before)
        when = f"at {name} {number} of {' '.join(arguments)}"
        with Reader(machine) as reader, Reader(machine, thinking) as slow, Writer(machine) as writer:
            wrapper = kill(name, number, "--delay", "keyctl=2000")
            machine.run(*arguments, input=input, wrapper=wrapper)
            slow.finish_round()
            passwords = {after, before} - {None}
            opening = [password for password in passwords if machine.unlocks(password, slowly if index % 2 else ())]
            slow.finish_round()
        missed = reader.missed + slow.missed
        assert not missed, f"readers missed {when}: {missed}"
        writer.check(when)
        assert len(opening) <= 1, f"{opening} open it {when}"
        is_changed = opening == [after] if after else not opening
        assert is_changed or not before or len(machine.eras()) == 1, f"{machine.eras()} are left {when}"
        kept, changed = kept + (not is_changed), changed + is_changed
    assert SHARE > 1 or min(kept, changed) > 2, f"{kept} kills before the switch, {changed} after it"
    return kept + changed


def recoveries(machine, copy, code, arguments, input, before, after):
    """Kills at each call; then the code is good, or says that it is not and changes nothing: no item is lost."""
    machine.restore(copy)
    assert machine.opens(before)
    refused = 0
    for name, number in calls_of(machine, *arguments, input=input):
        machine.restore(copy)
        assert machine.opens(before)
        machine.run(*arguments, input=input, wrapper=kill(name, number))
        when = f"after a kill at {name} {number} of {' '.join(arguments)}"
        recovered = machine.run("recovery", "use", "--stdin", input=f"{code}\nthree\n")
        machine.check_items(f"{when} and the code")
        was_good = recovered.returncode == 0
        assert was_good or (recovered.returncode == 4 and "hint: " in recovered.stderr), f"{recovered} {when}"
        refused += not was_good
        opening = [password for password in (after, before, "three") if machine.opens(password)]
        assert opening == (["three"] if was_good else [after]), f"{opening} open it {when}: {recovered}"
        assert machine.opens(opening[0]), f"{opening[0]} opens it once {when}"
        machine.check_items(f"{when} and an unlock")
    assert SHARE > 1 or refused > 2, f"only {refused} refusals in the middle"
    return refused


def derives_once(machine):
    """An unlock asks for the memory of Argon2id one time: with the right password, and with a wrong one."""
    for password in ("one", "wrong"):
        trace = machine.vault + ".trace"
        machine.run("unlock", "--stdin", input=password + "\n", wrapper=strace(["mmap", "munmap"], "-o", trace))
        with open(trace) as lines:
            count = len(re.findall(r"mmap\(NULL, 671\d{5}, ", lines.read()))
        assert count == 1, f"{count} derivations for {password}"


def main():
    # A change of keys waits long for those who read all the while: at the usual quarter of the pace this took hours.
    os.environ.setdefault("TOKENKEEP_SLOWNESS", "2")
    tests_clock.require()
    if shutil.which("strace") is None:
        print("skip passwords: strace is not installed")
        return 0
    # A change of keys that is delayed at each call looks through all keys of the user.
    subprocess.run([sys.executable, os.path.join(SUPPORT, "forget_keys.py"), "--quiet"], check=True)
    failed = 0
    changes = [
        (("password", "set", "--stdin"), "one\n", None, "one"),
        (("password", "change", "--stdin"), "one\ntwo\n", "one", "two"),
        (("password", "change", "--compromised", "--stdin"), "one\ntwo\n", "one", "two"),
        (("password", "remove", "--stdin"), "one\n", "one", None),
        (("recovery", "create", "--stdin"), "one\n", "one", "one"),
        (("login", "password", "--service=passwd"), "one\0two\0", "one", "two"),
        (("recovery", "use", "--stdin"), "CODE\ntwo\n", "one", "two"),
    ]
    changes = [change for change in changes if sys.argv[2:] in ([], [" ".join(change[0][:-1])])]
    for arguments, input, before, after in changes:
        work = memory.make_directory()
        name = " ".join(arguments[:-1])
        try:
            machine = Machine(work)
            if before:
                machine.expect("password", "set", "--stdin", input=before + "\n")
                code = machine.expect("recovery", "create", "--stdin", input=before + "\n").strip()
                input = input.replace("CODE", code)
            shutil.copytree(machine.vault, work + "/copy", symlinks=True)
            kills = faults(machine, work + "/copy", arguments, input, before, after, "signal=KILL")
            # How a failure is met does not depend on which of the changes it befalls.
            errors = name in ("password set", "recovery create") and faults(
                machine, work + "/copy", arguments, input, before, after, "error=ENOSPC")
            assert kills > (0 if SHARE > 1 else 9), f"only {kills} kills"
            others = ""
            if name in ("password set", "password change --compromised", "password remove"):
                kills += faults_while_others_go_on(machine, work + "/copy", arguments, input, before, after)
            if "--compromised" in arguments:
                refused = recoveries(machine, work + "/copy", code, arguments, input, before, after)
                others = f", {refused} codes refused"
            if after == "one":
                machine.restore(work + "/copy")
                machine.run("password", "set", "--stdin", input="one\n")
                derives_once(machine)
            print(f"ok   {name}: {kills} kills, {errors or 0} failures{others}", flush=True)
        except Exception as problem:
            failed += 1
            print(f"FAIL {name}: {problem}", flush=True)
        finally:
            machine.leave()
            shutil.rmtree(work, ignore_errors=True)
    print(f"{len(changes) - failed} passed, {failed} failed")
    return 1 if failed or not changes else 0


if __name__ == "__main__":
    sys.exit(main())
