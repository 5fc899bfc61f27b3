"""Says whether the help of every command shows its examples whole, on a terminal of 40 columns.

The texts of all commands come from one start of the program; then each command that has examples prints its help.
"""
import json
import os
import subprocess

PROGRAM = os.environ["TOKENKEEP"]


def output(*arguments):
    environment = {**os.environ, "COLUMNS": "40"}
    return subprocess.run([PROGRAM, *arguments], env=environment, stdin=subprocess.DEVNULL, capture_output=True,
                          text=True, check=True).stdout


def examples(text):
    """The indented lines of a text."""
    return [line for line in text.split("\n") if line.startswith("  ")]


def commands(command, path=()):
    yield path, "\n".join(command.get(part, "") for part in ("abstract", "discussion"))
    for below in command.get("subcommands", []):
        yield from commands(below, (*path, below["commandName"]))


found = list(commands(json.loads(output("--experimental-dump-help"))["command"]))
with_examples = [(path, examples(text)) for path, text in found if examples(text)]
print("many commands" if len(found) > 40 else f"{len(found)} commands")
print("most have examples" if len(with_examples) * 2 > len(found) else f"{len(with_examples)} have examples")
for path, expected in with_examples:
    if examples(output(*path, "--help").split("\nUSAGE:")[0]) != expected:
        print("broken:", *path)
