#!/usr/bin/env python3
"""Fails if anything but clock.c reads the monotonic clock, makes a timer, or waits for a condition by another clock."""
import os
import re
import sys

SOURCES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "Sources")
OWNER = os.path.join("CSystemShims", "clock.c")
# Comments may name what the code must not use.
COMMENT = re.compile(r"//.*|/\*.*?\*/", re.S)
# The agent's timer tells that the real clock was set. It passes at no time.
EXCEPTIONS = {os.path.join("agent", "main.c")}
READS = re.compile(r"\bCLOCK_MONOTONIC\b|\btimerfd_create\b|\bpthread_(?:cond_timedwait|cond_clockwait|condattr_setclock|mutex_timedlock)\b")


def places():
    """Where a source reads or waits by itself."""
    for folder, _, files in os.walk(SOURCES):
        for name in sorted(files):
            path = os.path.join(folder, name)
            relative = os.path.relpath(path, SOURCES)
            if not name.endswith((".swift", ".c", ".h")) or relative in {OWNER, *EXCEPTIONS}:
                continue
            with open(path, encoding="utf-8") as file:
                text = COMMENT.sub(lambda comment: "\n" * comment[0].count("\n"), file.read())
            for found in READS.finditer(text):
                yield f"Sources/{relative}:{text.count(chr(10), 0, found.start()) + 1}: {found[0]}"


found = list(places())
for place in found:
    print(f"{place}: use tokenkeep_now, tokenkeep_timeout_until, tokenkeep_timer_open or tokenkeep_condition_wait", file=sys.stderr)
sys.exit(1 if found else 0)
