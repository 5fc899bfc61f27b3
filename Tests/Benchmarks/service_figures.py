"""The Secret Service by TokenKeep beside libsecret's own API."""
from statistics import median

import plot
from harness import WORK, build, run, table
from private_keyring import PrivateKeyring, missing

SIZES = [1, 100, 1000]
ROUNDS = 80
TURNS = 11
OPERATIONS = {
    "load_again": "load, loaded just now",
    "load_known": "load, path known",
    "load_first": "load, path not known",
    "load_whole": "the same with label and dates",
    "save": "save over an item",
    "process_load": "a process that loads",
    "process_save": "a process that saves",
}

# Of the loads, the one without knowledge of the item's path.
PLOTTED = {"load_first": "load", "save": "save"}


def processes(environment, spawn, programs, items):
    """Medians of whole processes, in turns, and of the ratios of a turn."""
    figures = {}
    for operation in ("load", "save"):
        turns = [
            {whose: run(spawn, 4, programs[whose], operation, **environment)["start", 1] for whose in ("ours", "theirs")}
            for _ in range(TURNS)]
        for whose in ("ours", "theirs"):
            figures[f"{whose}:process_{operation}", items] = median(turn[whose] for turn in turns)
        figures[f"ratio:process_{operation}", items] = median(turn["ours"] / turn["theirs"] for turn in turns)
    return figures


def count(keyring, environment, service, programs):
    """{(whose, operation): [calls, messages]}"""
    messages = keyring.monitor()
    run(service, "count", programs["ours"], programs["theirs"], **environment)
    counts, present = {}, None
    for kind, path in messages:
        if not path.startswith("/mark/"):
            if present:
                counts[present][0] += kind == "mc"
                counts[present][1] += 1
            continue
        _, _, whose, operation = path.split("/")
        if operation == "end":
            return counts
        present = (whose, operation)
        counts[present] = [0, 0]
    raise RuntimeError("the monitor ended")


def measure():
    if missing():
        print(f"\nThe Secret Service is not measured: needs {', '.join(missing())}")
        return
    service, spawn = build("service", "tokenkeep", "libsecret-1", "gio-2.0"), build("spawn")
    programs = {"ours": build("service-start-tokenkeep", "tokenkeep"), "theirs": build("service-start-libsecret", "libsecret-1")}
    figures, filled = {}, 0
    with PrivateKeyring(f"{WORK}/keyring") as keyring:
        environment = {**keyring.environment, "TOKENKEEP_VAULT": f"{WORK}/service-vault"}
        for items in SIZES:
            run(service, "fill", filled, items - 1, **environment)
            filled = items - 1
            figures |= run(service, "measure", items, ROUNDS, **environment)
            figures |= processes(environment, spawn, programs, items)
        counts = count(keyring, environment, service, programs)
    rows = []
    for operation, words in OPERATIONS.items():
        for items in SIZES:
            our, their, ratio = (figures[f"{column}:{operation}", items] for column in ("ours", "theirs", "ratio"))
            if operation in PLOTTED:
                plot.note(plot.OURS, PLOTTED[operation], items, our)
                plot.note(plot.THEIRS, PLOTTED[operation], items, their)
            rows.append([words, items, f"{our:.0f}", f"{their:.0f}", f"{ratio:.2f}"])
    table("The Secret Service (gnome-keyring): medians in microseconds, and of the ratios of a round",
          ["", "items", "TokenKeep", "libsecret", "ratio"], rows)
    table("D-Bus messages of one operation: method calls, and all messages",
          ["", "TokenKeep", "all", "libsecret", "all"],
          [[words, *counts["ours", operation], *counts["theirs", operation]] for operation, words in OPERATIONS.items()])
