#!/usr/bin/env python3
"""Figures of the login and of the agent, on a machine with systemd (Tests/Systems). Usage, as root: login_figures.py PREFIX
[PART…]

Nothing is asserted. PARTs: logins, loads, memory, latencies, wakes. The first run fetches packages by apt."""
import os
import shutil
import subprocess
import sys
import time
from statistics import median

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../Systems"))
from machine import LOGIN, PASSWORD, Machine, Session, enter_own_namespace, make_layer, wait_until  # noqa: E402
from desktops import PACKAGES  # noqa: E402
from sessions import SERVICE, set_up  # noqa: E402

enter_own_namespace()

from harness import HERE, PREFIX, WORK, pkg_config, table  # noqa: E402

STACK = "any required vault"
MINUTES = float(os.environ.get("WAKE_MINUTES", 5))


def compile_into(machine, name, *flags):
    subprocess.run(["cc", "-O2", "-std=gnu11", "-Wall", "-Wextra", "-o", f"{machine.root}/usr/local/bin/bench-{name}",
                    f"{HERE}/{name}.c", *flags], check=True)


def prepare(machine):
    set_up(machine)
    compile_into(machine, "login", "-lpam")
    compile_into(machine, "password", *pkg_config("--cflags", "--libs", "tokenkeep"))
    shutil.copy(f"{HERE}/lock_latency.py", machine.root / "usr/local/bin/bench-latency")
    subprocess.run(["cc", "-shared", "-fPIC", "-o", f"{machine.root}/usr/lib/x86_64-linux-gnu/security/pam_ask.so",
                    LOGIN / "pam_ask.c", "-lpam"], check=True)
    for name, module in (("ours", "pam_tokenkeep.so"), ("gnome", "pam_gnome_keyring.so"), ("permit", "pam_permit.so")):
        option = " auto_start" if name == "gnome" else ""
        path = "/usr/lib/security/" if name == "ours" else ""
        machine.write(f"/etc/pam.d/bench-{name}", f"auth required pam_ask.so\nauth optional {path}{module}\n"
                      f"session required pam_permit.so\nsession optional {path}{module}{option}\n")


def login(machine, service, rounds, *before):
    """Milliseconds of authentication and session."""
    environment = {"XDG_RUNTIME_DIR": f"/run/user/{machine.uid}"}
    text = machine.must("bench-login", f"bench-{service}", machine.user, PASSWORD, rounds, *before, environment=environment)
    return float(text.split()[2]) / 1000


def start_keyring(machine):
    login(machine, "gnome", 1)


def logins(machine, _):
    # The user's keyring is made, and its daemon started and unlocked.
    start_keyring(machine)
    lock = f"setpriv --reuid {machine.uid} --regid {machine.gid} --clear-groups tokenkeep lock"
    unlock_all(machine)
    figures = {name: [] for name in ("pam_permit", "pam_tokenkeep, all open", "pam_tokenkeep, locked", "pam_gnome_keyring")}
    for _ in range(5):  # in turns: what this machine does meanwhile hits all
        figures["pam_permit"].append(login(machine, "permit", 20))
        figures["pam_gnome_keyring"].append(login(machine, "gnome", 20))
        figures["pam_tokenkeep, locked"].append(login(machine, "ours", 3, lock))
        figures["pam_tokenkeep, all open"].append(login(machine, "ours", 20))
    table("auth and open_session, medians of five rounds in milliseconds", ["", *figures],
          [[name, *[f"{of(values):.2f}" for values in figures.values()]] for name, of in (("median", median), ("lowest", min))])


def unlock_all(machine):
    machine.must("tokenkeep", "unlock", "--stdin", as_user=True, input=PASSWORD.encode() + b"\n")


def process_of(machine, name):
    return machine.must("pidof", "-s", name).strip()


def status(machine, process, field):
    lines = (machine.must("cat", f"/proc/{process}/status")).splitlines()
    return next(line.split()[1] for line in lines if line.startswith(field + ":"))


