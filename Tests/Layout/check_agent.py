#!/usr/bin/env python3
"""Fails if a file of the agent includes a header of its own floor or of a higher one: sources know facts, and nothing of what
follows from them."""
import os
import re
import sys

AGENT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "Sources", "agent")
# From the ground up. A file of another name than these is a fault.
FLOORS = [
    ["agent_limits", "class_keys", "lock_words", "lock_proof"],
    ["foreign_keys", "timers", "bus_calls", "listener"],
    ["held_keys", "service_manager", "tools"],
    ["facts"],
    # The rules see no source, and sources see no rule.
    ["lock_state", "login1_state", "screensavers", "requests"],
    ["lock_actions", "login1_sessions", "session_bus"],
    ["login1"],
    ["agent"],
    ["main"],
]
RULES = {"lock_state", "lock_actions"}
# The files that carry out actions include both rules and sources.
ABOVE = {"agent", "main"}
INCLUDE = re.compile(r'^#include "([a-z0-9_]+)\.h"$', re.M)


def faults():
    floor_of = {name: floor for floor, names in enumerate(FLOORS) for name in names}
    for file in sorted(os.listdir(AGENT)):
        name = os.path.splitext(file)[0]
        if name not in floor_of:
            yield f"{file}: has no floor"
            continue
        with open(os.path.join(AGENT, file), encoding="utf-8") as source:
            included = set(INCLUDE.findall(source.read())) - {name}
        for other in sorted(included):
            if floor_of.get(other, len(FLOORS)) >= floor_of[name]:
                yield f"{file}: includes {other}.h, which is not below it"
            elif other in RULES and name not in RULES | ABOVE:
                yield f"{file}: includes {other}.h: a source knows no rule"
            elif name in RULES and other in ("timers", "bus_calls", "listener", "service_manager"):
                yield f"{file}: includes {other}.h: a rule asks nobody"


found = list(faults())
for fault in found:
    print(f"Sources/agent/{fault}", file=sys.stderr)
sys.exit(1 if found else 0)
