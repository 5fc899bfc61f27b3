#!/usr/bin/python3
"""Figures of the vault beside the disk's floor and libsecret's file backend, from one run. Nothing is asserted.

Usage: run.py PREFIX      (the prefix into which the package was installed)
"""
import os
import shutil
import subprocess
import sys
import tempfile

PREFIX = os.path.abspath(sys.argv[1])
HERE = os.path.dirname(os.path.abspath(__file__))
# The disk counts: not /tmp, which is memory on many machines.
WORK = tempfile.mkdtemp(prefix="tokenkeep-bench-", dir=os.environ.get("BENCH_DIR", os.getcwd()))
SIZES = [1, 100, 1000, 10000]
ROUNDS = 200


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


def run(program, *arguments, **environment):
    """{(what, items): microseconds} of what a program prints."""
    library = pkg_config("--variable=libdir", "tokenkeep")[0]
    output = subprocess.run(
        [program, *map(str, arguments)], check=True, capture_output=True, text=True,
        env={"PATH": os.environ["PATH"], "HOME": WORK, "LD_LIBRARY_PATH": library, **environment}).stdout
    rows = (line.split() for line in output.splitlines())
    return {(what, int(items)): float(value) for what, items, value in rows}


def table(title, columns, rows):
    widths = [max(len(str(cell)) for cell in column) for column in zip(columns, *rows)]
    print(f"\n{title}")
    for row in [columns, ["-" * width for width in widths], *rows]:
        print("  " + "  ".join(str(cell).rjust(width) for cell, width in zip(row, widths)))


def main():
    floor = run(build("floor"), WORK, ROUNDS)
    vault, libsecret = build("vault", "tokenkeep"), build("libsecret-file", "libsecret-1")
    rows = []
    for items in SIZES:
        ours = run(vault, items, ROUNDS, TOKENKEEP_VAULT=f"{WORK}/vault-{items}")
        # Its saves cost in proportion to the items: filling 10 000 takes minutes for a figure nobody needs.
        theirs = None
        if items <= 1000:
            theirs = run(libsecret, items, ROUNDS, SECRET_BACKEND="file", SECRET_FILE_TEST_PATH=f"{WORK}/file-{items}", SECRET_FILE_TEST_PASSWORD="bench")
        for what in ("save", "load"):
            ground, our = floor[what, 1], ours[what, items]
            their = theirs[what, items] if theirs else None
            rows.append([
                what, items, f"{ground:.1f}", f"{our:.1f}", f"{our / ground:.2f}", f"{their:.1f}" if their else "-",
                f"{their / our:.1f}" if their else "-"])
    rows.sort(key=lambda row: (row[0], row[1]))
    table("Medians in microseconds", ["", "items", "floor", "vault", "vault/floor", "libsecret file", "libsecret/vault"], rows)

    spawn = build("spawn")
    vault_one = {"TOKENKEEP_VAULT": f"{WORK}/vault-1"}
    ours, theirs = [], []
    for _ in range(3):  # in turns: what the machine does meanwhile hits both
        theirs.append(run(spawn, ROUNDS, build("start-libsecret", "libsecret-1"))["start", 1])
        ours.append(run(spawn, ROUNDS, build("start-tokenkeep", "tokenkeep"), **vault_one)["start", 1])
    our, their = sorted(ours)[1], sorted(theirs)[1]
    table("A whole process, microseconds", ["loads a token from the vault", "does nothing, linked to libsecret", "ratio"],
          [[f"{our:.0f}", f"{their:.0f}", f"{our / their:.2f}"]])

    library = os.path.realpath(os.path.join(pkg_config("--variable=libdir", "tokenkeep")[0], "libtokenkeep.so"))
    table("The library", ["file", "bytes"], [[os.path.basename(library), os.path.getsize(library)]])


try:
    main()
finally:
    shutil.rmtree(WORK, ignore_errors=True)
