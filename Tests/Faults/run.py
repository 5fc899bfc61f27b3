#!/usr/bin/python3
"""Faults of the machine, played by strace, signals, locks and small disks, against a C program on the installed library.

Usage: run.py PREFIX      (the prefix into which the package was installed)

Kills are played before each system call that leaves something outside of the process, and before the next one; before the
others in turns, an eighth for each commit (share.py).

Prints one line per case and "N passed, N failed, N skipped"; exits non-zero where one failed.
"""
import fcntl
import os
import random
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import time
import traceback

import breaker_cases  # the cases of these register themselves
import crowd_cases
import host_cases
import keyring_cases
import late_cases
import provider_cases  # noqa: F401
import session_cases
import session_keyring_cases  # noqa: F401
import session_power_cases  # noqa: F401
import tests_clock
import watch_cases
from faults import CASES, PATIENCE, WORK, Skip, Vault, build_probe, case, fresh_copy, inject, kill_moments, system_calls
from locks import waiters
from patience import stop_process, wait_until


# Killed


@case
def killed_at_every_system_call_of_a_save():
    base = Vault()
    assert base.run("save", "a", "old") == ["OK"] and base.run("save", "b", "other") == ["OK"]
    calls = kill_moments(fresh_copy(base), "save", "a", "new")
    seen = set()
    for call in calls:
        vault = fresh_copy(base)
        vault.run("save", "a", "new", wrapper=inject(call, "signal=KILL"))
        seen.add(vault.expect("a", "old", "new"))
        vault.expect("b", "other")
        assert vault.run("save", "a", "after") == ["OK"], f"no save after a kill at {call}"
        vault.expect("a", "after")
    assert seen == {"old", "new"}, f"the kills at {len(calls)} calls only ever left {seen}"


@case
def killed_at_every_system_call_of_the_first_save():
    base = Vault()
    calls = kill_moments(Vault(), "save", "a", "new")
    for call in calls:
        vault = Vault()
        vault.run("save", "a", "new", wrapper=inject(call, "signal=KILL"))
        vault.expect("a", "NOT_FOUND", "new")
        assert vault.run("save", "b", "after") == ["OK"], f"no save after a kill at {call}"
        vault.expect("b", "after")
        vault.expect("a", "NOT_FOUND", "new")


@case
def killed_at_every_system_call_of_a_clear():
    base = Vault()
    assert base.run("save", "a", "old") == ["OK"] and base.run("save", "b", "other") == ["OK"]
    seen = set()
    for call in kill_moments(fresh_copy(base), "clear", "a"):
        vault = fresh_copy(base)
        vault.run("clear", "a", wrapper=inject(call, "signal=KILL"))
        seen.add(vault.expect("a", "old", "NOT_FOUND"))
        vault.expect("b", "other")
    assert seen == {"old", "NOT_FOUND"}, f"the kills only ever left {seen}"


@case
def killed_at_random_moments():
    generator = random.Random(20)
    for _ in range(40):
        vault = Vault()
        process = vault.start("saves", "a", 100000)
        wanted = generator.randrange(1, 30)
        acknowledged = 0
        while acknowledged < wanted:
            acknowledged = int(process.stdout.readline())
        process.kill()
        rest = [line for line in process.stdout.read().split("\n") if line]  # communicate() loses what was read ahead
        process.communicate()
        acknowledged = int(rest[-1]) if rest else acknowledged
        found = int(vault.load("a"))
        assert found in (acknowledged, acknowledged + 1), f"{acknowledged} was acknowledged, {found} is there"


# Failing system calls


def failing(errors, names, arguments, allowed, done="new"):
    """Fails each of the calls in turn: the item is the old one or as the call would have it, done where it says OK."""
    base = Vault()
    assert base.run("save", "a", "old") == ["OK"] and base.run("save", "b", "other") == ["OK"]
    calls = [call for call in system_calls(fresh_copy(base), *arguments) if call[0] in names]
    assert calls, f"no call of {names}"
    for call in calls:
        for error in errors:
            vault = fresh_copy(base)
            status = vault.run(*arguments, wrapper=inject(call, f"error={error}"))[-1]
            # An entry of the log of changes is written once more, or is of no consequence.
            statuses = allowed[error] + (("OK",) if call[0] == "write" else ())
            assert status in statuses, f"{error} at {call}: {status}"
            after = vault.load("a")
            wanted = {"OK": (done,), "IO": ("old", done)}[status]
            assert after in wanted, f"{error} at {call}: {status}, and then {after}"
            vault.expect("b", "other")
            leftovers = [name for name in os.listdir(vault.path + "/current/records") if len(name) != 32]
            assert status == "OK" or call[0] == "fsync" or not leftovers, f"{error} at {call} leaves {leftovers}"
            assert vault.run("save", "a", "after") == ["OK"]
            vault.expect("a", "after")


