"""Kills a change of keys in its middle while others read: rekeying.py COUNT, with TOKENKEEP and TOKENKEEP_VAULT set

COUNT items of the service s, account 0 and on, hold their account's number.
"""

import os
import signal
import subprocess
import sys
import threading

PROGRAM, VAULT, COUNT = os.environ["TOKENKEEP"], os.environ["TOKENKEEP_VAULT"], int(sys.argv[1])


def tokenkeep(*arguments, text=""):
    done = subprocess.run([PROGRAM, *arguments], input=text, capture_output=True, text=True)
    return done.returncode, done.stdout, done.stderr


def missing():
    return [account for account in range(COUNT) if tokenkeep("load", "s", str(account))[1] != str(account)]


def eras():
    return sorted(name for name in os.listdir(VAULT) if name.startswith("era-"))


def has_record(records):
    """Whether the folder has a file. A change of keys removes an unfinished era, so the folder may vanish at any time."""
    try:
        return bool(os.listdir(records))
    except FileNotFoundError:
        return False


def kill_in_the_middle(arguments, text):
    """Kills the command as soon as the next era has a record; False where it was done before."""
    present = os.readlink(os.path.join(VAULT, "current"))
    records = os.path.join(VAULT, f"era-{int(present[4:]) + 1}", "records")
    process = subprocess.Popen([PROGRAM, *arguments], stdin=subprocess.PIPE, text=True)
    process.stdin.write(text)
    process.stdin.close()
    while process.poll() is None and not has_record(records):
        pass
    process.send_signal(signal.SIGKILL)
    process.wait()
    return os.readlink(os.path.join(VAULT, "current")) == present and len(eras()) == 2


def readers(stop, failures):
    while not stop.is_set():
        for account in range(COUNT):
            code, out, err = tokenkeep("load", "s", str(account))
            if out != str(account):
                failures.append(f"{account}: exit {code}: {err}")


def opens(password):
    return tokenkeep("unlock", "--stdin", text=password)[0] == 0


def step(what, arguments, text, before, after, undo):
    stop, failures = threading.Event(), []
    reader = threading.Thread(target=readers, args=(stop, failures), daemon=True)
    reader.start()
    tries = 1
    while not kill_in_the_middle(arguments, text) and tries < 20:
        undo()
        tries += 1
    stop.set()
    reader.join()
    print(f"{what}: killed in its middle: {tries < 20}, eras: {len(eras())}")
    print(f"  readers missed: {failures}, and after the kill: {missing()}")
    if after:
        print(f"  the new password opens: {opens(after)}")
    if before:
        print(f"  the password of before opens: {opens(before)}, eras then: {len(eras())}, missing: {missing()}")
    print(f"  again: exit {tokenkeep(*arguments, text=text)[0]}, eras: {len(eras())}, missing: {missing()}")
    if before and after:
        print(f"  the password of before opens: {opens(before)}")


step("set", ["password", "set", "--stdin"], "one\n", None, "one\n",
     lambda: tokenkeep("password", "remove", "--stdin", text="one\n"))
step("change --compromised", ["password", "change", "--compromised", "--stdin"], "one\ntwo\n", "one\n", "two\n",
     lambda: tokenkeep("password", "change", "--stdin", text="two\none\n"))
step("remove", ["password", "remove", "--stdin"], "two\n", "two\n", None,
     lambda: tokenkeep("password", "set", "--stdin", text="two\n"))
