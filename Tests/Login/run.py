#!/usr/bin/env python3
"""Signs a user in through PAM in every way that may go wrong, and compares with the same stack without the module.

Usage: run.py STAGE [--all] [NAME…]

Makes a user and PAM services of its own, as root, and removes them. Without --all the cases of real programs (su, login, sshd,
pam-auth-update) and of kills at each step are left out. NAMEs choose cases."""

import os, sys

from world import World, die_on_signals, enter_own_namespace, play, tests_clock  # its path has what the others need
import checks, faults, homes, programs, steps, together


def cases(every):
    modules = [checks, faults, homes, together] + ([programs, steps] if every else [])
    return [(name, body) for module in modules for name, body in vars(module).items() if getattr(body, "is_case", False)]


def main():
    words = sys.argv[1:]
    every = "--all" in words
    stage, *names = [word for word in words if word != "--all"]
    if os.geteuid() != 0:
        print("skip login (needs root)")
        return 0
    tests_clock.require()
    enter_own_namespace()
    die_on_signals()
    world = World(stage)

    def one(body):
        world.set_up()
        body(world)

    try:
        return play(cases(every or bool(names)), names, one)
    finally:
        world.close()


sys.exit(main())
