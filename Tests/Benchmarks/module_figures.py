"""What a module of somebody else's costs: the first load of a process, which loads it, and those after it."""
import os
import shutil
import subprocess

from harness import HERE, WORK, build, pkg_config, run, table

PROCESSES = 30
EXAMPLES = os.path.join(HERE, "..", "..", "examples", "plugin")
KINDS = [
    ("built in: memory", "any required memory", 500),
    ("shared object: keyctl.so", "any required keyctl ring=bench", 500),
    ("program, started each time: environment.sh", "load required environment.sh", 10),
    ("program that stays: pass.py", "any required pass.py env=PASSWORD_STORE_DIR", 100),
]


def measure():
    modules, store = os.path.join(WORK, "modules"), os.path.join(WORK, "password-store")
    os.mkdir(modules)
    os.mkdir(store)
    with open(os.path.join(store, ".gpg-id"), "w", encoding="utf-8") as file:
        file.write("nobody\n")
    for name in ("environment.sh", "pass.py"):
        shutil.copy(os.path.join(EXAMPLES, name), modules)
    subprocess.run(
        ["cc", "-O2", "-shared", "-fPIC", os.path.join(EXAMPLES, "keyctl.c"), "-o", os.path.join(modules, "keyctl.so"),
         *pkg_config("--cflags", "tokenkeep")], check=True)
    program = build("module", "tokenkeep")
    environment = {
        "TOKENKEEP_MODULES": modules, "TOKENKEEP_VAULT": os.path.join(WORK, "no-vault"), "PASSWORD_STORE_DIR": store}
    taken = {kind: [] for kind, _, _ in KINDS}
    for _ in range(PROCESSES):  # in turns: what the machine does meanwhile hits all
        for kind, stack, rounds in KINDS:
            taken[kind].append(run(program, stack, rounds, **environment))
    rows = []
    for kind, _, _ in KINDS:
        first, after = (sorted(times[what, 1] for times in taken[kind])[PROCESSES // 2] for what in ("first", "next"))
        rows.append([kind, f"{first:.1f}", f"{after:.1f}"])
    table("A load of nothing through a module, medians in microseconds", ["module", "first", "next"], rows)
