#!/usr/bin/env python3
"""Draws the house from the imports, and fails on an import that runs upwards or sideways.

Usage: check_imports.py [--draw]
"""
import os
import re
import sys

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")

# A target imports targets of lower floors alone.
FLOORS = [
    ["TokenKeepCore"],
    ["TokenKeepKeys", "TokenKeepSecretService", "TokenKeepPlugin"],
    ["TokenKeepRecords"],
    ["TokenKeepEngine"],
    ["TokenKeepSession", "TokenKeepTerminal"],
    ["TokenKeepOAuth"],
    ["TokenKeep", "TokenKeepFleet", "TokenKeepConformance"],
    ["TokenKeepC", "TokenKeepFoundation", "TokenKeepCLI", "TokenKeepCredential", "TokenKeepProvider"],
]
FLOOR = {target: number for number, targets in enumerate(FLOORS) for target in targets}

# C modules, and the only targets that import them.
OWNERS = {
    "CLibsecret": {"TokenKeepSecretService"},
    "CCurl": {"TokenKeepOAuth"},
    "CFleetLink": {"TokenKeepFleet"},
    "CJansson": {"TokenKeepKeys", "TokenKeepSession", "TokenKeepFleet"},
    "TokenKeepHeaders": {"TokenKeepC", "TokenKeepPlugin"},
    "Foundation": {"TokenKeepCLI", "TokenKeepFoundation"},
    "FoundationNetworking": {"TokenKeepFoundation"},
    "FoundationEssentials": {"TokenKeep", "TokenKeepCLI"},
    "CSystemdBus": {"TokenKeepProvider"},
    "CGcrypt": {"TokenKeepProvider"},
    "ArgumentParser": {"TokenKeepCLI"},
}

IMPORT = re.compile(r"^\s*(?:@\w+\s+)*(?:public |package |internal |private )?import (?:\w+ )?(\w+)", re.M)


def imports():
    """Each target's imports: {target: {module: first place}}."""
    found = {}
    sources = os.path.join(ROOT, "Sources")
    for target in sorted(os.listdir(sources)):
        for folder, _, files in os.walk(os.path.join(sources, target)):
            for name in files:
                if not name.endswith(".swift"):
                    continue
                path = os.path.join(folder, name)
                with open(path, encoding="utf-8") as file:
                    for module in IMPORT.findall(file.read()):
                        place = os.path.relpath(path, ROOT)
                        found.setdefault(target, {}).setdefault(module, place)
    return found


def faults(found):
    """The imports that break a rule."""
    for target, modules in found.items():
        if target not in FLOOR:
            yield f"Sources/{target} stands on no floor: add it to {os.path.basename(__file__)}"
            continue
        for module, place in modules.items():
            if module in FLOOR and module != target and FLOOR[module] >= FLOOR[target]:
                yield f"{place}: {target} (floor {FLOOR[target] + 1}) imports {module} (floor {FLOOR[module] + 1})"
            if module in OWNERS and target not in OWNERS[module]:
                yield f"{place}: only {', '.join(sorted(OWNERS[module]))} may import {module}"


def draw(found):
    """Prints the floors, the highest first, with what each target imports of the house."""
    for number in reversed(range(len(FLOORS))):
        for target in FLOORS[number]:
            below = sorted((m for m in found.get(target, {}) if m in FLOOR and m != target), key=lambda m: FLOOR[m])
            print(f"{number + 1}  {target:24} {', '.join(below)}")


def main():
    found = imports()
    if "--draw" in sys.argv:
        draw(found)
    broken = list(faults(found))
    for fault in broken:
        print(fault, file=sys.stderr)
    count = sum(len(modules) for modules in found.values())
    if not broken and count:
        print(f"{count} imports of {len(found)} targets run downwards")
    return 1 if broken or not count else 0


if __name__ == "__main__":
    sys.exit(main())
