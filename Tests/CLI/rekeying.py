"""Kills a change of keys in its middle while others read: rekeying.py COUNT, with TOKENKEEP and TOKENKEEP_VAULT set

COUNT items of the service s, account 0 and on, hold their account's number.
"""

import os
import signal
import subprocess
import sys
import threading

PROGRAM, VAULT, COUNT = os.environ["TOKENKEEP"], os.environ["TOKENKEEP_VAULT"], int(sys.argv[1])
UNFINISHED = "a change of keys was interrupted"


def tokenkeep(*arguments, text=""):
    done = subprocess.run([PROGRAM, *arguments], input=text, capture_output=True, text=True)
    return done.returncode, done.stdout, done.stderr


def missing():
    return [account for account in range(COUNT) if tokenkeep("load", "s", str(account))[1] != str(account)]


def identity():
    return os.stat(os.path.join(VAULT, "header")).st_ino


def kill_in_the_middle(arguments, text):
    """Kills the command as soon as the new header stands; False where it was done before."""
    before = identity()
    process = subprocess.Popen([PROGRAM, *arguments], stdin=subprocess.PIPE, text=True)
    process.stdin.write(text)
    process.stdin.close()
    while identity() == before and process.poll() is None:
        pass
    process.send_signal(signal.SIGKILL)
    process.wait()
    return UNFINISHED in tokenkeep("status")[1]


def readers(stop, failures):
    while not stop.is_set():
        for account in range(COUNT):
            code, out, err = tokenkeep("load", "s", str(account))
            if out != str(account):
                failures.append(f"{account}: exit {code}: {err}")


def step(what, arguments, text, password, undo):
    stop, failures = threading.Event(), []
    reader = threading.Thread(target=readers, args=(stop, failures))
    reader.start()
    tries = 1
    while not kill_in_the_middle(arguments, text) and tries < 20:
        undo()
        tries += 1
    stop.set()
    reader.join()
    print(f"{what}: killed in its middle: {UNFINISHED in tokenkeep('status')[1]}")
    print(f"  readers missed: {failures}, and after the kill: {missing()}")
    code, _, err = tokenkeep("unlock", "--stdin", text=password)
    print(f"  unlock goes on: exit {code} {err.strip()}".rstrip(), "unfinished:", UNFINISHED in tokenkeep("status")[1])
    print(f"  missing then: {missing()}")


step("set", ["password", "set", "--stdin"], "one\n", "one\n",
     lambda: tokenkeep("password", "remove", "--stdin", text="one\n"))
step("change --compromised", ["password", "change", "--compromised", "--stdin"], "one\ntwo\n", "two\n",
     lambda: tokenkeep("password", "change", "--stdin", text="two\none\n"))
step("remove", ["password", "remove", "--stdin"], "two\n", "two\n",
     lambda: tokenkeep("password", "set", "--stdin", text="two\n"))
