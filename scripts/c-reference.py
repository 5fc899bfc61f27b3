#!/usr/bin/env python3
"""Writes docs/c-reference.md: every function, type and number of the C headers, in groups, with an example for each group.

Usage: c-reference.py [--check]      --check writes nothing, and fails if the page differs or lacks a function.

The texts are the headers' comments; the examples are regions of examples/c, which the tests compile and run. A declaration that
belongs to no group is an error.
"""
import pathlib
import re
import sys
import textwrap

ROOT = pathlib.Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs/c-reference.md"
HEADERS = ["version", "types", "store", "watch", "session", "oauth", "module"]

# Title, the names that belong to the group, and the file and region of its example. The first match counts.
GROUPS = [
    ("Modules of your own", r"tokenkeep_(host|module|call)\w*|TOKENKEEP_(MODULE|HOST)\w*", ("plugin/keyctl.c", "module")),
    ("Signing in", r"tokenkeep_login\w*|TOKENKEEP_LOGIN\w*", ("c/sign-in.c", "sign-in")),
    ("Requests to the server", r"tokenkeep_http_\w*|TOKENKEEP_PURPOSE\w*", ("c/session.c", "server")),
    ("Accounts and states", r"tokenkeep_session_(info|list|switch|state|next|fd)\w*|TOKENKEEP_(STATE|REASON|SESSION_(USER|GUEST))\w*",
     ("c/tour.c", "accounts")),
    ("Logout", r"tokenkeep_session_(end|flush|on_end|report)\w*|tokenkeep_end_fn|TOKENKEEP_(RESULT|SESSION_LOCAL)\w*",
     ("c/tour.c", "logout")),
    ("Claims of a token", r"tokenkeep_jwt\w*", ("c/tour.c", "claims")),
    ("The id of the device", r"tokenkeep_device_id", ("c/tour.c", "device")),
    ("Sessions and tokens", r"tokenkeep_(session|token)\w*|TOKENKEEP_(SESSION|ROTATION)\w*", ("c/session.c", "session")),
    ("Changes", r"tokenkeep_(watch|event)\w*|TOKENKEEP_EVENT\w*", ("c/tour.c", "watching")),
    ("Lists", r"tokenkeep_(list$|items)\w*", ("c/tour.c", "lists")),
    ("Pending changes", r"tokenkeep_sync", ("c/tour.c", "pending")),
    ("Protection", r"tokenkeep_protection\w*|TOKENKEEP_(AXIS|PROTECTION)\w*", ("c/tour.c", "protection")),
    ("Password and prompts", r"tokenkeep_(unlock|lock|ready|prompt)\w*|TOKENKEEP_PROMPT\w*", ("c/tour.c", "password")),
    ("Opening a store", r"tokenkeep_(open|close|cancel|store)\w*|TOKENKEEP_(OPEN|INTERACTIVE)\w*", ("c/tour.c", "store")),
    ("Items", r"tokenkeep_(save|load|clear|item|attribute)\w*|TOKENKEEP_(SAVE|MAX|WHEN|AFTER|MEMORY|REQUIRE|USER|SYNCHRONIZABLE|IF|KEEP)\w*",
     ("c/tour.c", "items")),
    ("Errors, statuses and versions", r"tokenkeep_(error|status|version)\w*|TOKENKEEP_\w*", ("c/tour.c", "errors")),
]
ORDER = ["Opening a store", "Items", "Lists", "Errors, statuses and versions", "Password and prompts", "Protection", "Pending changes",
         "Changes", "Sessions and tokens", "Accounts and states", "Requests to the server", "Signing in", "Logout", "Claims of a token",
         "The id of the device", "Modules of your own"]
# Declarations of the headers alone.
HIDDEN = re.compile(r"TOKENKEEP_(\w*_H|EXPORT|CHECK_RESULT|H)$")


COLUMNS = 120


def wrapped(text):
    """A paragraph or an item of a list in lines of the page's width. No word is broken, so that names stay whole."""
    return textwrap.fill(text, COLUMNS, subsequent_indent="  " if text.startswith("- ") else "",
                         break_long_words=False, break_on_hyphens=False)


def paragraphs(comment):
    """The text of a comment as Markdown."""
    lines = [re.sub(r"^\s*\* ?", "", line.rstrip()) for line in comment.strip()[2:-2].strip().split("\n")]
    blocks, code = [], []
    for line in [*lines, ""]:
        if line.startswith("    "):
            code.append(line[4:])
            continue
        if code:
            blocks.append("```c\n" + "\n".join(code) + "\n```")
            code = []
        line = line.strip()
        if not line or line.startswith("- ") or not blocks or blocks[-1] == "" or blocks[-1].startswith("```"):
            blocks.append(line)
        else:
            blocks[-1] += " " + line
    blocks = [block if block.startswith("```") else wrapped(block) for block in blocks if block]
    return "\n\n".join(blocks).replace("\n\n- ", "\n- ")


