"""Sessions: the good token, its adoption by other processes, a refresh, a list, memory; each beside a peer."""
import glob
import subprocess

from harness import WORK, build, build_swift, run, table
from password_figures import tokenkeep
from private_keyring import PrivateKeyring, missing
from vault_figures import measured_in_turns

CALLS = 1_000_000
# Slower calls: those that ask for the class key, and those from the main actor, which change the thread twice.
FEWER_CALLS = 50_000
WAITERS = 32
ROUNDS = 20
REFRESHES = 50
ACCOUNTS = 1000
KEYRING_ACCOUNTS = 1000
HANDLES = 10_000
PASSWORD = "bench\n"
KEEPERS = {
    "tokenkeep": "TokenKeep",
    "synced-file": "JSON file under flock, synced",
    "file": "JSON file under flock, not synced",
}


def measure():
    session = build("session", "tokenkeep")
    one, many, protected = (f"{WORK}/session-{name}" for name in ("one", "many", "protected"))
    for vault, accounts in ((one, 1), (many, ACCOUNTS), (protected, ACCOUNTS)):
        run(session, "fill", accounts, TOKENKEEP_VAULT=vault)
    tokenkeep(protected, "password", "set", "--stdin", text=PASSWORD)
    try:
        measure_tokens(session, one, protected)
        measure_processes()
        measure_refreshes(session, one, many)
        measure_lists(session, many, protected)
        measure_keyring_lists(session)
    finally:
        tokenkeep(protected, "lock", text="")
    measure_memory(session, one)


def measure_tokens(session, plain, protected):
    actor = build_swift("session-actor")
    plain, protected, actor = measured_in_turns([
        lambda: run(session, "token", CALLS, TOKENKEEP_VAULT=plain),
        lambda: run(session, "token", FEWER_CALLS, TOKENKEEP_VAULT=protected),
        lambda: run(actor, CALLS, FEWER_CALLS)])
    figures = [
        plain["token", CALLS], protected["token", FEWER_CALLS], plain["mutex", CALLS], actor["task", CALLS],
        actor["main", FEWER_CALLS]]
    table(f"A token that is good, microseconds a call, mean of {CALLS} calls (at most 5; with * of {FEWER_CALLS})",
          ["TokenKeep", "TokenKeep, vault with a password*", "mutex and a copy", "Swift actor, from a task",
           "Swift actor, from the main actor*"],
          [[f"{figure:.2f}" for figure in figures]])


def measure_processes():
    program = build("session-processes", "tokenkeep", "jansson")
    runs = [(keeper, waiters) for keeper in KEEPERS for waiters in (0, WAITERS)]
    figures = dict(zip(runs, measured_in_turns([
        lambda keeper=keeper, waiters=waiters: run(program, keeper, f"{WORK}/kept-{keeper}", waiters, ROUNDS)
        for keeper, waiters in runs])))
    rows, adoptions = [], []
    for keeper, words in KEEPERS.items():
        alone, crowd = figures[keeper, 0], figures[keeper, WAITERS]
        renewer, last = crowd["renewer", WAITERS], crowd["waiters", WAITERS]
        rows.append([words, *(f"{figure:.0f}" for figure in (alone["renewer", 0], renewer, last, last - renewer))])
        adoptions.append([words, f"{alone['adopt', 0]:.1f}"])
    table("The first call of an open handle after another process has renewed the token, medians in microseconds",
          ["", "first call"], adoptions)
    table("From the server's answer until the processes have the token, medians in microseconds",
          ["", "the renewing one alone", f"the renewing one, {WAITERS} wait", f"the last of {WAITERS}", "last - renewing"], rows)


def measure_refreshes(session, one, many):
    vaults = {1: one, ACCOUNTS: many}
    turns = measured_in_turns([
        lambda items=items, vault=vault: run(session, "refresh", items, REFRESHES, TOKENKEEP_VAULT=vault)
        for items, vault in vaults.items()])
    rows = []
    for items, figures in zip(vaults, turns):
        refresh, save = figures["refresh", items], figures["save", items]
        rows.append([items, f"{figures['length', items]:.0f}", f"{refresh:.0f}", f"{save:.0f}", f"{refresh / save:.2f}"])
    table("A refresh whose server answers at once, and a save of a secret of the same size, in turns, medians in microseconds "
          "(at most 4 times the save)",
          ["accounts", "bytes", "refresh", "save", "refresh/save"], rows)


def listed(session, vault, shown):
    return run(session, "list", ACCOUNTS, shown, ROUNDS, TOKENKEEP_VAULT=vault)


def listed_while_locked(session, vault):
    tokenkeep(vault, "lock", text="")
    figures = listed(session, vault, 0)
    tokenkeep(vault, "unlock", "--stdin", text=PASSWORD)
    return figures


def measure_lists(session, plain, protected):
    notes = glob.glob(f"{plain}/era-*/sessions")[0]
    *lists, floor = measured_in_turns([
        lambda: listed(session, plain, ACCOUNTS), lambda: listed(session, protected, ACCOUNTS),
        lambda: listed_while_locked(session, protected), lambda: run(session, "read", notes, ROUNDS)])
    least = next(iter(floor.values()))
    rows = []
    for words, figures in zip(("no password", "unlocked", "locked: no names"), lists):
        sessions, items = figures["sessions", ACCOUNTS], figures["items", ACCOUNTS]
        rows.append([words, f"{sessions:.0f}", f"{items:.0f}", f"{sessions / items:.2f}", f"{least:.0f}", f"{sessions / least:.2f}"])
    table(f"A list of the sessions of {ACCOUNTS} accounts, medians in microseconds (its floor reads the files of the notes)",
          ["vault", "sessions", "items", "sessions/items", "floor", "sessions/floor"], rows)


def measure_keyring_lists(session):
    """Sessions whose records lie in gnome-keyring alone: their list asks it for nothing."""
    if missing():
        return
    lock = ["gdbus", "call", "--session", "-d", "org.freedesktop.secrets", "-o", "/org/freedesktop/secrets",
            "-m", "org.freedesktop.Secret.Service.Lock", "['/org/freedesktop/secrets/collection/login']"]
    with PrivateKeyring(f"{WORK}/keyring-sessions") as keyring:
        environment = {
            **keyring.environment, "TOKENKEEP_VAULT": f"{WORK}/session-keyring", "BENCH_STACK": "any required secret-service"}
        run(session, "fill", KEYRING_ACCOUNTS, **environment)
        unlocked = run(session, "list-sessions", KEYRING_ACCOUNTS, ROUNDS, **environment)
        subprocess.run(lock, env=keyring.environment, check=True, capture_output=True)
        locked = run(session, "list-sessions", KEYRING_ACCOUNTS, ROUNDS, **environment)
    table(f"A list of {KEYRING_ACCOUNTS} sessions whose records lie in gnome-keyring, medians in microseconds", ["open", "locked"],
          [[f"{next(iter(figures.values())):.0f}" for figures in (unlocked, locked)]])


def measure_memory(session, vault):
    figures, = measured_in_turns([lambda: run(session, "memory", HANDLES, TOKENKEEP_VAULT=vault)])
    table(f"Resident memory, bytes; of {HANDLES} handles of one session the mean",
          ["the first handle, with what it loads", "a handle", "a handle that keeps a token", "descriptors of it", "mutex and a copy"],
          [[f"{figures['first', 1]:.0f}",
            *(f"{figures[what, HANDLES]:.0f}" for what in ("opened", "used", "descriptors", "string"))]])
