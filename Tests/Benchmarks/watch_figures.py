"""Saves in a vault that processes watch, beside saves that nobody watches."""
from harness import WORK, build, run, table

SIZES = [100, 10000, 40000]
WATCHERS = [0, 1, 20]
CHANGES = 5000


def measure():
    fill, watch = build("vault", "tokenkeep"), build("watch", "tokenkeep")
    rows = []
    for items in SIZES:
        vault = {"TOKENKEEP_VAULT": f"{WORK}/watched-{items}"}
        run(fill, items, 0, **vault)
        bare = None
        for watchers in WATCHERS:
            figures = run(watch, items, watchers, CHANGES, **vault)
            bare = bare or figures["save", items]
            processor = figures.get(("watch", items))
            rows.append([
                items, watchers, f"{figures['save', items]:.0f}", f"{figures['save', items] / bare:.2f}",
                f"{processor:.0f}" if processor else "-"])
    table(f"{CHANGES} saves in a row while processes watch, microseconds (at most 3 times the bare save, 500 for a change)",
          ["items", "watchers", "save", "save/bare", "processor time of a watcher for each change"], rows)
