#!/usr/bin/env python3
"""Checks that each public function that can fail says how, in the comment before it.

A C function that returns a tokenkeep_status names a status, or the function whose statuses it has. A Swift function
that throws has a sentence with "Throws" that names a status, an error's type or the function whose errors it throws,
or says whose error it passes on.
"""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
C_FUNCTION = re.compile(r"(?:/\*(?P<comment>(?:[^*]|\*(?!/))*)\*/\s*)?TOKENKEEP_EXPORT\s+TOKENKEEP_CHECK_RESULT\s+"
                        r"tokenkeep_status\s+(?P<name>tokenkeep_\w+)\([^;{}]*?\)[^;{}]*;")
STATUS = re.compile(r"^#define (TOKENKEEP_[A-Z_]+) [1-9][0-9]*$", re.MULTILINE)
# A function that has the statuses of another one says so in these words.
AS_ANOTHER = re.compile(r"\b(?:as|of|like) tokenkeep_\w+")
SWIFT = re.compile(r"\s*(?:@\w+(?:\([^)]*\))? )*public (?:\w+ )*?(?:func|init|var|subscript)\b")
# What says how a call fails. `TokenKeepError` alone is no answer.
SWIFT_ERROR = re.compile(r"`(?!`*TokenKeepError`)[^`]+`|(?:error|errors) of the|'s error|[Tt]hrows nothing|Throws: nothing")


def faults_of_header(path, statuses):
    comment = ""
    for found in C_FUNCTION.finditer(path.read_text()):
        # Functions without a blank line or comment between them share a comment.
        comment = found["comment"] or comment
        text = " ".join(comment.replace("\n *", "\n").split())
        if not statuses & set(re.findall(r"TOKENKEEP_[A-Z_]+", text)) and not AS_ANOTHER.search(text):
            yield f"{path.relative_to(ROOT)}: {found['name']} names no status"


def throws(signature):
    """Whether the function itself throws, not a closure among its parameters."""
    depth, outside = 0, ""
    for character in signature:
        depth += (character in "([") - (character in ")]")
        outside += character if depth == 0 else ""
    return re.search(r"\bthrows\b", outside.split("{")[0]) or re.search(r"\{\s*get (async )?throws", signature)


def faults_of_swift(path):
    lines = path.read_text().split("\n")
    for at, line in enumerate(lines):
        if not SWIFT.match(line):
            continue
        signature = " ".join(lines[at:at + 12])
        end = re.search(r"\{.*?(?:\s(?:try|guard|let|return)\b|\})|\n", signature)
        if not throws(signature[:end.end()] if end else line):
            continue
        above = at
        while above > 0 and re.match(r"\s*(///|@)", lines[above - 1]):
            above -= 1
        comment = " ".join(part.strip().lstrip("/ ") for part in lines[above:at])
        said = comment[re.search(r"[Tt]hrows|$", comment).start():]
        if not said or not SWIFT_ERROR.search(said):
            yield f"{path.relative_to(ROOT)}:{at + 1}: does not say what it throws"


def main():
    headers = ROOT / "include/tokenkeep"
    statuses = set(STATUS.findall((headers / "types.h").read_text().split("TOKENKEEP_OK 0")[1].split("typedef")[0]))
    faults = [fault for path in sorted(headers.glob("*.h")) for fault in faults_of_header(path, statuses)]
    for folder in ("Sources/TokenKeep", "Sources/TokenKeepFoundation"):
        for path in sorted((ROOT / folder).rglob("*.swift")):
            faults += faults_of_swift(path)
    for fault in faults:
        print(fault, file=sys.stderr)
    sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main()