@case
def write_and_sync_fail():
    io = {"ENOSPC": ("IO",), "EIO": ("IO",), "EDQUOT": ("IO",)}
    failing(list(io), {"write", "fdatasync", "fsync", "rename", "renameat", "renameat2"}, ("save", "a", "new"), io)


@case
def write_and_sync_of_a_clear_fail():
    io = {"ENOSPC": ("IO",), "EIO": ("IO",), "EDQUOT": ("IO",)}
    names = {"write", "fdatasync", "fsync", "rename", "renameat", "renameat2", "unlink", "unlinkat"}
    failing(list(io), names, ("clear", "a"), io, done="NOT_FOUND")


@case
def making_the_vault_fails():
    names = {"write", "fdatasync", "fsync", "renameat", "mkdirat", "mkdir", "openat", "fcntl"}
    for call in [call for call in system_calls(Vault(), "save", "a", "new") if call[0] in names]:
        for error in ("ENOSPC", "EIO"):
            vault = Vault()
            status = vault.run("save", "a", "new", wrapper=inject(call, f"error={error}"))[-1]
            assert status in ("OK", "IO"), f"{error} at {call}: {status}"
            vault.expect("a", *(("new",) if status == "OK" else ("NOT_FOUND", "new")))
            assert vault.run("save", "b", "after") == ["OK"], f"{error} at {call}"
            vault.expect("b", "after")


@case
def everything_is_durable_before_it_is_acknowledged():
    """Power may go at any moment after the call: a file is synced before it gets its name, and its directory after."""
    for prepared in (False, True):
        vault = Vault()
        if prepared:
            assert vault.run("save", "a", "old") == ["OK"]
        log = os.path.join(WORK, "order.log")
        vault.run("save", "a", "new", wrapper=("strace", "-f", "-y", "-o", log))
        pending, renamed = {}, set()
        with open(log, encoding="utf-8", errors="replace") as lines:
            for line in lines:
                target = re.search(r"\((\d+)<([^>]*)>", line)
                path = target.group(2) if target else ""
                if " write(" in line and vault.path in path:
                    pending[path] = "written"
                elif "fdatasync(" in line and path in pending:
                    pending[path] = "synced"
                elif "symlinkat(" in line:
                    # A link has no content of its own to be synced.
                    pending["/".join(re.search(r'<([^>]*)>, "([^"]*)"', line).groups())] = "synced"
                elif "renameat(" in line:
                    old, new = re.findall(r'<([^>]*)>, "([^"]*)"', line)
                    assert pending.pop("/".join(old)) == "synced", f"renamed before it was synced: {line}"
                    renamed.add(new[0])
                elif "mkdir" in line and line.rstrip().endswith("= 0"):
                    made = re.search(r'"([^"]*)"', line).group(1)
                    renamed.add(os.path.dirname(made) if made.startswith("/") else path)
                elif " fsync(" in line:
                    renamed.discard(path)
        pending.pop(vault.path + "/changes", None)  # the log of changes need not be durable
        assert not pending and not renamed, f"not durable: {pending} {renamed}"


# A signal may interrupt these, at least on a file system over a network. Not close: a repetition would close another
# thread's descriptor.
INTERRUPTIBLE = {
    "fallocate", "fchmod", "fcntl", "fdatasync", "flock", "fstat", "fsync", "ftruncate", "futex", "getdents64", "getrandom",
    "mkdir", "mkdirat", "newfstatat", "openat", "pread64", "pwrite64", "read", "readlink", "readlinkat", "rename", "renameat",
    "renameat2", "statx", "symlinkat", "unlink", "unlinkat", "utimensat", "write",
}


