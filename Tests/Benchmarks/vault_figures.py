"""The vault beside the disk's floor, libsecret's file backend, and a process that does nothing."""
import os

from harness import WORK, build, pkg_config, run, table

SIZES = [1, 100, 1000, 10000]
ROUNDS = 200


def measure():
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

    journal = run(build("journal", "tokenkeep"), 100, 4000, TOKENKEEP_VAULT=f"{WORK}/vault-journal")
    alone, stacked = journal["alone", 100], journal["stacked", 100]
    table("A load with nothing owed, microseconds (at most 2 more are allowed)",
          ["the vault alone", "in a stack that may owe", "more"], [[f"{alone:.1f}", f"{stacked:.1f}", f"{stacked - alone:.1f}"]])

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
