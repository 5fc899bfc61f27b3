#!/usr/bin/python3
"""Changes of a vault's keys beside calls that read them: no call is CORRUPT, and no restart is needed afterwards.

Usage: races.py PROGRAM [--rounds ROUNDS] [--minutes MINUTES] [CALL [CHANGE]]

Each pair of a call and a change is played ROUNDS times (2 if not given), all pairs in each round: the call is made again and
again while the change is under way. After MINUTES no other pair begins, and the number of whole rounds is told. The first round
is always whole. Where user namespaces are allowed, the change is also made in one, as in a container: its kernel keyring is
another one. With swtpm, a vault whose anchor a TPM has plays those changes that begin with a password. The machine key of "device" is
that of a /var/lib of its own, which root alone can mount.
"""
import argparse
import os
import shutil
import subprocess
import sys
import threading
import time

import passwords

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "TPM"))
from world import SoftwareTPM  # noqa: E402: its folder must be on the path first

OK, NOT_FOUND, LOCKED, UNAVAILABLE, DENIED, CONFLICT, CORRUPT = 0, 1, 3, 4, 5, 6, 7
# The password before and after each change; None for no password.
CHANGES = {
    "set": (None, "one", ("password", "set", "--stdin"), "one\n"),
    "change": ("one", "two", ("password", "change", "--stdin"), "one\ntwo\n"),
    "compromised": ("one", "two", ("password", "change", "--compromised", "--stdin"), "one\ntwo\n"),
    "remove": ("one", None, ("password", "remove", "--stdin"), "one\n"),
    "recovery": ("one", "one", ("recovery", "create", "--stdin"), "one\n"),
    "recovery use": ("one", "two", ("recovery", "use", "--stdin"), "CODE\ntwo\n"),
    "device": ("one", "one", ("device", "choose", "machine-key", "--stdin"), "one\n"),
}
TOKENS = '{"access_token":"access","refresh_token":"refresh","expires_in":3600}'
CALLS = {
    "load": (("load", "s", "ann"), ""),
    "save": (("save", "s", "carol"), "a token"),
    "unlock": (("unlock", "--stdin"), "{}\n"),
    "login": (("login", "unlock", "--service", "sshd"), "{}"),
    "refresh": (("session", "refresh", "api", "eve", "--exec", f"cat >/dev/null; echo '{TOKENS}'"), ""),
    "run": (("run", "--password-file", "PASSWORD", "--", "sh", "-c", "exec \"$TK\" load s ann --stack 'any required vault'"), ""),
}


class BoundMachine(passwords.Machine):
    """Its vault is bound to a TPM, which knows the header in force."""

    changes = {
        "remove": ("password", "remove", "--destroy-items", "--stdin"), "device": ("device", "re-bind", "--stdin")}

    def __init__(self, work, tpm, **environment):
        self.tpm = tpm
        super().__init__(work, TOKENKEEP_TCTI=tpm.tcti, **environment)

    def bind(self, password):
        self.tpm.tool("tpm2_clear")
        self.expect("device", "choose", "tpm2", "--stdin", input=password + "\n")
        self.expect("save", "s", "dan", "--level", "after-first-unlock-this-device-only", input="token of dan")
        assert "544b4e5602" in self.tpm.tool("tpm2_nvreadpublic").lower(), "the TPM has no anchor"


def prepare(machine, password):
    """The vault with this password, or with none, unlocked."""
    machine.leave()
    shutil.rmtree(machine.vault, ignore_errors=True)
    machine.save_items()
    if password:
        machine.expect("password", "set", "--stdin", input=password + "\n")
    if isinstance(machine, BoundMachine):
        machine.bind(password)
    machine.expect("session", "begin", "api", "eve", input=TOKENS)


def call(machine, name, password):
    arguments, input = CALLS[name]
    with open(machine.vault + ".password", "w", encoding="utf-8") as file:
        os.chmod(file.name, 0o600)
        file.write((password or "none") + "\n")
    arguments = [machine.vault + ".password" if word == "PASSWORD" else word for word in arguments]
    done = machine.run(*arguments, input=input.format(password or "none") if "{}" in input else input)
    # A login that meets a change may find the vault without a password, and a password may be the old one by then.
    assert done.returncode != CORRUPT, f"{name}: {done.stderr.strip()}"
    return done