def memory(machine, _):
    start_keyring(machine)
    unlock_all(machine)
    rows = [[name] + [f"{int(status(machine, process_of(machine, name), field)) / 1024:.1f}" for field in ("VmRSS", "RssAnon")]
            for name in ("tokenkeep-agent", "gnome-keyring-daemon")]
    table("Memory in MB", ["process", "resident", "of it its own"], rows)


def loads(machine, _):
    """Level 1 with the agent and without it, in turns."""
    machine.must("tokenkeep", "save", "bench.example", "account", "--level", "when-unlocked", "--stack", STACK, as_user=True,
                 input=b"token")
    figures = {"with the agent": [], "without": []}
    for _ in range(5):
        machine.must("systemctl", "--user", "stop", "tokenkeep-agent.socket", "tokenkeep-agent.service", as_user=True)
        machine.must("tokenkeep", "lock", as_user=True)
        unlock_all(machine)
        figures["without"].append(load(machine))
        machine.must("systemctl", "--user", "start", "tokenkeep-agent.socket", as_user=True)
        machine.must("tokenkeep", "lock", as_user=True)
        unlock_all(machine)
        figures["with the agent"].append(load(machine))
    with_agent, without = (median(values) for values in figures.values())
    table("A load of level 1, medians in microseconds", [*figures, "ratio"],
          [[f"{with_agent:.1f}", f"{without:.1f}", f"{with_agent / without:.2f}"]])


def load(machine):
    return float(machine.must("bench-password", STACK, as_user=True).split()[2])


def latencies(machine, session):
    hint, kill = [], []
    for _ in range(7):
        unlock_all(machine)
        hint.append(float(machine.must("/usr/bin/python3", "/usr/local/bin/bench-latency", "hint", session.name, as_user=True)))
        machine.must("busctl", "call", "org.freedesktop.login1", f"/org/freedesktop/login1/session/{session.name}",
                     "org.freedesktop.login1.Session", "SetLockedHint", "b", "false", as_user=True)
        unlock_all(machine)
        process = process_of(machine, "tokenkeep-agent")
        kill.append(float(machine.must("/usr/bin/python3", "/usr/local/bin/bench-latency", "kill", process, as_user=True)))
        machine.must("systemctl", "--user", "reset-failed", "tokenkeep-agent.service", as_user=True)
        wait_until(lambda: machine.is_active("tokenkeep-agent.service"), "the agent")
    table("Until no key of level 1 is readable, in milliseconds", ["", "median", "longest"],
          [[name, f"{median(values):.1f}", f"{max(values):.1f}"] for name, values in (("hint", hint), ("kill -9", kill))])


def wakes(machine, _):
    """Wake-ups of the idle agent, which holds a key while the screen is open."""
    unlock_all(machine)
    process = process_of(machine, "tokenkeep-agent")
    count = lambda: int(status(machine, process, "voluntary_ctxt_switches"))

    def after_a_renewal():
        before = count()
        while count() == before:
            time.sleep(0.2)
        time.sleep(5)  # login1's reply wakes it, too
        return count(), time.monotonic()

    # Whole renewals: a few minutes more or less hold one of them more or less.
    before, start = after_a_renewal()
    time.sleep(MINUTES * 60)
    after, end = after_a_renewal()
    woken, seconds = after - before, end - start
    table("Wake-ups of the agent with a key", ["seconds", "wake-ups", "an hour, extrapolated"],
          [[f"{seconds:.0f}", str(woken), f"{woken * 3600 / seconds:.0f}"]])


def main():
    machine = Machine(os.path.dirname(PREFIX), make_layer(PACKAGES))
    try:
        prepare(machine)
        session = Session(machine, SERVICE, kind="wayland")
        for part in (logins, loads, memory, latencies, wakes):
            if not sys.argv[2:] or part.__name__ in sys.argv[2:]:
                part(machine, session)
        session.terminate()
    finally:
        machine.close()
        shutil.rmtree(WORK, ignore_errors=True)


main()
