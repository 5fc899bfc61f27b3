"""Hosts with a main loop of GLib, threads and children, on a real gnome-keyring: host.c says what is checked.

And hosts that get no more threads: threadless.c.
"""
import os
import pwd
import shutil
import subprocess
import tempfile

from faults import HERE, PATIENCE, PREFIX, WORK, Skip, Vault, case, pkg_config
from keyring_cases import Keyring

HOST = os.path.join(WORK, "host")
THREADLESS = os.path.join(WORK, "threadless")
PROGRAM = os.path.join(PREFIX, "bin", "tokenkeep")

# Far below the limit that the host's calls have, by the tests' clock.
LIMIT_MS = PATIENCE * 1000 // 2


def lonely_user():
    """The id of a user that runs nothing: the limit of processes counts all of a user. The bus wants it to have a name."""
    busy = set(map(int, subprocess.run(["ps", "-e", "-o", "uid="], check=True, capture_output=True, text=True).stdout.split()))
    for name in ("games", "uucp", "news", "lp", "nobody"):
        try:
            if (user := pwd.getpwnam(name).pw_uid) not in busy:
                return user
        except KeyError:
            pass
    raise Skip("every user runs something")


def build(program, *packages):
    if os.path.exists(program):
        return
    flags = subprocess.run(
        ["pkg-config", "--cflags", "--libs", "tokenkeep", *packages], env=pkg_config(), check=True, capture_output=True,
        text=True).stdout.split()
    source = os.path.join(HERE, os.path.basename(program) + ".c")
    subprocess.run(
        ["cc", "-std=c11", "-D_GNU_SOURCE", "-Wall", "-Wextra", "-Werror", "-o", program, source, *flags, "-pthread", "-ldl"],
        check=True)


def host(what):
    build(HOST, "gio-2.0")
    with Keyring() as keyring:
        environment = {**keyring.vault().environment, "XDG_RUNTIME_DIR": keyring.home}
        done = subprocess.run([HOST, what], env=environment, capture_output=True, text=True, timeout=PATIENCE, check=False)
        assert done.returncode == 0, f"exit {done.returncode}\n{done.stdout}{done.stderr}"


@case
def a_host_calls_within_its_main_loop():
    host("loop")


@case
def a_hosts_main_loop_turns_while_eight_threads_call():
    host("threads")


@case
def children_of_a_host():
    host("fork")


def threadless(vault, how, number, wrapper=()):
    """The status of each call of a host that gets no more threads. The host and its own thread live on."""
    build(THREADLESS)
    done = subprocess.run(
        [*wrapper, THREADLESS, how, str(number)], env=vault.environment, capture_output=True, text=True, timeout=PATIENCE,
        check=False)
    what = f"{how} {number}: exit {done.returncode}\n{done.stdout}{done.stderr}"
    assert done.returncode == 0, what
    *calls, _ = map(str.split, done.stdout.splitlines())
    assert max(float(milliseconds) for *_, milliseconds in calls) < LIMIT_MS, what
    return {call: status for call, status, _ in calls}, what


@case
def a_host_that_fails_to_start_one_thread_lives_on():
    """The module starts one thread, probes two, and GLib starts two: the fourth and the fifth call are GLib's own."""
    with Keyring() as keyring:
        for number in range(1, 21):
            statuses, what = threadless(keyring.vault(), "fail", number)
            del statuses["unlock"]  # there is no password
            assert set(statuses.values()) <= {"OK", "IO"}, what
            if number in (4, 5):
                # GLib now waits for its thread for ever: the Secret Service stays out of use until the host is restarted.
                assert statuses["save"] == statuses["load"] == "IO", what
            else:
                assert statuses["load"] == "OK", what


@case
def a_host_that_starts_no_more_threads_lives_on():
    with Keyring() as keyring:
        for number in range(1, 9):
            statuses, what = threadless(keyring.vault(), "from", number)
            assert statuses["save"] == ("IO" if number <= 5 else "OK"), what
            assert statuses["load"] == statuses["save"], what


@case
def a_host_at_its_limit_of_processes_lives_on():
    if os.geteuid() != 0 or not shutil.which("setpriv"):
        raise Skip("needs root and setpriv")
    user = lonely_user()
    with Keyring(user) as keyring:
        seen = []
        for limit in range(1, 21):
            vault = keyring.vault()
            vault.environment["TOKENKEEP_VAULT"] = tempfile.mkdtemp(dir=keyring.home) + "/vault"
            os.chown(os.path.dirname(vault.environment["TOKENKEEP_VAULT"]), user, user)
            statuses, what = threadless(vault, "limit", limit, wrapper=keyring.wrapper)
            del statuses["unlock"]
            assert set(statuses.values()) <= {"OK", "IO"}, what
            seen.append(statuses["save"])
        refused = seen.count("IO")
        assert 0 < refused < 20 and seen == ["IO"] * refused + ["OK"] * (20 - refused), seen


@case
def a_host_without_threads_cannot_derive_a_passwords_key():
    vault = Vault()
    words = {"env": vault.environment, "check": True, "capture_output": True, "text": True}
    stack = ("--stack", "any required vault")
    subprocess.run([PROGRAM, "password", "set", "--stdin", *stack], input="password\n", **words)
    for number in (1, 2):
        subprocess.run([PROGRAM, "lock", *stack], **words)
        vault.environment["HOST_STACK"] = "any required vault"
        statuses, what = threadless(vault, "fail", number)
        assert statuses["unlock"] == ("IO" if number == 1 else "OK"), what
        assert statuses["save"] == ("LOCKED" if number == 1 else "OK"), what


@case
def a_host_without_threads_cannot_use_a_shared_object():
    modules = tempfile.mkdtemp(dir=WORK)
    source = os.path.join(HERE, "..", "..", "examples", "plugin", "keyctl.c")
    flags = subprocess.run(
        ["pkg-config", "--cflags", "tokenkeep"], env=pkg_config(), check=True, capture_output=True, text=True).stdout.split()
    subprocess.run(["cc", "-shared", "-fPIC", "-o", modules + "/keyctl.so", source, *flags], check=True)
    vault = Vault(TOKENKEEP_MODULES=modules, HOST_STACK=f"any required keyctl ring=threadless-{os.getpid()}")
    usual, what = threadless(vault, "fail", 20)
    if usual["save"] != "OK":
        raise Skip(f"the kernel's keyring cannot be used here: {what}")
    statuses, what = threadless(vault, "fail", 1)
    assert statuses["save"] == "IO" and statuses["load"] == "OK", what
