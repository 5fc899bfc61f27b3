#!/usr/bin/env python3
"""Checks that each public function that can fail says how, in the comment before it.

A C function that returns a tokenkeep_status names a status, or the function whose statuses it has. A Swift function
that throws has a sentence with "Throws" that names a status, an error's type or the function whose errors it throws,
or says whose error it passes on. No function says that it fails "only" so: each may find the vault of a later version,
locked meanwhile or opened in a child of fork().

Usage: check_statuses.py [FOLDER]      the tree to check: this one, if no other is given
"""

import pathlib
import re
import sys

HERE = pathlib.Path(__file__).resolve().parents[2]
C_FUNCTION = re.compile(r"(?:/\*(?P<comment>(?:[^*]|\*(?!/))*)\*/[^\S\n]*\n)?TOKENKEEP_EXPORT\s+TOKENKEEP_CHECK_RESULT\s+"
                        r"tokenkeep_status\s+(?P<name>tokenkeep_\w+)\([^;{}]*?\)[^;{}]*;")
C_STATUS = re.compile(r"^#define (TOKENKEEP_[A-Z_]+) [1-9][0-9]*$", re.MULTILINE)
# A function that has the statuses of another one says so in these words.
AS_ANOTHER = re.compile(r"\b(?:as|of|like) tokenkeep_\w+")
ONLY = re.compile(r"\b(?:[Ff]ails|[Tt]hrows) only\b")

SWIFT_STATUS = re.compile(r"static let (\w+) = Status\(rawValue: [1-9]")
SWIFT = re.compile(r"^[ \t]*(?:@\w+(?:\([^)\n]*\))? )*public (?:\w+ )*?(?:func (?P<func>\w+)|init\b|var (?P<var>\w+)|subscript\b)",
                   re.MULTILINE)
# A declaration goes on in the next line if that begins so.
CONTINUES = re.compile(r"\s*(?:async|throws|rethrows|where|->|\{|:)")
# Whose error a function passes on.
PASSED_ON = re.compile(r"\berrors? of the\b|\berrors? of `|'s error\b|`[\w:.()]+`'s errors?\b|what `\w+` throws|[Tt]hrows nothing|"
                       r"Throws: nothing")


def faults_of_header(text, statuses):
    comment, end = "", 0
    for found in C_FUNCTION.finditer(text):
        # Functions share a comment if nothing stands between them, not even a blank line.
        between = text[end:found.start()]
        comment = found["comment"] or ("" if between.strip() or between.count("\n") > 1 else comment)
        end = found.end()
        said = " ".join(comment.replace("\n *", "\n").split())
        if not statuses & set(re.findall(r"TOKENKEEP_[A-Z_]+", said)) and not AS_ANOTHER.search(said):
            yield f"{found['name']} names no status"
        elif ONLY.search(said):
            yield f"{found['name']} says that it fails only so"


def signature(text, at):
    """The declaration that begins there, with the first words of its body or accessors."""
    depth = 0
    for index in range(at, len(text)):
        depth += (text[index] in "([") - (text[index] in ")]")
        if depth == 0 and text[index] == "{":
            return text[at:index], text[index:index + 100]
        if depth == 0 and text[index] == "\n" and not CONTINUES.match(text, index + 1):
            return text[at:index], ""
    return text[at:], ""


def throws(text, at):
    """Whether the function itself throws, not a closure among its parameters."""
    declaration, body = signature(text, at)
    depth, outside = 0, ""
    for character in declaration:
        depth += (character in "([") - (character in ")]")
        outside += character if depth == 0 else ""
    return re.search(r"\bthrows\b", outside) or re.match(r"\{\s*get\s+(?:async\s+)?throws\b", body)


def throwing(text):
    """The public functions that throw: each match, and the sentences of its comment from "Throws" on."""
    for found in SWIFT.finditer(text):
        if throws(text, found.start()):
            above = re.search(r"(?:^[ \t]*(?:///|@).*\n)*\Z", text[:found.start()], re.MULTILINE)[0]
            comment = " ".join(line.strip().lstrip("/ ") for line in above.split("\n"))
            yield found, comment[re.search(r"[Tt]hrows|$", comment).start():]


def says_how(said, statuses, functions):
    """Whether a sentence names a status, an error's type, or a function that throws. `TokenKeepError` alone is no answer."""
    for name in re.findall(r"`+([^`]+)`+", said):
        last = re.split(r"[./](?![^(]*\))", name)[-1].split("(")[0]
        if last in statuses or last in functions or re.search(r"(?<!\bTokenKeep)Error\b", name):
            return True
    return PASSED_ON.search(said)


def faults_of_swift(text, statuses, functions):
    for found, said in throwing(text):
        line = text.count("\n", 0, found.start()) + 1
        if not said or not says_how(said, statuses, functions):
            yield f"{line}: does not say what it throws"
        elif ONLY.search(said):
            yield f"{line}: says that it throws only so"


def main():
    root = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else HERE
    headers = {path: path.read_text() for path in sorted((root / "include/tokenkeep").glob("*.h"))}
    swift = {path: path.read_text() for folder in ("Sources/TokenKeep", "Sources/TokenKeepFoundation")
             for path in sorted((root / folder).rglob("*.swift"))}
    types = headers[root / "include/tokenkeep/types.h"]
    c_statuses = set(C_STATUS.findall(types.split("TOKENKEEP_OK 0")[1].split("typedef")[0]))
    statuses = {name for text in swift.values() for name in SWIFT_STATUS.findall(text)}
    functions = {found["func"] or found["var"] for text in swift.values() for found, _ in throwing(text)} - {None}
    faults = [f"{path.relative_to(root)}: {fault}" for path, text in headers.items()
              for fault in faults_of_header(text, c_statuses)]
    faults += [f"{path.relative_to(root)}:{fault}" for path, text in swift.items()
               for fault in faults_of_swift(text, statuses, functions)]
    for fault in faults:
        print(fault, file=sys.stderr)
    sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main()
