#!/usr/bin/env python3
"""Makes the manual pages: those of the commands from the program itself, those of docs/man from scdoc's text.

Usage: manual.py PATH_TO_TOKENKEEP [--check]

The pages are in data/man, which an installation copies: building needs neither scdoc nor this script. --check fails if a
page is not what it would be made to, if a function of the C library is not named in tokenkeep(3), or if mandoc or man
finds a fault in a page.
"""
import glob
import json
import os
import re
import shutil
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
PAGES = os.path.join(ROOT, "data", "man")
PROSE = os.path.join(ROOT, "docs", "man")
# The date of the pages: a day, so that a build does not change them.
DATE, EPOCH = "2026-11-27", "1795737600"
CODES = [
    ("0", "done"), ("1", "no such item"), ("2", "wrong usage"), ("3", "locked, or sign in again"),
    ("4", "unavailable, or out of time"), ("5", "refused or cancelled"), ("6", "changed, expired or already there"),
    ("7", "damaged, or the disk fails"), ("70", "a fault of tokenkeep itself")]
NOT_STARTED = [("126", "the command cannot be started"), ("127", "there is no command of this name")]
READER_GONE = [("141", "nobody reads the output any more")]
# What the codes of some commands mean in place of the common meaning, or beside it.
OWN_CODES = {
    "tokenkeep": [("1", "no such item; of doctor: there is a problem"), *NOT_STARTED, *READER_GONE],
    "tokenkeep-doctor": [("1", "there is a problem")],
    "tokenkeep-run": NOT_STARTED, "tokenkeep-lock": NOT_STARTED,
    "tokenkeep-watch": READER_GONE, "tokenkeep-session-watch": READER_GONE, "tokenkeep-fleet-watch": READER_GONE,
    "tokenkeep-fleet-admin-sign-out": [
        ("8", "there is no such user"), ("9", "the orders are durable, but users could not be listed")]}


def version():
    with open(os.path.join(ROOT, "include", "tokenkeep", "version.h")) as file:
        return re.search(r'TOKENKEEP_VERSION +"([^"]+)"', file.read()).group(1)


def escaped(text):
    """A text in which roff sees no command."""
    text = text.replace("\\", "\\e").replace("-", "\\-").replace("'", "\\(aq").replace("`", "\\(ga").replace("^", "\\(ha")
    return text.replace("~", "\\(ti").replace("…", "\\&...").replace('"', "\\(dq")


def line(text):
    text = escaped(text)
    return "\\&" + text if text.startswith(".") else text


def prose(text):
    """Paragraphs; lines that begin with two spaces are examples."""
    out, inside = [], False
    for row in text.split("\n"):
        row = row.replace("\ue000", " ").replace("\ue001", "").rstrip()
        if row.startswith("  "):
            if not inside:
                out += [".PP", ".nf", ".RS 4"]
            inside = True
            out.append(line(row[2:]))
            continue
        if inside:
            out += [".RE", ".fi"]
        inside = False
        if row:
            out += [".PP", line(row)]
    if inside:
        out += [".RE", ".fi"]
    return out


def shown(argument):
    value = f"\\fI{escaped(argument['valueName'])}\\fR"
    if argument["kind"] == "positional":
        return value
    names = [("-" if name["kind"] == "short" else "--") + name["name"] for name in argument["names"]]
    names = ", ".join(f"\\fB{escaped(name)}\\fR" for name in names)
    return names if argument["kind"] == "flag" else f"{names} {value}"


def synopsis(path, command):
    words = [f".B {escaped(' '.join(path))}"]
    if command.get("subcommands"):
        words.append("\\fIcommand\\fR")
        return words
    arguments = [one for one in command["arguments"] if one["shouldDisplay"]]
    if any(one["kind"] != "positional" for one in arguments):
        words.append("[\\fIoptions\\fR]")
    for one in arguments:
        if one["kind"] == "positional":
            word = shown(one) + ("\\&..." if one["isRepeating"] else "")
            words.append(f"[{word}]" if one["isOptional"] else word)
    return words


def page(path, command, name):
    out = [f'.TH {escaped(name)} 1 {DATE} "TokenKeep {version()}" "TokenKeep"', ".SH NAME"]
    abstract = command["abstract"].rstrip(".")
    out += [f"{escaped(name)} \\- {escaped(abstract[0].lower() + abstract[1:])}", ".SH SYNOPSIS", *synopsis(path, command)]
    out += [".SH DESCRIPTION", line(command["abstract"]), *prose(command.get("discussion", ""))]
    below = [one for one in command.get("subcommands", []) if one["shouldDisplay"] and one["commandName"] != "help"]
    if below:
        out.append(".SH COMMANDS")
        for one in below:
            out += [".TP", f".BR {escaped(name)}\\-{escaped(one['commandName'])} (1)", line(one["abstract"])]
    sections = {}
    for one in command["arguments"]:
        if one["shouldDisplay"]:
            title = "ARGUMENTS" if one["kind"] == "positional" else one.get("sectionTitle", "options").upper()
            sections.setdefault(title, []).append(one)
    for title in sorted(sections, key=["ARGUMENTS", "OPTIONS"].index if set(sections) <= {"ARGUMENTS", "OPTIONS"} else
                        lambda title: (title != "ARGUMENTS", title != "OPTIONS", title)):
        out.append(f".SH {escaped(title)}")
        for one in sections[title]:
            out += [".TP", shown(one), line(one.get("abstract", ""))]
            if one.get("discussion"):
                out.append(line(one["discussion"]))
    out.append(".SH EXIT STATUS")
    for code, meaning in sorted((dict(CODES) | dict(OWN_CODES.get(name, []))).items(), key=lambda one: int(one[0])):
        out += [".TP", f".B {code}", meaning]
    above = ["tokenkeep"] if name == "tokenkeep" or len(path) == 2 else ["-".join(path[:-1]), "tokenkeep"]
    also = [(one, 1) for one in above if one != name] + [("tokenkeep", 7), ("tokenkeep-tools", 7)]
    out += [".SH SEE ALSO", ",\n".join(f".BR {escaped(one)} ({section})" for one, section in also).replace(")", ")")]
    return "\n".join(out).replace(",\n.BR", " ,\n.BR") + "\n"


