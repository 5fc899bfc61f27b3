#!/usr/bin/python3
"""Changes of a vault's keys beside calls that read them: no call is CORRUPT, and no restart is needed afterwards.

Usage: races.py PROGRAM [ROUNDS [CALL [CHANGE]]]

Each pair of a call and a change is played ROUNDS times (2 if not given): the call is made again and again while the change is
under way. Where user namespaces are allowed, the change is also made in one, as in a container: its kernel keyring is another one.
The machine key of "device" is that of a /var/lib of its own, which root alone can mount.
"""
import os
import shutil
import subprocess
import sys
import tempfile
import threading

import passwords

OK, NOT_FOUND, LOCKED, UNAVAILABLE, DENIED, CONFLICT, CORRUPT = 0, 1, 3, 4, 5, 6, 7
# The password before and after each change; None for no password.
CHANGES = {
    "set": (None, "one", ("password", "set", "--stdin"), "one\n"),
    "change": ("one", "two", ("password", "change", "--stdin"), "one\ntwo\n"),
    "compromised": ("one", "two", ("password", "change", "--compromised", "--stdin"), "one\ntwo\n"),
    "remove": ("one", None, ("password", "remove", "--stdin"), "one\n"),
    "recovery": ("one", "one", ("recovery", "create", "--stdin"), "one\n"),
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


def prepare(machine, password):
    """The vault with this password, or with none, unlocked."""
    machine.leave()
    shutil.rmtree(machine.vault, ignore_errors=True)
    machine.save_items()
    if password:
        machine.expect("password", "set", "--stdin", input=password + "\n")
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


def main():
    passwords.tests_clock.require()
    has_device = enter_machine()
    rounds = int(sys.argv[2]) if len(sys.argv) > 2 else 2
    calls, changes = (sys.argv[3:4] or CALLS), (sys.argv[4:5] or CHANGES)
    work = tempfile.mkdtemp(prefix="tokenkeep-races-", dir="/dev/shm" if os.access("/dev/shm", os.W_OK) else None)
    machine = passwords.Machine(work, TK=passwords.PROGRAM)
    elsewhere = [((), "here")]
    if has_user_namespaces():
        elsewhere.append((("unshare", "--user", "--map-root-user"), "in a user namespace"))
    failed = played = 0
    for change in changes:
        if change == "device" and not has_device:
            print("skipped: only root may mount a /var/lib with a machine key")
            continue
        for name in calls:
            for wrapper, place in elsewhere:
                # Without a password nothing proves to another machine who made a later era.
                if wrapper and change == "remove":
                    continue
                problem = None
                for number in range(rounds):
                    try:
                        play(machine, name, change, wrapper)
                    except AssertionError as found:
                        problem = problem or f"round {number}: {found}"
                        machine.start_anew()
                played, failed = played + 1, failed + bool(problem)
                print(f"{'FAIL' if problem else 'ok  '} {name} beside {change}, {place}{': ' if problem else ''}{problem or ''}", flush=True)
    machine.leave()
    shutil.rmtree(work, ignore_errors=True)
    print(f"{played - failed} passed, {failed} failed")
    return 1 if failed or not played else 0


if __name__ == "__main__":
    sys.exit(main())
