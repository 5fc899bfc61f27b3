#!/usr/bin/env python3
"""Fails if a test sleeps, reads the real clock, or gives a call a limit that is shorter than the patience of all tests.

A machine that stalls must fail no test: a test waits for a state (Tests/Support), and passes limits by the tests' clock.
EXCEPTIONS has the lines that may, with the reason. Benchmarks may: they assert nothing.
"""
import os
import re
import sys

TESTS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
sys.path.insert(0, os.path.join(TESTS, "Support"))
from patience import PATIENCE  # noqa: E402: its folder must be on the path first

LEFT_OUT = {"Benchmarks", "Fuzz", "Layout", "Vectors", "__pycache__"}
ENDINGS = {".swift", ".c", ".py", ".sh"}
NUMBER = r"(\d[\d_]*(?:\.\d+)?)\b"
SLEEPS, READS, LIMIT = "sleeps", "reads the real clock", "has a limit that is shorter than the tests' patience"
MEMORY = "makes files in memory by itself"
SECONDS, MILLISECONDS = PATIENCE, PATIENCE * 1000
# What a rule forbids, in which files, as what pattern, and from which number on it is allowed; 0 looks, and does not wait.
RULES = [
    (SLEEPS, ".swift", r"\b(?:u?sleep|nanosleep|Thread\.sleep|Task\.sleep)\(", None),
    (SLEEPS, ".c", r"\b(?:u?sleep|nanosleep)\(", None),
    (SLEEPS, ".py", r"\btime\.sleep\(", None),
    (SLEEPS, ".sh", r"\bsleep [\d.$\"]", None),
    (READS, ".swift", r"\b(?:ContinuousClock|SuspendingClock)\b", None),
    (READS, ".c", r"\bCLOCK_MONOTONIC\b|\bg_get_monotonic_time\(", None),
    (READS, ".py", r"\btime\.(?:monotonic|perf_counter)\(|/proc/uptime", None),
    (READS, ".sh", r"\btime\.monotonic\(|\$SECONDS\b|\$EPOCHREALTIME\b|/proc/uptime", None),
    (LIMIT, ".swift", rf"(?:\b(?:timeout|within)|[mM]illiseconds): {NUMBER}(?! \*)", MILLISECONDS),
    (LIMIT, ".swift", rf"[tT]imeoutMilliseconds = {NUMBER}(?! \*)", MILLISECONDS),
    # Real time, beside tests that hold each other up: it ends a test that hangs.
    (LIMIT, ".swift", rf"\.timeLimit\(\.minutes\({NUMBER}", 20),
    (LIMIT, ".swift", rf"\bpoll\([^;]*, {NUMBER}\)", MILLISECONDS),
    (LIMIT, ".c", rf"timeout_ms = {NUMBER}", MILLISECONDS),
    (LIMIT, ".c", rf"\balarm\({NUMBER}\)", SECONDS),
    (LIMIT, ".c", rf"\bpoll\([^;]*, {NUMBER}\)", MILLISECONDS),
    (LIMIT, ".py", rf"\b(?:timeout|patience|limit)={NUMBER}(?! \*)", SECONDS),
    (LIMIT, ".py", rf"\b(?:settimeout|wait)\({NUMBER}\)", SECONDS),
    (LIMIT, ".py", rf"\btimeout_ms={NUMBER}", MILLISECONDS),
    (LIMIT, ".py", rf"-D\w+_MS={NUMBER}", MILLISECONDS),
    (LIMIT, ".py", rf"-D\w+_US={NUMBER}", MILLISECONDS * 1000),
    (LIMIT, ".py", rf"\"--timeout\", \"{NUMBER}\"", SECONDS),
    (LIMIT, ".sh", rf"(?:^|[ (\"])timeout {NUMBER}", SECONDS),
    (LIMIT, ".sh", rf"\bgdbus wait [^|;]*--timeout {NUMBER}", SECONDS),
    # A limit of a call of the program, and of a module in a stack's line: users have seconds, which may be met. No machine meets
    # milliseconds surely.
    (LIMIT, ".sh", r"--timeout (\d+)ms\b", float("inf")),
    (LIMIT, ".sh", r"\btimeout=(\d+)ms\b", float("inf")),
    # memory.py and TemporaryDirectory.swift make directories there that the next run removes if a test was killed.
    (MEMORY, ".py", r"[\"']/dev/shm", None),
    (MEMORY, ".swift", r"/dev/shm/", None),
    (MEMORY, ".sh", r"(?:mktemp|mkdir|TMPDIR=)[^|;]*/dev/shm", None),
]

