"""The vault beside the disk's floor, libsecret's file backend, and a process that does nothing."""
import os
import statistics

import plot
from harness import SHORT, WORK, build, filled_vault, pkg_config, run, table

SIZES = [1, 100, 1000] if SHORT else [1, 100, 1000, 10_000, 100_000]
ROUNDS = 200
TURNS = 7


def measured_in_turns(programs):
    """The median of several runs of each: what the machine does meanwhile hits them all."""
    runs = [[program() for program in programs] for _ in range(TURNS)]
    return [{key: statistics.median(turn[column][key] for turn in runs) for key in runs[0][column]} for column in range(len(programs))]


def measure():
    floor, vault, libsecret = build("floor"), build("vault", "tokenkeep"), build("libsecret-file", "libsecret-1")
    made = {items: filled_vault(vault, items) for items in SIZES}
    vaults = {items: {"TOKENKEEP_VAULT": path} for items, path in made.items() if path is not None}
    ground = f"{WORK}/ground"
    os.mkdir(ground)
    grounds, *our_figures = measured_in_turns(
        [lambda: run(floor, ground, ROUNDS)]
        + [lambda own=own, items=items: run(vault, items, ROUNDS, **own) for items, own in vaults.items()])
    rows = []
    for items, ours in zip(vaults, our_figures):
        # Its saves cost in proportion to the items: filling 10 000 takes minutes for a figure nobody needs.
        theirs = None
        if items <= 1000:
            theirs = run(libsecret, items, ROUNDS, SECRET_BACKEND="file", SECRET_FILE_TEST_PATH=f"{WORK}/file-{items}", SECRET_FILE_TEST_PASSWORD="bench")
        for what in ("save", "load"):
            least, our = grounds[what, 1], ours[what, items]
            their = theirs[what, items] if theirs else None
            plot.note(plot.VAULT, what, items, our)
            if their:
                plot.note(plot.FILE, what, items, their)
            rows.append([
                what, items, f"{least:.1f}", f"{our:.1f}", f"{our / least:.2f}", f"{their:.1f}" if their else "-",
                f"{their / our:.1f}" if their else "-"])
    rows.sort(key=lambda row: (row[0], row[1]))
    table("Medians in microseconds (a load with its free; its floor opens, stats, reads and closes one file)", ["", "items", "floor", "vault", "vault/floor", "libsecret file", "libsecret/vault"], rows)

    journal = run(build("journal", "tokenkeep"), 100, 4000, TOKENKEEP_VAULT=f"{WORK}/vault-journal")
    alone, stacked = journal["alone", 100], journal["stacked", 100]
    table("A load with nothing pending, microseconds (at most 2 more are allowed)",
          ["the vault alone", "in a stack with a journal", "more"], [[f"{alone:.1f}", f"{stacked:.1f}", f"{stacked - alone:.1f}"]])

    spawn, nothing, loads = build("spawn"), build("start-libsecret", "libsecret-1"), build("start-tokenkeep", "tokenkeep")
    theirs, ours = measured_in_turns([lambda: run(spawn, ROUNDS, nothing), lambda: run(spawn, ROUNDS, loads, **vaults[1])])
    our, their = ours["start", 1], theirs["start", 1]
    table("A whole process, microseconds", ["loads a token from the vault", "does nothing, linked to libsecret", "ratio"],
          [[f"{our:.0f}", f"{their:.0f}", f"{our / their:.2f}"]])

    library = os.path.realpath(os.path.join(pkg_config("--variable=libdir", "tokenkeep")[0], "libtokenkeep.so"))
    table("The library", ["file", "bytes"], [[os.path.basename(library), os.path.getsize(library)]])
