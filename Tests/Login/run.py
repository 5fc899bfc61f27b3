#!/usr/bin/env python3
"""Signs a user in through PAM in every way that may go wrong, and compares with the same stack without the module.

Usage: run.py STAGE [--all] [NAME…]

Makes a user and PAM services of its own, as root, and removes them. Without --all the cases of real programs (su, login, sshd,
pam-auth-update) are left out. NAMEs choose cases."""

import os, sys, traceback

import checks, faults, homes, programs
from world import Failure, World, die_on_signals


def cases(every):
    modules = [checks, faults, homes] + ([programs] if every else [])
    return [(name, body) for module in modules for name, body in vars(module).items() if getattr(body, "is_case", False)]


def main():
    words = sys.argv[1:]
    every = "--all" in words
    stage, *names = [word for word in words if word != "--all"]
    if os.geteuid() != 0:
        print("skip login (needs root)")
        return 0
    die_on_signals()
    world = World(stage)
    failed = passed = 0
    try:
        for name, body in cases(every or bool(names)):
            if names and name not in names:
                continue
            try:
                world.set_up()
                body(world)
                passed += 1
                print(f"ok   {name}", flush=True)
            except Exception as error:
                failed += 1
                print(f"FAIL {name}: {error}", flush=True)
                if not isinstance(error, Failure):
                    traceback.print_exc()
    finally:
        world.close()
    print(f"{passed} passed, {failed} failed")
    return 1 if failed or not passed else 0


sys.exit(main())