CLOCK = "the clock itself, and the one wait of each language"
ENDLESS = "a program that ends only if it is killed"
STATE = "waits for a state that only the kernel or the real clock has; nothing is measured"
OWN_FORM = "its own form of the one wait, with the same patience"
SHOWN = "prints or notes how long a call took, by the tests' clock if a limit is meant"
EXPIRES = "the limit must expire, and expires however slow the machine is"
AGAIN = "a pause between two looks or two rounds of a loop without an end of its own"
LEFT = "locks its directories, by which the next run knows those that a killed test has left"
RETRIED = "tries something else then, until the one patience is over"
# File, a part of the line ("": each line of the file), reason.
EXCEPTIONS = [
    ("ABI/cancel.c", "clock_gettime(", SHOWN),
    ("ABI/watch.c", "poll(&poller, 1, 1000)", AGAIN),
    ("Agent/fuzz.py", "time.monotonic()", "fuzzing lasts as long as it is told"),
    ("Agent/still_clock.c", "clock == CLOCK_BOOTTIME", CLOCK),
    ("CLI/keys.py", "time.monotonic()", STATE),
    ("CLI/lib.sh", "/proc/uptime", STATE),
    ("CLI/machines.sh", "until_exists()", OWN_FORM),
    ("CLI/t_device_tpm.sh", "until pkill", OWN_FORM),
    ("CLI/t_environment.sh", "exec sleep", ENDLESS),
    ("CLI/t_exit_codes.sh", "--timeout 20ms", EXPIRES),
    ("CLI/t_import_odd.sh", "silent --timeout 20ms", EXPIRES),
    ("CLI/t_module_messages.sh", "module slow", ENDLESS),
    ("CLI/t_module_messages.sh", "timeout=200ms", EXPIRES),
    ("CLI/t_provoked_errors.sh", "exec sleep 600", ENDLESS),
    ("CLI/t_secrecy.sh", "time.monotonic()", OWN_FORM),
    ("CLI/t_session.sh", "sleep 600 &", ENDLESS),
    ("CLI/t_session_exec.sh", "exec sleep 600", ENDLESS),
    ("CLI/t_session_exec.sh", "try slow", "a program that is slow on purpose, and is killed"),
    ("CLI/t_session_exec.sh", "sleep 0", "gives its processor away, once"),
    ("CLI/t_terminal.sh", "uptime_tenths()", "the more time passes, the more may be drawn"),
    ("CLI/terminal.py", "time.monotonic()", OWN_FORM),
    ("Examples/fake_pinentry.py", "time.sleep(3600)", ENDLESS),
    ("Examples/login_helper.py", "QUICK = ", "pauses of the helper, which end by themselves"),
    ("Examples/login_helper.py", "HASTY = ", EXPIRES),
    ("Faults/breaker_cases.py", "timeout_ms=200", EXPIRES),
    ("Faults/gate.c", "nanosleep(", OWN_FORM),
    ("Faults/host.c", "g_get_monotonic_time()", "half a minute by the tests' clock, of the minute that a call has"),
    ("Faults/kill_at.c", "nanosleep(", "a call that is slow on purpose; nothing waits for it"),
    ("Faults/races.py", "time.monotonic()", "plays rounds as long as it is told"),
    ("Faults/run.py", "time.monotonic()", SHOWN),
    ("Faults/serve.c", "clock_gettime(", SHOWN),
    ("Faults/serve.c", "poll(&poller, 1, 30000)", AGAIN),
    ("Faults/threadless.c", "nanosleep(", AGAIN),
    ("Faults/threadless.c", "clock_gettime(", SHOWN),
    ("Fleet/t_connections.py", "over.wait(0.5)", AGAIN),
    ("Login/faults.py", "timeout=", EXPIRES),
    ("Login/homes.py", "timeout=1", EXPIRES),
    ("Provider/test_locks.py", "time.sleep(", ENDLESS),
    ("Providers/kwallet.py", "patience=15", "a service that has nothing to write writes nothing"),
    ("Python/packages.py", "Store(timeout=1.5)", "a text for type checkers, which nobody runs"),
    ("Python/packages.py", "time.monotonic()", SHOWN),
    ("Python/run.py", "time.monotonic()", SHOWN),
    ("Servers/rotating_server.py", "time.monotonic()", "the server is another machine, whose tokens end by the real clock"),
    ("Servers/soak.py", "is_over.wait(1)", AGAIN),
    ("Servers/soak_disturbances.py", "is_over.wait(1)", AGAIN),
    ("Support/Clock/page.c", "", CLOCK),
    ("Support/Clock/preload.c", "", CLOCK),
    ("Support/Clock/tool.c", "", CLOCK),
    ("Support/TemporaryDirectory.swift", "/dev/shm/", LEFT),
    ("Support/credentials.py", "gate.wait(0.05)", AGAIN),
    ("Support/forget_keys.py", "/dev/shm/", "looks for vaults there"),
    ("Support/memory.py", "/dev/shm", LEFT),
    ("Support/patience.py", "time.", CLOCK),
    ("Support/stall.py", "time.", "a tool that lets threads of other programs stand still for a time"),
    ("Systems/greeter.py", "time.sleep(1000)", ENDLESS),
    ("Systems/greeters.py", "patience=3", RETRIED),
    ("Systems/lockers.py", "patience=6", RETRIED),
    ("TPM/helper.py", "settimeout(1)", "another user's program, which keeps the helper busy as fast as it can"),
    ("TokenKeepEngine/DerivationMovedClockTests.swift", "imeoutMilliseconds = 5_000", EXPIRES),
    ("TokenKeepFoundation/StandingClock.swift", "func sleep(", "a clock that stands, whose function has the protocol's name"),
    ("Upgrade/lib.sh", "--timeout 300ms", EXPIRES),
    ("Upgrade/0.1.0/program.c", "", "the program of a release as it was: a limit that a user gives"),
    ("Upgrade/0.1.0/include/tokenkeep/watch.h", "", "the header of a release as it was"),
]


