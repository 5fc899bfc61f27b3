#!/usr/bin/env python3
"""Writes the manual page of tokenkeep, tokenkeep(1), from what the program says of its commands.

Usage: man-page.py PROGRAM VERSION > tokenkeep.1
"""

import json
import subprocess
import sys


def escaped(text):
    """Text as roff reads it: neither an escape nor a request, and hyphens that a search finds."""
    text = text.replace("\\", "\\e").replace("-", "\\-").replace("'", "\\(aq").replace("`", "\\(ga")
    return "\n".join("\\&" + line if line[:1] in ".'" else line for line in text.split("\n"))


def paragraphs(text):
    """Prose as paragraphs; lines that are indented, as examples are."""
    lines = []
    for block in text.split("\n\n"):
        if all(line.startswith("  ") for line in block.split("\n")):
            lines += [".PP", ".nf", ".RS 4", escaped(block.replace("\n  ", "\n")[2:]), ".RE", ".fi"]
        else:
            lines += [".PP", escaped(block)]
    return lines


def spelling(argument):
    """How a person types an argument: `--level <level>`, `<service>`."""
    value = f"<{argument.get('valueName', '')}>"
    if argument["kind"] == "positional":
        return value + ("..." if argument.get("isRepeating") else "")
    names = [("-" if name["kind"] == "short" else "--") + name["name"] for name in argument["names"]]
    return ", ".join(names) + (f" {value}" if argument["kind"] == "option" else "")


def shown(command, kind=None):
    """The arguments that help shows, of one kind or of all but help itself."""
    for argument in command.get("arguments", []):
        names = [name["name"] for name in argument.get("names", [])]
        if argument["shouldDisplay"] and "help" not in names and kind in (None, argument["kind"]):
            yield argument


def use(command):
    """The line that says how the command is used."""
    words = [*command.get("superCommands", []), command["commandName"]]
    if command.get("subcommands"):
        return " ".join([*words, "<command>"])
    if any(argument["kind"] != "positional" for argument in shown(command)):
        words.append("[<options>]")
    for argument in shown(command, "positional"):
        words.append(f"[{spelling(argument)}]" if argument["isOptional"] else spelling(argument))
    return " ".join(words)


def of_command(command):
    """The section of a command and those of the commands below it."""
    if command["commandName"] == "help" or not command.get("shouldDisplay", True):
        return []
    lines = [f".SS {escaped(use(command))}", escaped(command.get("abstract", ""))]
    lines += paragraphs(command["discussion"]) if command.get("discussion") else []
    for argument in shown(command):
        lines += [".TP", f".B {escaped(spelling(argument))}", escaped(argument.get("abstract", "") or "See above.")]
    for below in command.get("subcommands", []):
        lines += of_command(below)
    return lines


def main():
    program, version = sys.argv[1:]
    dump = subprocess.run([program, "--experimental-dump-help"], capture_output=True, text=True, check=True, timeout=60)
    root = json.loads(dump.stdout)["command"]
    lines = [f'.TH TOKENKEEP 1 "" "TokenKeep {version}" "User Commands"', ".SH NAME"]
    lines += [f"tokenkeep \\- {escaped(root['abstract'][0].lower() + root['abstract'][1:].rstrip('.'))}"]
    lines += [".SH SYNOPSIS", ".B tokenkeep", escaped("<command> [<options>] [<arguments>]"), ".SH DESCRIPTION"]
    lines += paragraphs(root["discussion"])[1:]
    lines += [".PP", escaped("Every command shows its options with --help."), ".SH COMMANDS"]
    for command in root["subcommands"]:
        lines += of_command(command)
    lines += [".SH FILES", ".TP", ".I /usr/share/doc/tokenkeep/docs", "the documents: shell.md, levels.md, stack.md and others"]
    lines += [".SH SEE ALSO", ".BR tokenkeep\\-credential (1),", ".BR tokenkeep (3),", ".BR secret\\-tool (1)"]
    print("\n".join(lines))


if __name__ == "__main__":
    main()
