"""The instructions of a load and of a save, which do not differ between machines as times do."""
import os
import re
import shutil
import subprocess

from harness import WORK, build, filled_vault, pkg_config, table

SIZES = [1, 1000]
# vault.c saves as often as it is told.
SAVES, LOADS = 200, 2000


def instructions(program, function, items, vault):
    """Those that callgrind counts within the function."""
    environment = {
        "PATH": os.environ["PATH"], "HOME": WORK, "TOKENKEEP_VAULT": vault,
        "LD_LIBRARY_PATH": pkg_config("--variable=libdir", "tokenkeep")[0]}
    errors = subprocess.run(
        ["valgrind", "--tool=callgrind", f"--callgrind-out-file={WORK}/callgrind", f"--toggle-collect={function}", program,
         str(items), str(SAVES)],
        env=environment, check=True, capture_output=True, text=True).stderr
    return int(re.search(r"Collected : (\d+)", errors)[1])


def measure():
    if shutil.which("valgrind") is None:
        print("\nInstructions are not counted: needs valgrind")
        return
    program, rows = build("vault", "tokenkeep"), []
    for items in SIZES:
        vault = filled_vault(program, items)
        for function, calls in (("tokenkeep_load", LOADS), ("tokenkeep_save", SAVES)):
            rows.append([function, items, f"{instructions(program, function, items, vault) / calls:.0f}"])
    table(f"Instructions of a call, means of {LOADS} loads and {SAVES} saves", ["", "items", "instructions"], rows)