def units(text):
    """The comments of a header with the declarations that follow each: (comment, [declaration])."""
    text = re.sub(r"#ifdef __cplusplus\n.*?#endif\n", "", text, flags=re.S)
    text = re.sub(r"#if defined\(__GNUC__\).*?#endif\n", "", text, flags=re.S)
    token = re.compile(
        r"(?P<comment>/\*.*?\*/)|(?P<define>#define (?:[^\n\\]|\\\n)*)|(?P<skip>#(?:ifndef|include|endif|if|else)[^\n]*)"
        r"|(?P<struct>typedef struct \w+ \{.*?\} \w+;[^\n]*)|(?P<statement>[A-Za-z][^;{]*;(?: */\*[^\n]*\*/)?)", re.S)
    comment, declarations, end = "", [], 0
    for match in token.finditer(text):
        kind, found = match.lastgroup, match.group()
        gap = text[end:match.start()].count("\n") > 1
        end = match.end()
        if kind == "comment" and "clang-format" in found or kind == "skip":
            continue
        if kind == "comment":
            if declarations:
                yield comment, declarations
            elif comment:
                yield comment, []
            comment, declarations = found, []
            continue
        if gap and declarations:
            yield comment, declarations
            comment, declarations = "", []
        declarations.append(found)
    if comment or declarations:
        yield comment, declarations


def name_of(declaration):
    if declaration.startswith("#define"):
        return declaration.split()[1].split("(")[0]
    match = re.search(r"\} (\w+);", declaration) or re.search(r"\(\*(\w+)\)", declaration) or re.search(
        r"(tokenkeep_\w+) ?\(", declaration) or re.search(r"(\w+);", declaration)
    return match.group(1)


def plain(declaration):
    """A declaration as the page shows it."""
    if declaration.startswith("typedef struct") and "{" in declaration:
        return declaration
    declaration = re.sub(r"TOKENKEEP_(EXPORT|CHECK_RESULT)\s*", "", declaration)
    line = re.sub(r"\s+", " ", declaration.replace("\\\n", " ")).replace("( ", "(").replace("* tokenkeep", "*tokenkeep")
    if len(line) <= COLUMNS:
        return line
    if line.startswith("#"):
        return " \\\n    ".join(textwrap.wrap(line, COLUMNS - 6, break_long_words=False))
    # A parameter stays whole.
    line = re.sub(r"(?<!,) ", "\0", line)
    indent = " " * (line.find("(") + 1)
    filled = textwrap.fill(line, COLUMNS, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)
    return filled.replace("\0", " ")


def example(file, region):
    text = (ROOT / "examples" / file).read_text()
    found = re.search(rf"^ */\* \[{region}\] \*/\n(.*?)\n? */\* \[/{region}\] \*/", text, re.S | re.M)
    if not found:
        sys.exit(f"c-reference.py: {file} has no region [{region}]")
    whole = "" if file == "c/tour.c" else f"\n\nThe whole program: [examples/{file}](../examples/{file})."
    return "```c\n" + textwrap.dedent(found.group(1)).rstrip() + "\n```" + whole


def group_of(names, header):
    for title, pattern, _ in GROUPS:
        if any(re.fullmatch(f"(?:{pattern})", name) for name in names):
            return title
    sys.exit(f"c-reference.py: no group has {names} of {header}")


def page():
    rules, sections = "", {title: [] for title in ORDER}
    for header in HEADERS:
        text = (ROOT / f"include/tokenkeep/{header}.h").read_text()
        for comment, declarations in units(text):
            shown = [text for text in declarations if not HIDDEN.match(name_of(text))]
            words = paragraphs(comment) if comment and "SPDX" not in comment else ""
            if not shown:
                rules = words if header == "store" and words.startswith("Saving, loading") else rules
                continue
            block = "```c\n" + "\n".join(plain(text) for text in shown) + "\n```\n"
            sections[group_of([name_of(text) for text in shown], header)].append(block + (f"\n{words}\n" if words else ""))
    lines = ["# The C API", "", "This page is made from the headers `tokenkeep/*.h` by `scripts/c-reference.py`. `#include <tokenkeep.h>` has all but",
             "`tokenkeep/module.h`.", "", rules, ""]
    examples = {title: where for title, _, where in GROUPS}
    for title in ORDER:
        lines += [f"## {title}", "", example(*examples[title]), "", "\n".join(sections[title])]
    return "\n".join(lines).rstrip("\n") + "\n"


def main():
    text = page()
    exported = [line.split()[0] for line in (ROOT / "Tests/ABI/symbols.txt").read_text().split("\n") if re.match(r"\w+ \S+$", line)]
    missing = [name for name in exported if not re.search(rf"\b{name}\(", text)]
    if missing:
        sys.exit(f"c-reference.py: the page lacks {', '.join(missing)}")
    if "--check" not in sys.argv[1:]:
        PAGE.write_text(text)
    elif not PAGE.exists() or PAGE.read_text() != text:
        sys.exit("c-reference.py: docs/c-reference.md is not what the headers say: run scripts/c-reference.py")


main()
