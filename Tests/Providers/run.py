#!/usr/bin/env python3
"""Plays one acceptance list against the Secret Service providers in use: run.py PREFIX [WORD...]

PREFIX is where TokenKeep is installed. Words choose the rows of which one is a part, as in `run.py build/stage KWallet`.
The first run makes a Debian 13 and a Debian unstable beside this machine: 2 GB and two minutes. It needs root; any other
user gets this machine's own providers alone. Prints a table in Markdown; what failed is told below.
"""
import os
import subprocess
import sys
import tempfile

import acceptance
import roots
from gnome_keyring import GnomeKeyring
from keepassxc import KeePassXC
from kwallet import KWallet
from surroundings import Surroundings

SUITES = [("this machine", None), ("Debian 13", "trixie"), ("Debian unstable", "sid")]
PROVIDERS = [(provider, place, suite) for provider in [GnomeKeyring, KeePassXC, KWallet] for place, suite in SUITES]


def play(programs, provider, root):
    """The outcome of each check, in order, and how many of secret-tool's lookups failed."""
    outcomes = []
    with Surroundings(root) as around:
        player = acceptance.Player(*programs, around, provider(around))
        failing = None
        for name, check in acceptance.CHECKS:
            if name == "locked":
                failing = acceptance.failing_lookups(player)
            try:
                check(player)
                outcomes.append((name, None))
            except (acceptance.Failed, RuntimeError, OSError, ValueError, KeyError, IndexError) as error:
                outcomes.append((name, str(error) or type(error).__name__))
    return outcomes, failing


def build(prefix, directory):
    """Compiles the program of the conditional changes."""
    program = f"{directory}/conditions"
    source = os.path.dirname(os.path.abspath(__file__)) + "/conditions.c"
    subprocess.run(
        ["cc", "-Wall", "-Werror", f"-I{prefix}/include", source, "-o", program, f"-L{prefix}/lib", "-ltokenkeep",
         f"-Wl,-rpath,{prefix}/lib"], check=True)
    return program


def row(*cells):
    print("| " + " | ".join(cells) + " |", flush=True)


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    with tempfile.TemporaryDirectory() as directory:
        prefix = os.path.abspath(sys.argv[1])
        return play_all([f"{prefix}/bin/tokenkeep", build(prefix, directory)], sys.argv[2:])


def play_all(programs, words):
    notes, failed, passed = [], 0, 0
    names = [name for name, _ in acceptance.CHECKS]
    row("provider", "from", *names, f"secret-tool: failing lookups of {acceptance.PROCESSES}")
    row(*["---"] * (len(names) + 3))
    for provider, place, suite in PROVIDERS:
        if words and not any(word in f"{provider.name} {place} {suite}" for word in words):
            continue
        try:
            root = roots.root(suite) if suite else "/"
            title = f"{provider.name} {roots.version(root, provider.package)}"
            outcomes, failing = play(programs, provider, root)
        except roots.Unavailable as reason:
            notes.append(f"{provider.name} of {place}: not tried, {reason}")
            continue
        except Exception as error:
            failed += 1
            notes.append(f"{provider.name} of {place}: {type(error).__name__}: {error}")
            continue
        row(title, place, *["**no**" if problem else "yes" for _, problem in outcomes], str(failing))
        problems = [f"{title}, {name}: {problem}" for name, problem in outcomes if problem]
        notes += problems
        failed += len(problems)
        passed += len(outcomes) - len(problems)
    print()
    for note in notes:
        print(note)
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
