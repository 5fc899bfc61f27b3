"""Builds and runs the programs of the benchmarks, and prints their tables."""
import os
import shutil
import subprocess
import sys
import tempfile

PREFIX = os.path.abspath(sys.argv[1])
HERE = os.path.dirname(os.path.abspath(__file__))
# The disk counts: not /tmp, which is memory on many machines.
WORK = tempfile.mkdtemp(prefix="tokenkeep-bench-", dir=os.environ.get("BENCH_DIR", os.getcwd()))
# Whether minutes must do: fewer tables, and no large vaults.
SHORT = "--short" in sys.argv


def pkg_config(*arguments):
    folders = ("lib", "lib64", "lib/x86_64-linux-gnu", "lib/aarch64-linux-gnu")
    paths = ":".join(f"{PREFIX}/{folder}/pkgconfig" for folder in folders)
    environment = {**os.environ, "PKG_CONFIG_PATH": paths + ":" + os.environ.get("PKG_CONFIG_PATH", "")}
    return subprocess.run(["pkg-config", *arguments], env=environment, check=True, capture_output=True, text=True).stdout.split()


def build(name, *packages):
    program = os.path.join(WORK, name)
    flags = pkg_config("--cflags", "--libs", *packages) if packages else []
    subprocess.run(["cc", "-O2", "-std=gnu11", "-Wall", "-Wextra", "-o", program, f"{HERE}/{name}.c", *flags], check=True)
    return program


def build_swift(name):
    """Nothing of TokenKeep is linked."""
    program = os.path.join(WORK, name)
    subprocess.run(["swiftc", "-O", "-parse-as-library", "-o", program, f"{HERE}/{name}.swift"], check=True)
    return program


def run(program, *arguments, **environment):
    """{(what, items): microseconds} of what a program prints."""
    library = pkg_config("--variable=libdir", "tokenkeep")[0]
    output = subprocess.run(
        [program, *map(str, arguments)], check=True, capture_output=True, text=True,
        env={"PATH": os.environ["PATH"], "HOME": WORK, "LD_LIBRARY_PATH": library, **environment}).stdout
    rows = (line.split() for line in output.splitlines())
    return {(what, int(items)): float(value) for what, items, value in rows}


# A record takes a block, and a new era stands beside the old one.
BYTES_PER_ITEM = 3 * 4096
MEMORY = "/dev/shm"


def filled_vault(program, items):
    """A new vault on the disk with so many items; None if there is no room. They are saved where a sync costs nothing."""
    needed = items * BYTES_PER_ITEM
    if any(shutil.disk_usage(place).free < needed for place in (MEMORY, WORK)):
        return None
    made, vault = f"{MEMORY}/{os.path.basename(WORK)}-{items}", tempfile.mkdtemp(prefix=f"vault-{items}-", dir=WORK)
    try:
        run(program, items, 0, TOKENKEEP_VAULT=made)
        shutil.copytree(made, vault, symlinks=True, dirs_exist_ok=True)
        os.chmod(vault, 0o700)
    finally:
        shutil.rmtree(made, ignore_errors=True)
    os.sync()
    return vault


def table(title, columns, rows):
    widths = [max(len(str(cell)) for cell in column) for column in zip(columns, *rows)]
    print(f"\n{title}")
    for row in [columns, ["-" * width for width in widths], *rows]:
        print("  " + "  ".join(str(cell).rjust(width) for cell, width in zip(row, widths)), flush=True)