@case
def interrupted_calls_are_repeated():
    base = Vault()
    assert base.run("save", "a", "old") == ["OK"] and base.run("save", "b", "other") == ["OK"]
    calls = {
        ("save", "a", "new"): "new",
        ("clear", "a"): "NOT_FOUND",
        ("load", "a"): "old",
    }
    for arguments, result in calls.items():
        for call in system_calls(fresh_copy(base), *arguments):
            if call[0] not in INTERRUPTIBLE:
                continue
            vault = fresh_copy(base)
            status = vault.run(*arguments, wrapper=inject(call, "error=EINTR"))[-1]
            assert status == "OK", f"EINTR at {call} of {arguments}: {status}"
            vault.expect("a", result)
    for call in system_calls(Vault(), "save", "a", "new"):
        if call[0] in INTERRUPTIBLE:
            vault = Vault()
            status = vault.run("save", "a", "new", wrapper=inject(call, "error=EINTR"))[-1]
            assert status == "OK", f"EINTR at {call} of the first save: {status}"
            vault.expect("a", "new")


@case
def opening_fails():
    allowed = {"EMFILE": ("IO", "OK"), "ENOMEM": ("IO", "OK"), "EIO": ("IO", "OK")}
    failing(list(allowed), {"openat", "fstat", "newfstatat", "pread64"}, ("save", "a", "new"), allowed)


# Disks and permissions


def mounted(size, body):
    if os.geteuid() != 0:
        raise Skip("only root can mount")
    folder = tempfile.mkdtemp(prefix="disk-", dir=WORK)
    if subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", folder], capture_output=True).returncode != 0:
        raise Skip("no tmpfs can be mounted here")
    try:
        body(folder)
    finally:
        subprocess.run(["umount", "-l", folder], check=True)


@case
def full_disk():
    def body(folder):
        vault = Vault(folder + "/vault")
        fill = folder + "/fill"

        def fill_up():
            descriptor = os.open(fill, os.O_WRONLY | os.O_CREAT)
            try:
                while True:
                    os.write(descriptor, b"x" * 4096)
            except OSError:
                os.close(descriptor)

        fill_up()
        assert vault.run("save", "a", "x")[-1] == "IO"
        os.remove(fill)
        assert vault.run("save", "a", "old") == ["OK"]
        fill_up()
        assert vault.run("save", "a", "n" * 9000)[-1] == "IO"
        vault.expect("a", "old")
        os.remove(fill)
        assert vault.run("save", "a", "new") == ["OK"]
        vault.expect("a", "new")
    mounted("256k", body)


@case
def read_only_disk():
    def body(folder):
        vault = Vault(folder + "/vault")
        assert vault.run("save", "a", "old") == ["OK"]
        subprocess.run(["mount", "-o", "remount,ro", folder], check=True)
        vault.expect("a", "old")
        assert vault.run("save", "a", "new")[-1] == "IO"
        assert vault.run("clear", "a")[-1] == "IO"
        vault.expect("a", "old")
    mounted("256k", body)


@case
def directory_without_permission_to_write():
    if os.geteuid() != 0 or not shutil.which("setpriv"):
        raise Skip("needs root and setpriv")
    os.chmod(WORK, 0o755)
    nobody = ("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups")
    home = tempfile.mkdtemp(prefix="case-", dir=WORK)
    os.chown(home, 65534, 65534)
    vault = Vault(home + "/vault")
    assert vault.run("save", "a", "old", wrapper=nobody) == ["OK"]
    os.chmod(vault.path + "/current/records", 0o500)
    assert vault.run("save", "a", "new", wrapper=nobody)[-1] == "DENIED"
    assert vault.run("load", "a", wrapper=nobody) == ["old", "OK"]
    # Another user, root included, is told whose it is.
    assert vault.run("load", "a")[-1] == "DENIED"
    os.chmod(vault.path, 0o755)
    assert vault.run("load", "a", wrapper=nobody)[-1] == "DENIED"


# Many processes


@case
def four_processes_save_different_items():
    vault = Vault()
    processes = [vault.start("saves", f"item-{number}", 100) for number in range(4)]
    for process in processes:
        assert process.communicate(timeout=PATIENCE)[0].endswith("100\nOK\n")
    for number in range(4):
        vault.expect(f"item-{number}", "100")
    assert vault.run("count") == ["4", "OK"]


