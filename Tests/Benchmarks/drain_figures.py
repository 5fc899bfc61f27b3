"""Draining pending writes into a keyring, beside as many stores by libsecret into another."""
from harness import WORK, build, run, table
from private_keyring import PrivateKeyring, missing

ITEMS = 1000
TURNS = 2


def measure():
    if missing():
        print(f"\nA drain is not measured: needs {', '.join(missing())}")
        return
    drain = build("drain", "tokenkeep", "libsecret-1")
    rows = []
    for turn in range(TURNS):
        figures = {}
        for whose in ("ours", "theirs", "alike"):
            with PrivateKeyring(f"{WORK}/drain-{whose}-{turn}") as keyring:
                environment = {**keyring.environment, "TOKENKEEP_VAULT": f"{WORK}/drain-vault-{whose}-{turn}"}
                run(drain, "use", **environment)
                if whose == "ours":
                    run(drain, "pend", ITEMS, **{**environment, "DBUS_SESSION_BUS_ADDRESS": "unix:path=/nonexistent/bus"})
                figures |= run(drain, whose, ITEMS, **environment)
        ours, theirs, alike = (figures[whose, ITEMS] for whose in ("ours", "theirs", "alike"))
        rows.append([turn + 1, f"{ours:.0f}", f"{theirs:.0f}", f"{ours / theirs:.2f}", f"{alike:.0f}", f"{ours / alike:.2f}"])
    # gnome-keyring hashes each attribute of each item whenever it writes its file.
    table(f"Draining {ITEMS} pending writes, microseconds for each (at most 1.2 times libsecret's store of as many attributes)",
          ["turn", "TokenKeep", "libsecret, 2 attributes", "ours/it", "libsecret, our 4 attributes", "ours/it, at most 1.2"], rows)
