"""Many accounts: what a keeper does for a change, a logout of all, a list."""
import json
import os
import shutil
import signal
import subprocess
import time

from harness import MEMORY, PREFIX, WORK, build, pkg_config, run, table

SIZES = [1_000, 10_000]
CHANGES = 100
SERVICE = "bench.example"
TOKENS = '{"access_token":"access","refresh_token":"refresh","expires_in":0}'
RENEWED = '{"access_token":"renewed","refresh_token":"refresh","expires_in":3600}'


class Vault:
    def __init__(self, accounts):
        self.environment = {
            "PATH": os.environ["PATH"], "HOME": WORK, "TOKENKEEP_VAULT": f"{WORK}/accounts-{accounts}",
            "XDG_CONFIG_HOME": f"{WORK}/no-configuration", "LD_LIBRARY_PATH": pkg_config("--variable=libdir", "tokenkeep")[0]}

    def command(self, *arguments):
        return [f"{PREFIX}/bin/tokenkeep", "session", *arguments, "--stack", "any required vault"]

    def call(self, *arguments, text=""):
        """Seconds of the clock and of the processors, and the output."""
        before, start = os.times(), time.monotonic()
        done = subprocess.run(
            self.command(*arguments), env=self.environment, input=text, capture_output=True, text=True, check=True)
        after = os.times()
        processor = sum(getattr(after, kind) - getattr(before, kind) for kind in ("children_user", "children_system"))
        return time.monotonic() - start, processor, done.stdout


def ticks(process):
    """The processor time of a process so far, in seconds."""
    with open(f"/proc/{process.pid}/stat", encoding="ascii") as stat:
        fields = stat.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def keeper_figures(vault):
    """Milliseconds of the processor that a keeper takes for the renewal of a session, without the program that asks the server:
    of a session that is there, and of the first sign-in of another account."""
    server = f"{WORK}/renew"
    with open(server, "w", encoding="utf-8") as file:
        file.write(f"#!/bin/sh\nread -r _\necho '{RENEWED}'\n")
    os.chmod(server, 0o700)
    keeper = subprocess.Popen(vault.command("keep", "--exec", server), env=vault.environment)
    try:
        change(vault, "account-0")
        change(vault, "account-1")  # the keeper has taken the first steps of all sessions before
        figures = []
        for kind in ("account", "new"):
            before = ticks(keeper)
            for number in range(CHANGES):
                change(vault, f"{kind}-{number + 2}")
            figures.append(1000 * (ticks(keeper) - before) / CHANGES)
        return figures
    finally:
        keeper.send_signal(signal.SIGTERM)
        keeper.wait()


def change(vault, account):
    """Begins an account's session anew with a token that has ended, and waits until the keeper has renewed it."""
    vault.call("begin", SERVICE, account, "--rotation", "none", text=TOKENS)
    while json.loads(vault.call("show", SERVICE, account, "--json")[2])["generation"] < 2:
        pass


def fill(vault, accounts, program):
    """Signs accounts in where a sync costs nothing, and moves the vault to the disk."""
    path = vault.environment["TOKENKEEP_VAULT"]
    made = f"{MEMORY}/{os.path.basename(WORK)}-accounts"
    try:
        run(program, "fill", accounts, TOKENKEEP_VAULT=made)
        shutil.copytree(made, path, symlinks=True)
        os.chmod(path, 0o700)
    finally:
        shutil.rmtree(made, ignore_errors=True)
    os.sync()


def measure():
    program = build("session", "tokenkeep")
    rows = []
    for accounts in SIZES:
        vault = Vault(accounts)
        fill(vault, accounts, program)
        listed = vault.call("list", SERVICE)
        kept, begun = keeper_figures(vault)
        ended = vault.call("logout", SERVICE, "--all")
        rows.append([accounts, f"{listed[0]:.2f}", f"{kept:.1f}", f"{begun:.1f}", f"{ended[0]:.1f}", f"{ended[1]:.1f}"])
    table("Many accounts (at most 5 ms of a keeper for a change, 10 s for the logout of 10 000)",
          ["accounts", "list, s", "keeper, ms a change", "ms a new account", "logout of all, s", "of it processor, s"], rows)
    print(f"  load average: {os.getloadavg()[0]:.1f}")