def strays(ending, text):
    """The line, its number and the rule of each place of a file that breaks a rule."""
    for number, line in enumerate(text.splitlines(), 1):
        for rule, where, pattern, least in RULES:
            if where == ending:
                for found in re.finditer(pattern, line):
                    if least is None or 0 < float(found[1].replace("_", "")) < least:
                        yield number, line, rule


def exception(path, line):
    """The exception that the line is; None if it is none."""
    return next((one for one in EXCEPTIONS if one[0] == path and one[1] in line), None)


def test_files():
    for folder, folders, files in os.walk(TESTS):
        folders[:] = sorted(set(folders) - LEFT_OUT)
        for name in sorted(files):
            ending = os.path.splitext(name)[1].replace(".h", ".c")
            if ending in ENDINGS:
                path = os.path.join(folder, name)
                with open(path, encoding="utf-8", errors="replace") as file:
                    yield os.path.relpath(path, TESTS), ending, file.read()


def check_the_rules():
    """Each rule finds what it forbids, and lets the rest pass."""
    for ending, text, count in [
            (".swift", "usleep(1000); try await Task.sleep(for: .seconds(1))", 2), (".swift", "ContinuousClock.now", 1),
            (".swift", "within: 700, timeoutMilliseconds: 299_999", 2), (".swift", "within: 300_000", 0),
            (".swift", "poll(&poller, 1, 10_000) == 1", 1), (".swift", "poll(&poller, 1, Int32(Patience.milliseconds))", 0),
            (".swift", "milliseconds: 10 * Patience.milliseconds", 0), (".swift", "$0.timeoutMilliseconds = 700", 1),
            (".swift", "$0.timeoutMilliseconds = 2 * Patience.milliseconds", 0), (".swift", "@Suite(.timeLimit(.minutes(2)))", 1),
            (".swift", "@Suite(.timeLimit(.minutes(20)))", 0), (".c", "options.timeout_ms = 300;", 1),
            (".c", "nanosleep(&moment, NULL)", 1), (".c", "g_get_monotonic_time() - start", 1), (".c", "poll(&one, 1, 100) > 0", 1),
            (".c", "poll(&one, 1, -1); poll(&one, 1, 0)", 0), (".py", "time.sleep(1)", 1), (".py", "run(timeout=5)", 1),
            (".c", "alarm(60)", 1), (".c", "alarm(0); alarm(CHECK_PATIENCE_S)", 0),
            (".py", "time.monotonic() < end", 1), (".py", "run(timeout=300)", 0), (".py", "wait_until(x, patience=3)", 1),
            (".py", "process.wait(30); s.settimeout(1)", 2), (".py", "process.wait(PATIENCE)", 0),
            (".py", 'F = "-DPINENTRY_MS=2500 -DPATIENCE_US=300000"', 2), (".py", '"--timeout", "30"', 1),
            (".py", "Server(vault, timeout_ms=200)", 1), (".sh", "    sleep 3.5", 1), (".sh", "timeout 10 bash -c x", 1),
            (".sh", "load --timeout 10s", 0), (".sh", "load --timeout 100ms", 1), (".sh", "any required slow timeout=200ms", 1),
            (".sh", "mktemp -d /dev/shm/x.XXXXXX", 1), (".py", 'tempfile.mkdtemp(dir="/dev/shm")', 1),
            (".swift", 'mkdtemp("/dev/shm/x-XXXXXX")', 1), (".sh", "read -r now _ </proc/uptime", 1),
            (".sh", "gdbus wait --session --timeout 20 a.b", 1), (".sh", "gdbus wait --session --timeout 300 a.b", 0)]:
        found = list(strays(ending, text))
        assert len(found) == count, (text, found)


def check_the_patience():
    """Swift and C have the number in a header: patience.py is copied to places where that is not."""
    with open(f"{TESTS}/Support/Clock/include/test_clock.h", encoding="utf-8") as header:
        assert f"TEST_PATIENCE_S = {PATIENCE} " in header.read(), "two numbers for the patience of tests"


def main():
    check_the_rules()
    check_the_patience()
    failed, unused = False, set(EXCEPTIONS)
    for path, ending, text in test_files():
        for number, line, rule in strays(ending, text):
            allowed = exception(path, line)
            unused.discard(allowed)
            if allowed is None:
                print(f"Tests/{path}:{number} {rule}: see CONTRIBUTING.md, \"Time in tests\"", file=sys.stderr)
                failed = True
    for path, part, _ in sorted(unused):
        print(f"Tests/{path}: {part!r} is an exception without need", file=sys.stderr)
    return 1 if failed or unused else 0


if __name__ == "__main__":
    sys.exit(main())
