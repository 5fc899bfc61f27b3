#!/usr/bin/env python3
"""Fails if a test sleeps, reads the real clock, or gives a call a limit of less than a minute.

A machine that stalls must fail no test: a test waits for a state (Tests/Support), and passes limits by the tests' clock.
EXCEPTIONS has the places that may, with the reason. Benchmarks may: they assert nothing.
"""
import os
import re
import sys

TESTS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
LEFT_OUT = {"Benchmarks", "Fuzz", "Layout", "Vectors", "__pycache__"}
NUMBER = r"(\d[\d_]*(?:\.\d+)?)\b"
RULES = {
    "sleeps": {
        ".swift": r"\b(?:u?sleep|nanosleep|Thread\.sleep|Task\.sleep)\(",
        ".c": r"\b(?:u?sleep|nanosleep)\(",
        ".py": r"\btime\.sleep\(",
        ".sh": r"\bsleep [\d.$\"]",
    },
    "reads the real clock": {
        ".swift": r"\b(?:ContinuousClock|SuspendingClock)\b",
        ".c": r"\bCLOCK_MONOTONIC\b",
        ".py": r"\btime\.(?:monotonic|perf_counter)\(",
        ".sh": r"\btime\.monotonic\(|\$SECONDS\b|\$EPOCHREALTIME\b",
    },
    "has a limit of less than a minute": {
        ".swift": rf"(?:\b(?:timeout|within)|[mM]illiseconds): {NUMBER}(?! \*)",
        ".c": rf"timeout_ms = {NUMBER}",
        ".py": rf"\btimeout={NUMBER}(?! \*)",
        ".sh": rf"(?:^|[ (\"])timeout {NUMBER}",
    },
}
MINUTE = {".swift": 60_000, ".c": 60_000, ".py": 60, ".sh": 60}

CLOCK = "the clock itself, and the one wait of each language"
ENDLESS = "a program that ends only if it is killed"
STATE = "waits for a state that only the kernel or the real clock has; nothing is measured"
PATIENCE = "its own form of the one wait, with the same patience"
SHOWN = "prints or notes how long a call took, by the tests' clock if a limit is meant"
EXPIRES = "the limit must expire, and expires however slow the machine is"
EXCEPTIONS = {
    "ABI/cancel.c": SHOWN,
    "Agent/fuzz.py": "fuzzing lasts as long as it is told",
    "Agent/still_clock.c": CLOCK,
    "CLI/keys.py": STATE,
    "CLI/lib.sh": STATE,
    "CLI/machines.sh": PATIENCE,
    "CLI/t_device_tpm.sh": PATIENCE,
    "CLI/t_environment.sh": ENDLESS,
    "CLI/t_module_messages.sh": ENDLESS,
    "CLI/t_provoked_errors.sh": ENDLESS,
    "CLI/t_secrecy.sh": PATIENCE,
    "CLI/t_session.sh": ENDLESS,
    "CLI/t_session_exec.sh": ENDLESS,
    "CLI/terminal.py": PATIENCE,
    "Examples/fake_pinentry.py": ENDLESS,
    "Faults/gate.c": PATIENCE,
    "Faults/kill_at.c": "a call that is slow on purpose; nothing waits for it",
    "Faults/races.py": "plays rounds as long as it is told",
    "Faults/run.py": SHOWN,
    "Faults/serve.c": SHOWN,
    "Faults/threadless.c": SHOWN,
    "Login/faults.py": EXPIRES,
    "Login/homes.py": EXPIRES,
    "Provider/test_locks.py": ENDLESS,
    "Python/packages.py": SHOWN,
    "Python/run.py": SHOWN,
    "Servers/rotating_server.py": "the server is another machine, whose tokens end by the real clock",
    "Support/Clock/page.c": CLOCK,
    "Support/Clock/preload.c": CLOCK,
    "Support/Clock/tool.c": CLOCK,
    "Support/PatientDeadline.swift": "a deadline that has passed",
    "Support/patience.py": CLOCK,
    "Systems/greeter.py": ENDLESS,
    "TokenKeepFoundation/StandingClock.swift": "a clock that stands, whose function has the protocol's name",
    "Upgrade/0.1.0/program.c": "the program of a release as it was: a limit that a user gives",
}


def strays(ending, text):
    """The line and the rule of each place of a file that breaks a rule."""
    for number, line in enumerate(text.splitlines(), 1):
        for rule, patterns in RULES.items():
            for found in re.finditer(patterns[ending], line):
                if not found.groups() or float(found[1].replace("_", "")) < MINUTE[ending]:
                    yield number, rule


def test_files():
    for folder, folders, files in os.walk(TESTS):
        folders[:] = sorted(set(folders) - LEFT_OUT)
        for name in sorted(files):
            ending = os.path.splitext(name)[1].replace(".h", ".c")
            if ending in MINUTE:
                path = os.path.join(folder, name)
                with open(path, encoding="utf-8", errors="replace") as file:
                    yield os.path.relpath(path, TESTS), ending, file.read()


def check_the_rules():
    """Each rule finds what it forbids, and lets the rest pass."""
    for ending, text, count in [
            (".swift", "usleep(1000); try await Task.sleep(for: .seconds(1))", 2), (".swift", "ContinuousClock.now", 1),
            (".swift", "within: 700, timeoutMilliseconds: 59_999", 2), (".swift", "within: 60_000", 0),
            (".swift", "milliseconds: 10 * Patience.milliseconds", 0), (".c", "options.timeout_ms = 300;", 1),
            (".c", "nanosleep(&moment, NULL)", 1), (".py", "time.sleep(1)", 1), (".py", "run(timeout=5)", 1),
            (".py", "time.monotonic() < end", 1), (".py", "run(timeout=300)", 0), (".sh", "    sleep 3.5", 1),
            (".sh", "timeout 10 bash -c x", 1), (".sh", "load --timeout 10s", 0)]:
        found = list(strays(ending, text))
        assert len(found) == count, (text, found)


def main():
    check_the_rules()
    failed, unused = False, set(EXCEPTIONS)
    for path, ending, text in test_files():
        found = list(strays(ending, text))
        if path in EXCEPTIONS:
            unused -= {path} if found else set()
            continue
        for number, rule in found:
            print(f"Tests/{path}:{number} {rule}: see CONTRIBUTING.md, \"Time in tests\"", file=sys.stderr)
            failed = True
    for path in sorted(unused):
        print(f"Tests/{path} is an exception without need", file=sys.stderr)
    return 1 if failed or unused else 0


if __name__ == "__main__":
    sys.exit(main())
