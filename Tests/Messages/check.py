#!/usr/bin/env python3
"""Fails on an error message of the sources that no test expects.

Usage: check.py [--list]        --list prints every message with what expects it

A test expects a message if a golden file of Tests/CLI has it in one line, or a string of a test written in C, Python or
Swift. Its interpolations match any text. not-provoked.txt lists the messages that no test can provoke with the real
parts: "constant part TAB reason". An entry must be a message of the sources that no test expects.
"""
import collections
import glob
import os
import re
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
LIST = os.path.join(HERE, "not-provoked.txt")

# A call that makes an error: its message follows as one literal, or as several joined by "+".
CALL = re.compile(
    r"(?:\b(?:TokenKeepError|CoreError)\(\s*(?:\.?\w+(?:\([^()]*\))?|[\w.]+ \? \.\w+ : \.\w+),"
    r"|\.shortage\(|\.error\(|\bValidationError\(|\bfail\(\s*\.\w+,)\s*(?=\")"
)
# The targets whose errors no vault, module or server sees: the conformance test, and Foundation's own names of errors.
LEFT_OUT = ("TokenKeepConformance", "TokenKeepFoundation")

Message = collections.namedtuple("Message", "place parts")
HOLE = None  # an interpolation


def literal(source, at):
    """The parts of the string literal that begins at `at`, and where it ends."""
    at += 1
    parts, text = [], ""
    while source[at] != '"':
        if source.startswith("\\(", at):
            at = interpolation(source, at + 2)
            parts += [text, HOLE]
            text = ""
        elif source[at] == "\\":
            text += {"n": "\n", "t": "\t"}.get(source[at + 1], source[at + 1])
            at += 2
        else:
            text += source[at]
            at += 1
    return parts + [text], at + 1


def interpolation(source, at):
    """Where the interpolation ends whose first character is at `at`."""
    depth = 1
    while depth:
        if source[at] == '"':
            _, at = literal(source, at)
            continue
        depth += {"(": 1, ")": -1}.get(source[at], 0)
        at += 1
    return at


def joined(source, at):
    """The parts of the literals that "+" joins, from `at` on."""
    parts = []
    while True:
        more, at = literal(source, at)
        parts += more
        plus = re.compile(r'\s*\+\s*(?=")').match(source, at)
        if not plus:
            return parts
        at = plus.end()


def sources():
    for path in sorted(glob.glob(os.path.join(ROOT, "Sources", "**", "*.swift"), recursive=True)):
        if not any(f"/Sources/{target}/" in path for target in LEFT_OUT):
            yield path


def messages():
    """Every message of the sources that has a constant part."""
    for path in sources():
        with open(path, encoding="utf-8") as file:
            source = file.read()
        for call in CALL.finditer(source):
            if source.startswith('"""', call.end()):
                continue
            parts = joined(source, call.end())
            place = f"{os.path.relpath(path, ROOT)}:{source.count(chr(10), 0, call.start()) + 1}"
            if len(constant(parts)) >= 6:
                yield Message(place, parts)


def constant(parts):
    """The longest part between two interpolations: it names the message in the list."""
    return max((part.strip() for part in parts if part is not HOLE), key=len, default="")


def pattern(parts):
    """What a line must match that has the message."""
    marked = "".join("\0" if part is HOLE else part for part in parts).strip("\0 ")
    return re.compile(".*?".join(re.escape(part) for part in marked.split("\0")))


def strings(path):
    """The string literals of a test, joined ones as one line."""
    with open(path, encoding="utf-8", errors="replace") as file:
        source = file.read()
    if path.endswith(".swift"):
        literals = re.compile(r'(?<!")"(?!"")(?:[^"\\\n]|\\.)*"(?:\s*\+\s*"(?:[^"\\\n]|\\.)*")*')
        join = re.compile(r'"\s*\+\s*"')
    else:
        literals = re.compile(r'"(?:[^"\\\n]|\\.)*"(?:\s*"(?:[^"\\\n]|\\.)*")*|\'(?:[^\'\\\n]|\\.)*\'')
        join = re.compile(r'"\s*"')
    for match in literals.finditer(source):
        yield join.sub("", match.group())[1:-1].replace('\\"', '"').replace("\\\\", "\\")


def expectations():
    """What the tests expect: {place: its lines}."""
    found = {}
    for path in sorted(glob.glob(os.path.join(ROOT, "Tests", "**", "*"), recursive=True)):
        # The programs of releases before expect nothing of this one.
        if "/Tests/Upgrade/" in path:
            continue
        place = os.path.relpath(path, ROOT)
        if path.endswith(".out"):
            with open(path, encoding="utf-8", errors="replace") as file:
                found[place] = file.read()
        elif path.endswith((".swift", ".c", ".py")) and not path.startswith(HERE):
            found[place] = "\n".join(strings(path))
    return found


def listed():
    """The messages that no test can provoke: {constant part: reason}."""
    found = {}
    with open(LIST, encoding="utf-8") as file:
        for line in file:
            if line.strip() and not line.startswith("#"):
                text, tab, reason = line.rstrip("\n").partition("\t")
                found[text] = reason if tab else ""
    return found


def main():
    expected = expectations()
    reasons = listed()
    found = list(messages())
    faults, provoked, excused = [], 0, set()
    seen = collections.defaultdict(list)
    for message in found:
        wanted = pattern(message.parts)
        by = next((place for place, lines in expected.items() if wanted.search(lines)), None)
        name = constant(message.parts)
        seen[name].append(by)
        if "--list" in sys.argv:
            print(f"{by or '-'}\t{message.place}\t{name}")
        if by:
            provoked += 1
        elif name in reasons:
            excused.add(name)
        else:
            faults.append(f"{message.place}: no test expects the message \"{name}\"")
    for name, reason in reasons.items():
        if not reason:
            faults.append(f"not-provoked.txt: no reason for \"{name}\"")
        if name not in seen:
            faults.append(f"not-provoked.txt: no source has the message \"{name}\"")
        elif all(seen[name]):
            faults.append(f"not-provoked.txt: {seen[name][0]} expects \"{name}\": remove the entry")
    for fault in faults:
        print(fault, file=sys.stderr)
    print(f"{len(found)} messages: tests expect {provoked}, {len(excused)} cannot be provoked, {len(faults)} faults")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
