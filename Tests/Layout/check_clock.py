#!/usr/bin/env python3
"""Fails if anything but clock.c reads the monotonic clock, makes a timer, sleeps, or waits by another clock or for a number.

A wait gets its milliseconds from a deadline, by tokenkeep_timeout_until or what stands on it (Deadline). EXCEPTIONS has the
lines that do otherwise, with the reason.
"""
import os
import re
import sys

SOURCES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "Sources")
OWNER = os.path.join("CSystemShims", "clock.c")
# Comments may name what the code must not use.
COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.S)
READS = r"\bCLOCK_MONOTONIC\b|\bpthread_(?:cond_timedwait|cond_clockwait|condattr_setclock|mutex_timedlock)\b"
# A function of a module's own may have such a name: what comes before says that it is none of libc's.
SLEEPS = r"(?<![.\w])(?<!func )u?sleep\(|\b(?:clock_)?nanosleep\(|\btimerfd_create\("
# The last argument: a number, a name in capitals, or a constant of a type; 0 looks, and -1 waits for ever, for a descriptor.
POLLS = r"(?<![\w.])poll\([^;{}\n]*, *(?:[1-9][\d_]*|[A-Z][A-Z_]+|[A-Z]\w*\.\w+)\)"
CALLS = r"\bsd_bus_call\("
RULES = re.compile("|".join([READS, SLEEPS, POLLS, CALLS]))

GLANCE = "a look at a cancellation or a client between waits, whose end is a deadline"
LOOK = "a look at what no descriptor tells of; a number of looks or the caller's clock ends it"
EXCEPTIONS = {
    ("CLibsecret/worker_threads.c", "nanosleep("): LOOK,
    ("TokenKeepProvider/Prompts/PinentryDialog.swift", "poll("): GLANCE,
    ("TokenKeepProvider/Work/PasswordReading.swift", "poll("): GLANCE,
    ("TokenKeepProvider/Bus/Bus.swift", "sd_bus_call("): "the one maker of the bus's timeouts, from a deadline",
    ("agent/main.c", "timerfd_create("): "tells of a wall clock that was set; it never ends",
    ("agent/tools.c", "usleep("): "by the boot clock, as the agent whose answer it awaits",
    ("tpm2/connection.c", "poll("): "the program has setitimer's clock, and no other",
    ("tpm2/work.c", "nanosleep("): "the program has setitimer's clock, and no other",
}


def strays(text):
    """The line and the name of each place of a source that reads or waits by itself."""
    text = COMMENT.sub(lambda comment: "\n" * comment[0].count("\n"), text)
    for found in RULES.finditer(text):
        yield text.count("\n", 0, found.start()) + 1, re.match(r"\w+\(?", found[0])[0]


def sources():
    for folder, _, files in os.walk(SOURCES):
        for name in sorted(files):
            path = os.path.join(folder, name)
            relative = os.path.relpath(path, SOURCES)
            if name.endswith((".swift", ".c", ".h")) and relative != OWNER:
                with open(path, encoding="utf-8") as file:
                    yield relative, file.read()


def check_the_rules():
    """Each rule finds what it forbids, and lets the rest pass."""
    for text, count in [
            ("clock_gettime(CLOCK_MONOTONIC, &now);", 1), ("/* CLOCK_MONOTONIC */ // usleep(1)\nusleep(1)", 1), ("usleep(1000 * left)", 1),
            ("nanosleep(&rest, NULL); sleep(1);", 2), ("timerfd_create(CLOCK_BOOTTIME, 0)", 1), ("Task.sleep(for: pause)", 0),
            ("login1_let_sleep(&login1)", 0), ("poll(&wait, 1, 100) > 0", 1), ("poll(&wait, 1, RECEIVE_MS)", 1),
            ("poll(&ready, 1, Dialog.pause)", 1), ("poll(&wait, 1, left)", 0), ("poll(waits, 3, -1); poll(&wait, 1, 0)", 0),
            ("poll(&ready, 1, Int32(clamping: limit))", 0), ("sd_bus_call(bus, call, 2_000_000, nil, &answer)", 1),
            ("sd_bus_call_method(bus, name, path, name, member, NULL, NULL, NULL)", 0), ("static func sleep(", 0)]:
        assert len(list(strays(text))) == count, (text, list(strays(text)))


def main():
    check_the_rules()
    failed, unused = False, set(EXCEPTIONS)
    for path, text in sources():
        for line, name in strays(text):
            if (path, name) in EXCEPTIONS:
                unused.discard((path, name))
                continue
            failed = True
            print(f"Sources/{path}:{line}: {name}: use tokenkeep_now, tokenkeep_timeout_until, tokenkeep_condition_wait, "
                  "tokenkeep_pause, or an alarm or timer of clock.c", file=sys.stderr)
    for path, name in sorted(unused):
        print(f"Sources/{path}: {name} is an exception without need", file=sys.stderr)
    return 1 if failed or unused else 0


if __name__ == "__main__":
    sys.exit(main())