def command_pages(program):
    dump = subprocess.run([program, "--experimental-dump-help"], capture_output=True, check=True).stdout
    pages = {}

    def walk(command, path):
        name = "-".join(path)
        pages[f"{name}.1"] = page(path, command, name)
        for one in command.get("subcommands", []):
            if one["shouldDisplay"] and one["commandName"] != "help":
                walk(one, [*path, one["commandName"]])

    walk(json.loads(dump)["command"], ["tokenkeep"])
    for link in ("git-credential", "docker-credential", "cargo-credential", "terraform-credentials", "bazel-credential"):
        pages[f"{link}-tokenkeep.1"] = ".so man1/tokenkeep-credential.1\n"
    pages["kubectl-tokenkeep.1"] = ".so man1/tokenkeep-credential.1\n"
    return pages


def without_empty_paragraphs(text):
    """scdoc begins paragraphs that have no text, which mandoc names."""
    rows, kept = text.splitlines(), []
    for number, row in enumerate(rows):
        after = rows[number + 1] if number + 1 < len(rows) else ".SH"
        follows_heading = kept and kept[-1].startswith((".SH", ".SS"))
        if row == ".P" and (follows_heading or after.startswith((".P", ".SH", ".SS", ".RE", ".TS"))):
            continue
        kept.append(row)
    return "\n".join(kept) + "\n"


def prose_pages():
    pages = {}
    for path in sorted(glob.glob(f"{PROSE}/*.scd")):
        with open(path) as file:
            made = subprocess.run(
                ["scdoc"], stdin=file, capture_output=True, text=True, env={**os.environ, "SOURCE_DATE_EPOCH": EPOCH})
        if made.returncode:
            raise SystemExit(f"{path}: {made.stderr.strip()}")
        # The first line names scdoc's version.
        text = re.sub(r'^\.\\" Generated by scdoc.*\n', "", made.stdout)
        pages[os.path.basename(path)[:-4]] = without_empty_paragraphs(text)
    return pages


def lint(name):
    path = os.path.join(PAGES, name)
    faults = []
    if shutil.which("mandoc"):
        told = subprocess.run(["mandoc", "-T", "lint", "-W", "warning", path], capture_output=True, text=True).stdout
        faults += told.splitlines()
    if shutil.which("man"):
        told = subprocess.run(
            ["man", "--warnings", "-E", "UTF-8", "-l", "-Tutf8", "-Z", path], capture_output=True, text=True, cwd=PAGES,
            env={**os.environ, "LC_ALL": "C.UTF-8", "MANROFFSEQ": "", "MANWIDTH": "80", "MANPATH": ROOT})
        faults += [f"{name}: {row}" for row in told.stderr.splitlines()]
    return faults


def unnamed_functions():
    with open(os.path.join(PROSE, "tokenkeep.3.scd")) as file:
        text = file.read().replace("\\", "")
    with open(os.path.join(ROOT, "Tests", "ABI", "symbols.txt")) as file:
        symbols = re.findall(r"\btokenkeep_\w+", file.read())
    return [f"tokenkeep.3.scd does not name {one}" for one in symbols if not re.search(rf"\b{one}\b", text)]


def check(pages):
    faults = unnamed_functions()
    there = set(os.listdir(PAGES))
    faults += [f"data/man/{name} is no page of any command: remove it" for name in sorted(there - set(pages))]
    for name, text in sorted(pages.items()):
        path = os.path.join(PAGES, name)
        present = open(path).read() if name in there else None
        if present != text:
            faults.append(f"data/man/{name} is not up to date: scripts/manual.py PATH_TO_TOKENKEEP")
        elif not text.startswith(".so"):
            faults += lint(name)
    return faults


def main():
    program = os.path.abspath(sys.argv[1])
    if not shutil.which("scdoc"):
        print("manual.py: scdoc is not installed: the pages of docs/man are left as they are")
    pages = {**command_pages(program), **(prose_pages() if shutil.which("scdoc") else {})}
    if not shutil.which("scdoc"):
        for path in glob.glob(f"{PROSE}/*.scd"):
            name = os.path.basename(path)[:-4]
            pages[name] = open(os.path.join(PAGES, name)).read()
    if "--check" in sys.argv:
        faults = check(pages)
        print("\n".join([*faults, f"manual.py: {len(pages)} pages, {len(faults)} faults"]))
        return 1 if faults else 0
    for name in set(os.listdir(PAGES)) - set(pages):
        os.remove(os.path.join(PAGES, name))
    for name, text in pages.items():
        with open(os.path.join(PAGES, name), "w") as file:
            file.write(text)
    print(f"manual.py: {len(pages)} pages")
    return 0


if __name__ == "__main__":
    sys.exit(main())
