"""Kills a change of keys in its middle while others read: rekeying.py COUNT, with TOKENKEEP and TOKENKEEP_VAULT set

COUNT items of the service s, account 0 and on, hold their account's number.
"""

import os
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


def kill_in_the_middle(arguments, text):
    """Kills the command when every item is written under the new keys, which are not in force yet. Returns whether it was so."""
    present = os.readlink(os.path.join(VAULT, "current"))
    subprocess.run(
        ["strace", "-f", "-qq", "-o", "/dev/null", "-e", "trace=syncfs", "-e", "inject=syncfs:signal=SIGKILL", PROGRAM,
         *arguments], input=text, text=True)
    return os.readlink(os.path.join(VAULT, "current")) == present and len(eras()) == 2


def readers(stop, failures):
    while not stop.is_set():
        for account in range(COUNT):
            code, out, err = tokenkeep("load", "s", str(account))
            if out != str(account):
                failures.append(f"{account}: exit {code}: {err}")


def opens(password):
    return tokenkeep("unlock", "--stdin", text=password)[0] == 0


def step(what, arguments, text, before, after):
    stop, failures = threading.Event(), []
    reader = threading.Thread(target=readers, args=(stop, failures), daemon=True)
    reader.start()
    is_killed = kill_in_the_middle(arguments, text)
    stop.set()
    reader.join()
    print(f"{what}: killed in its middle: {is_killed}, eras: {len(eras())}")
    print(f"  readers missed: {failures}, and after the kill: {missing()}")
    if after:
        print(f"  the new password opens: {opens(after)}")
    if before:
        print(f"  the password of before opens: {opens(before)}, eras then: {len(eras())}, missing: {missing()}")
    print(f"  again: exit {tokenkeep(*arguments, text=text)[0]}, eras: {len(eras())}, missing: {missing()}")
    if before and after:
        print(f"  the password of before opens: {opens(before)}")


step("set", ["password", "set", "--stdin"], "one\n", None, "one\n")
step("change --compromised", ["password", "change", "--compromised", "--stdin"], "one\ntwo\n", "one\n", "two\n")
step("remove", ["password", "remove", "--stdin"], "two\n", "two\n", None)