def play(machine, call_name, change_name, wrapper=()):
    before, after, arguments, input = CHANGES[change_name]
    prepare(machine, before)
    if isinstance(machine, BoundMachine):
        arguments = machine.changes.get(change_name, arguments)
    if "CODE" in input:
        code = machine.expect("recovery", "create", "--stdin", input=before + "\n")
        input = input.replace("CODE", code.strip())
    result = []
    change = threading.Thread(target=lambda: result.append(machine.run(*arguments, input=input, wrapper=wrapper)))
    change.start()
    while True:
        is_over = not change.is_alive()
        for password in (before, after):
            call(machine, call_name, password)
        if is_over:
            break
    change.join()
    assert result[0].returncode == 0, f"{change_name}: {result[0].stderr.strip()}"
    if after:
        machine.expect("unlock", "--stdin", input=after + "\n")
    machine.check_items(f"after {change_name} beside {call_name}")
    assert machine.expect("session", "token", "api", "eve") == "access\n", f"the session after {change_name} beside {call_name}"


def has_user_namespaces():
    return subprocess.run(["unshare", "--user", "--map-root-user", "true"], check=False, capture_output=True).returncode == 0


def enter_machine():
    """Goes on in a mount namespace with a /var/lib of its own; False for a user who may not."""
    if "RACES_INSIDE" not in os.environ:
        if os.geteuid() != 0 or subprocess.run(["unshare", "-m", "true"], check=False, capture_output=True).returncode != 0:
            return False
        os.execvpe("unshare", ["unshare", "-m", sys.executable, *sys.argv], {**os.environ, "RACES_INSIDE": "yes"})
    subprocess.run(["mount", "-t", "tmpfs", "none", "/var/lib"], check=True)
    subprocess.run([passwords.PROGRAM, "device", "make-machine-key"], check=True, capture_output=True)
    return True


def places(work):
    """Where changes are made: a machine, what starts the program there, and the place's name."""
    machine = passwords.Machine(work, TK=passwords.PROGRAM)
    found = [(machine, (), "here")]
    if has_user_namespaces():
        found.append((machine, ("unshare", "--user", "--map-root-user"), "in a user namespace"))
    if shutil.which("swtpm") and shutil.which("tpm2_clear"):
        os.mkdir(work + "/bound")
        found.append((BoundMachine(work + "/bound", SoftwareTPM(), TK=passwords.PROGRAM), (), "with a TPM"))
    else:
        print("skipped: no swtpm or tpm2-tools: no vault has its anchor in a TPM")
    return found


def pairs(found, calls, changes, has_device):
    if not has_device and "device" in changes:
        print("skipped: only root may mount a /var/lib with a machine key")
    for change in changes:
        for call_name in calls:
            for machine, wrapper, place in found:
                is_bound = isinstance(machine, BoundMachine)
                # Without a password nothing proves to another machine who made a later era, and a vault is bound to no device.
                if wrapper and change == "remove" or is_bound and CHANGES[change][0] is None:
                    continue
                if change != "device" or has_device or is_bound:
                    yield machine, wrapper, place, call_name, change


def play_rounds(played, rounds, seconds):
    """The first problem of each pair that has one, and how many rounds were whole."""
    problems, start = {}, time.monotonic()
    for number in range(rounds):
        for machine, wrapper, place, call_name, change in played:
            if number and seconds and time.monotonic() - start > seconds:
                return problems, number
            try:
                play(machine, call_name, change, wrapper)
            except AssertionError as problem:
                problems.setdefault((call_name, change, place), f"round {number}: {problem}")
                machine.start_anew()
    return problems, rounds


def options():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--minutes", type=float, default=0)
    parser.add_argument("call", nargs="?", choices=CALLS)
    parser.add_argument("change", nargs="?", choices=CHANGES)
    return parser.parse_intermixed_args()


def main():
    given = options()
    passwords.tests_clock.require()
    has_device = enter_machine()
    work = passwords.memory.make_directory()
    found = places(work)
    played = list(pairs(found, [given.call] if given.call else CALLS, [given.change] if given.change else CHANGES, has_device))
    problems, rounds = play_rounds(played, given.rounds, given.minutes * 60)
    for _, _, place, call_name, change in played:
        problem = problems.get((call_name, change, place))
        print(f"{'FAIL' if problem else 'ok  '} {call_name} beside {change}, {place}{': ' if problem else ''}{problem or ''}")
    for machine in {id(machine): machine for machine, _, _ in found}.values():
        machine.leave()
        if isinstance(machine, BoundMachine):
            machine.tpm.close()
    shutil.rmtree(work, ignore_errors=True)
    print(f"{rounds} whole rounds of {given.rounds}")
    print(f"{len(played) - len(problems)} passed, {len(problems)} failed")
    return 1 if problems or not played else 0


if __name__ == "__main__":
    sys.exit(main())
