#!/usr/bin/python3
"""Makes goals of the Makefile one after another, and says at the end what each took and which tests were slowest.

Usage: goals.py STEP…      a STEP is GOAL, or GOAL+GOAL/GOAL+GOAL: lists of goals that are made at the same time
After a build that failed no other step begins. With CI=true a goal that skips a test fails.
"""
import os
import re
import subprocess
import sys
import threading
import time

SLOWEST = 20
# Goals that others need. They are made before.
BUILDS = ["deps", "test-deps", "build", "build-tests", "stage"]
COLOURS = re.compile(r"\x1b\[[0-9;]*m")
SWIFT_TEST = re.compile(r"\W*Test (?!run with |case passing )(.+) (?:passed|failed) after ([\d.]+) seconds")
TIMED_TEST = re.compile(r"(?:ok|FAIL(?:ED)?):? +(.+?) \(([\d.]+) s\)")
# Its time is that since the line before.
OTHER_TEST = re.compile(r"ok:? +(.+)|(\w+) \(.*\) \.\.\. ok$|(.+): ok$")
SKIP = re.compile(r"skip(?:ped)?\b|\W*(?:Test|Suite) .* skipped\b|.*\.\.\. skipped|[1-9]\d* skipped\b")
FAILURE = re.compile(
    r"✘|FAIL|not ok|.*FAILED|.*: (?:fatal )?error:|.*\*\*\* \[|.*Fatal error|.*Sanitizer: |.*LeakSanitizer|.*Terminated")
LINES_OF_A_FAILURE, LAST_LINES = 14, 6
# Kernel keys of removed vaults are left by no goal to the next, nor by an earlier run to this one. Nor are files in memory.
SUPPORT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "Tests", "Support")
printing = threading.Lock()


def clean(*options):
    subprocess.run([sys.executable, f"{SUPPORT}/memory.py"], check=False)
    subprocess.run([sys.executable, f"{SUPPORT}/forget_keys.py", "--quiet", *options], check=False)


class Goal:
    def __init__(self, name):
        self.name, self.seconds, self.processor, self.passed = name, 0.0, 0.0, False
        self.lines, self.tests, self.skips = [], [], []

    def make(self):
        start = self.before = time.monotonic()
        done = [word for name in BUILDS if name != self.name for word in ("-o", name)]
        process = subprocess.Popen(
            ["make", "--no-print-directory", *done, self.name], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            errors="replace")
        reader = threading.Thread(target=self.read, args=[process.stdout], daemon=True)
        reader.start()
        # Its processor time is also that of the programs that it waited for.
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        # The pipe's end is not waited for: a program that a test left behind may hold it open.
        reader.join(timeout=10)
        clean()
        self.seconds, self.processor = time.monotonic() - start, used.ru_utime + used.ru_stime
        self.passed = process.returncode == 0 and not (self.skips and os.environ.get("CI") == "true")

    def read(self, output):
        for line in output:
            with printing:
                sys.stdout.write(line)
                sys.stdout.flush()
            self.note(COLOURS.sub("", line.rstrip("\n")))

    def note(self, line):
        now = time.monotonic()
        elapsed, self.before = now - self.before, now
        self.lines.append(line[:300])
        if timed := SWIFT_TEST.match(line) or TIMED_TEST.match(line):
            self.tests.append((float(timed[2]), timed[1]))
        elif other := OTHER_TEST.match(line):
            self.tests.append((elapsed, next(filter(None, other.groups()))))
        if SKIP.match(line):
            self.skips.append(line)

    def failure(self):
        named = [line for line in self.lines if FAILURE.match(line) and "ld.gold" not in line][-LINES_OF_A_FAILURE:]
        skips = self.skips if os.environ.get("CI") == "true" else []
        return [f"\nmake {self.name}:", *named, *skips, "… its last lines:", *self.lines[-LAST_LINES:]]


def make_step(step):
    lists = [[Goal(name) for name in words.split("+")] for words in step.split("/")]

    def make_list(goals):
        for goal in goals:
            goal.make()

    threads = [threading.Thread(target=make_list, args=[goals]) for goals in lists]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return [goal for goals in lists for goal in goals]


def summary(goals, seconds):
    tests = sorted(((taken, name, goal.name) for goal in goals for taken, name in goal.tests), reverse=True)
    if tests:
        yield f"\nThe slowest of {len(tests)} tests:"
        yield from (f"{taken:7.1f} s  {goal}: {name[:110]}" for taken, name, goal in tests[:SLOWEST])
    if skips := [f"make {goal.name}: {line}" for goal in goals for line in goal.skips]:
        yield "\nSkipped:"
        yield from skips
    yield f"\nGoals ({seconds:.0f} s), and the processor's time:"
    for goal in goals:
        yield f"{goal.seconds:7.1f} s {goal.processor:7.1f} s  {'ok    ' if goal.passed else 'FAILED'}  make {goal.name}"
    failed = [goal for goal in goals if not goal.passed]
    # At the end: who shows a part of a long output shows its end.
    for goal in failed:
        yield from goal.failure()
    yield f"{len(goals) - len(failed)} passed, {len(failed)} failed"


def main():
    start, goals = time.monotonic(), []
    clean("--before-tests")
    for step in sys.argv[1:]:
        goals += make_step(step)
        if any(goal.name in BUILDS and not goal.passed for goal in goals):
            break
    print("\n".join(summary(goals, time.monotonic() - start)), flush=True)
    return 0 if goals and all(goal.passed for goal in goals) else 1


if __name__ == "__main__":
    sys.exit(main())
