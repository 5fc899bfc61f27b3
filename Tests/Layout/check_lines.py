#!/usr/bin/env python3
"""Fails if a line of the documents is longer than 120 columns, but for rows of tables, which cannot be broken.

Usage: check_lines.py [--wrap]      --wrap breaks the paragraphs that have such lines anew.
"""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
COLUMNS = 120
PAGES = ["README.md", "CONTRIBUTING.md", "SECURITY.md", "docs/*.md", "examples/**/README.md", "Sources/**/*.docc/*.md"]
ITEM = re.compile(r"\s*(?:[-*+]|\d+[.)])\s+")
# At the beginning of a line these words would begin a list, a heading, a quotation or a table.
MARKS = re.compile(r"(?:[-*+]|\d+[.)]|#+|[>|=].*)$")
# A test types these blocks line by line, or gives the lines to a program.
TYPED = re.compile(r"printf 'include = |ssh-key ")
TOGETHER = re.compile(r"`[^`]{1,60}`|\[[^\]]{1,40}\]\([^)]*\)")


def kinds(lines):
    """For each line: code, row, blank, heading or text. A block that is indented by four columns is code."""
    fence, kind = "", "blank"
    in_list = False
    for line in lines:
        word = line.strip()
        indented = line.startswith("    ") and (kind == "code" or kind == "blank" and not in_list)
        if fence or word.startswith("```"):
            fence = "" if fence and word == fence else fence or "```"
            kind = "code"
        elif not word:
            kind = "blank"
        elif indented:
            kind = "code"
        elif word.startswith("|"):
            kind = "row"
        elif line.startswith("#"):
            kind = "heading"
        else:
            kind = "text"
        if kind in ("text", "heading"):
            in_list = bool(ITEM.match(line)) or in_list and (kind == "text" and line.startswith(" "))
        yield kind


def too_long(path):
    """The numbers of the lines that are too long, from 1."""
    lines = path.read_text(encoding="utf-8").split("\n")
    for number, (line, kind) in enumerate(zip(lines, kinds(lines)), 1):
        if len(line) > COLUMNS and kind != "row" and " " in line.strip() and not TYPED.match(line):
            yield number


def broken(paragraph):
    """The paragraph in lines of at most COLUMNS."""
    first = ITEM.match(paragraph[0])
    indent = " " * (len(first[0]) if first else len(paragraph[0]) - len(paragraph[0].lstrip()))
    text = " ".join(line.strip() for line in paragraph)
    words = TOGETHER.sub(lambda found: found[0].replace(" ", "\0"), text).split()
    start = len(ITEM.match(text + " ")[0].split()) if first else 0
    lines, line = [], indent[:len(indent) - len(first[0].lstrip())] if first else indent
    for number, word in enumerate(words):
        gap = " " if line.strip() else ""
        if gap and len(line) + 1 + len(word) > COLUMNS and number > start and not MARKS.match(word):
            lines.append(line)
            line, gap = indent, ""
        line += gap + word
    return [line.replace("\0", " ") for line in [*lines, line]]


def wrap(path):
    lines = path.read_text(encoding="utf-8").split("\n")
    out, paragraph = [], []

    def end():
        long = any(len(line) > COLUMNS for line in paragraph)
        out.extend(broken(paragraph) if long else paragraph)
        paragraph.clear()

    for line, kind in zip(lines, kinds(lines)):
        if kind != "text" or ITEM.match(line):
            end()
        if kind == "text":
            paragraph.append(line)
        else:
            out.append(line)
    end()
    path.write_text("\n".join(out), encoding="utf-8")


pages = sorted({page for pattern in PAGES for page in ROOT.glob(pattern)})
if "--wrap" in sys.argv[1:]:
    for page in pages:
        wrap(page)
found = [(page.relative_to(ROOT), number) for page in pages for number in too_long(page)]
for page, number in found:
    print(f"{page}:{number}: longer than {COLUMNS} columns: Tests/Layout/check_lines.py --wrap breaks paragraphs", file=sys.stderr)
if not found:
    print(f"check_lines.py: {len(pages)} documents, 0 faults")
sys.exit(1 if found else 0)