@case
def four_processes_save_one_item_and_nobody_reads_a_torn_one():
    vault = Vault()
    assert vault.run("save", "a", "x") == ["OK"]
    writers = [vault.start("pattern", "a", 100, letter) for letter in "abcd"]
    readers = [vault.start("watch", "a", 500) for _ in range(2)]
    for process in writers + readers:
        assert process.communicate(timeout=PATIENCE)[0] == "OK\n"


@case
def processes_make_the_vault_at_once():
    for _ in range(15):
        vault = Vault()
        processes = [vault.start("save", number, number) for number in range(4)]
        for process in processes:
            assert process.communicate(timeout=PATIENCE)[0] == "OK\n"
        for number in range(4):
            vault.expect(str(number), str(number))


@case
def eight_processes_on_one_item_all_get_their_turn():
    vault = Vault()
    processes = [vault.start("saves", "a", 40) for _ in range(8)]
    for process in processes:
        output, errors = process.communicate(timeout=PATIENCE)
        assert output.endswith("40\nOK\n"), output[-200:] + errors
    vault.expect("a", "40")


@case
def a_held_lock_is_busy_at_the_deadline():
    vault = Vault()
    assert vault.run("save", "a", "old") == ["OK"]
    descriptor = os.open(vault.path + "/lock", os.O_RDWR)
    everything = struct.pack("hhqqi4x", fcntl.F_WRLCK, os.SEEK_SET, 0, 0, 0)
    fcntl.fcntl(descriptor, 37, everything)  # F_OFD_SETLK
    start = tests_clock.now()
    waiting = [vault.start("save", "a", "new", PATIENCE * 1000) for _ in range(8)]
    wait_until(lambda: waiters(vault.path + "/lock") == 8, "eight processes that wait for the lock")
    tests_clock.advance(PATIENCE)
    assert [process.communicate(timeout=PATIENCE)[0] for process in waiting] == ["BUSY\n"] * 8
    assert PATIENCE <= tests_clock.now() - start < 2 * PATIENCE
    vault.expect("a", "old")
    patient = vault.start("save", "a", "new", PATIENCE * 1000)
    wait_until(lambda: waiters(vault.path + "/lock") or patient.poll() is not None, "a process that waits for the lock")
    os.close(descriptor)
    assert patient.communicate(timeout=PATIENCE)[0] == "OK\n"
    vault.expect("a", "new")


@case
def a_frozen_writer_delays_nobody_past_the_deadline():
    vault = Vault()
    assert vault.run("save", "a", "old") == ["OK"]
    frozen = vault.start("pattern", "a", 1000000, "f")
    try:
        wait_until(lambda: vault.load("a") != "old", "the first value")
        stop_process(frozen.pid)
        waiting = vault.start("save", "a", "new")
        wait_until(lambda: waiters(vault.path + "/lock") or waiting.poll() is not None, "a process that waits for the lock")
        tests_clock.advance(5)
        status = waiting.communicate(timeout=PATIENCE)[0]
        assert status in ("OK\n", "BUSY\n"), status
        assert vault.run("save", "b", "free") == ["OK"]
        assert set(vault.load("a")) <= {"f"} or vault.load("a") == "new"
    finally:
        frozen.kill()
        frozen.communicate()
    assert vault.run("save", "a", "after") == ["OK"]


def main():
    passed = failed = skipped = 0
    only = sys.argv[2:]
    try:
        build_probe()
        for function in CASES:
            name = function.__name__
            if only and name not in only:
                continue
            start = time.monotonic()
            try:
                function()
                passed += 1
                print(f"ok      {name} ({time.monotonic() - start:.1f} s)", flush=True)
            except Skip as reason:
                skipped += 1
                print(f"skipped {name}: {reason}", flush=True)
            except Exception:
                failed += 1
                print(f"FAILED  {name}\n{traceback.format_exc()}", flush=True)
    finally:
        shutil.rmtree(WORK, ignore_errors=True)
    print(f"{passed} passed, {failed} failed, {skipped} skipped")
    return 1 if failed else 0


sys.exit(main())
