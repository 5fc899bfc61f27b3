#!/usr/bin/env python3
"""The credential helpers, by the real programs that call them. Cases of programs that apt does not have are left out without
them, and said; without the others they are skipped.

Usage: run.py BIN [WORD…]      BIN is the folder of tokenkeep and tokenkeep-credential; cases whose names have a WORD run
"""
import concurrent.futures
import importlib
import multiprocessing
import os
import shutil
import sys
import tempfile
import traceback

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
sys.path.insert(0, os.path.join(HERE, "..", "Support"))
import tests_clock  # noqa: E402: its folder must be on the path first

SUITES = ["git_cases", "git_server_cases", "docker_cases", "cargo_cases", "other_cases", "fault_cases", "setup_cases", "setup_file_cases",
          "terminal_cases", "keyring_cases", "recipe_cases", "import_cases"]
ELSEWHERE = ["docker", "cargo", "terraform", "kubectl", "aws", "ansible-vault"]
# At a time: most of a case's time goes into starts of programs.
JOBS = 3


def run(case, bin_folder):
    """None if the case passed, else why not."""
    from world import World

    lacking = [program for program in getattr(case, "needs", []) if shutil.which(program) is None]
    if lacking:
        word = "left out" if all(program in ELSEWHERE for program in lacking) else "skipped"
        return f"{word}: {', '.join(lacking)} is not installed"
    if getattr(case, "as_root", False) and os.geteuid() != 0:
        return "skipped: it needs root"
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        try:
            case(World(folder, bin_folder))
        except Exception:  # noqa: BLE001: whatever a case fails with is told
            return traceback.format_exc()
    return None


# The cases of the processes that run them. A case may be a closure, which cannot be sent to a process.
running = []


def run_number(number, bin_folder):
    return run(running[number], bin_folder)


def results(cases, bin_folder):
    """The cases with their results. A case that lets limits pass moves the clock of all: those run last, one by one."""
    for jobs, moves in ((JOBS, False), (1, True)):
        tests_clock.is_shared = jobs > 1
        part = [case for case in cases if getattr(case, "moves_clock", False) == moves]
        # Processes: a program that one thread writes cannot be run while another thread's child still has it open.
        with concurrent.futures.ProcessPoolExecutor(jobs, multiprocessing.get_context("fork")) as pool:
            running[:] = part
            yield from zip(part, pool.map(run_number, range(len(part)), [bin_folder] * len(part)))


def main():
    tests_clock.require()
    bin_folder, words = os.path.realpath(sys.argv[1]), sys.argv[2:]
    cases = []
    for suite in SUITES:
        cases += importlib.import_module(suite).CASES
    cases = [case for case in cases if not words or any(word in case.__name__ for word in words)]
    failed = skipped = 0
    for case, reason in results(cases, bin_folder):
        name = case.__name__.replace("_", " ")
        if reason is None:
            print(f"ok   {name}")
        elif reason.startswith(("skipped: ", "left out: ")):
            skipped += 1
            print(f"{reason}: {name}")
        else:
            failed += 1
            print(f"FAIL {name}\n{reason}")
    print(f"{len(cases) - failed - skipped} passed, {failed} failed, {skipped} without their program")
    return 1 if failed or not cases else 0


if __name__ == "__main__":
    sys.exit(main())
