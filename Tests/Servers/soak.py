#!/usr/bin/python3
"""Terminals that call an API every second, for as long as they are told, while all around them is disturbed.

Usage: soak.py PREFIX MINUTES

Eight terminals share a session under strict rotation, two another one under overlap. Meanwhile a real gnome-keyring locks,
is stopped, killed and restarted; calls are killed and stopped; the clocks of calls jump; the server answers nothing useful for
an hour (of moved clocks, and as root alone); the vault's password is set, changed and removed beside unlocks. Nobody may be
signed out, but by a process that was killed after the strict server had answered it: such a token is lost to everybody, and is
counted. At the end a logout in one terminal must be one in all, and at the server.
"""
import collections
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import threading
import time

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + "/Faults")
from faults import PREFIX, WORK
from keyring_cases import Keyring
from patience import stop_process
from rotating_server import RotatingServer
from session_keyring_cases import LOCK
from soak_disturbances import KeyChanges, Outages, moved_clocks

SERVICE = "api.soak.test"
LIFETIME = 20


def faketime():
    """The path of the library that moves a program's wall clock."""
    return subprocess.run(
        ["faketime", "-f", "+0", "sh", "-c", "echo $LD_PRELOAD"], check=True, capture_output=True, text=True).stdout.strip()


# Jumps of the wall clock and of the boot clock, in seconds. A time namespace needs root.
JUMPS = [(3600, 0), (-3600, 0), (315532800, 0), (-315532800, 0)] + ([(0, 7200)] if os.geteuid() == 0 else [])


class Soak:
    def __init__(self, server, keyring):
        self.server, self.keyring = server, keyring
        self.is_over = threading.Event()
        self.counts = collections.Counter()
        self.failures = []
        self.killed = set()
        self.later_boot = set()  # the calls whose boot clock was ahead of the others'
        self.families = {}
        self.lock = threading.Lock()
        self.faketime = faketime()
        self.ask, _ = server.write_scripts(WORK)
        self.environment = {
            "PATH": os.environ["PATH"], "HOME": WORK, "XDG_CONFIG_HOME": WORK + "/config", "TOKENKEEP_VAULT": WORK + "/vault",
            "DBUS_SESSION_BUS_ADDRESS": keyring.address}

    def start(self, jump, *arguments):
        ask = [] if arguments[0] in ("begin", "show") else ["--exec", "exec " + self.ask]
        wall, boot = (self.server.ahead + by for by in jump)
        return self.begin("session", *arguments, *ask, wrapper=moved_clocks(self.faketime, wall, boot))

    def begin(self, *arguments, wrapper=()):
        return subprocess.Popen(
            [*wrapper, PREFIX + "/bin/tokenkeep", *arguments], env=self.environment, text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def run(self, *arguments, given=""):
        process = self.start((0, 0), *arguments)
        output, errors = process.communicate(given)
        return process.returncode, output.strip(), errors.strip()

    def fail(self, what):
        self.failures.append(what)
        print(f"{time.strftime('%H:%M:%S')} FAILED {what}", flush=True)

    def sign_in(self, account):
        """Signs in, and again while the keyring is away."""
        overlap = 60 if account == "overlap" else 0
        rotation = f"overlap={overlap}" if overlap else "strict"
        while not self.is_over.is_set():
            self.families[account], response = self.server.sign_in(overlap)
            code, _, errors = self.run("begin", SERVICE, account, "--rotation", rotation, given=json.dumps(response))
            if code == 0:
                return
            self.counts[f"sign-in: {errors.splitlines()[0]}"] += 1

    # What disturbs

    def disturb(self, process):
        """Kills or stops some of the calls, at a random moment of their life."""
        chance = random.random()
        if chance > 0.08:
            return
        try:
            process.wait(random.uniform(0, 0.15))
            return
        except subprocess.TimeoutExpired:
            pass
        if chance < 0.05:
            self.killed.add(process.pid)
            process.kill()
            self.counts["calls killed"] += 1
            return
        stop_process(process.pid)
        self.counts["calls stopped"] += 1
        self.is_over.wait(random.uniform(0.5, 8))
        process.send_signal(signal.SIGCONT)

    def weather(self):
        """Locks, kills and stops the keyring."""
        while not self.is_over.wait(random.uniform(4, 20)):
            kind = random.choice(("locked", "killed", "stopped"))
            self.counts[f"keyring {kind}"] += 1
            if kind == "stopped":
                stop_process(self.keyring.daemon.pid)
                self.is_over.wait(random.uniform(0.5, 4))
                self.keyring.daemon.send_signal(signal.SIGCONT)
                continue
            if kind == "locked":
                subprocess.run(LOCK, shell=True, env=self.keyring.environment, check=True)
                self.is_over.wait(random.uniform(2, LIFETIME))
            Keyring.stop(self.keyring.daemon)
            self.is_over.wait(random.uniform(0, 5))
            self.keyring.start_daemon()

    # The terminals

    def terminal(self, account):
        while not self.is_over.wait(1):
            jump = (0, 0)
            if random.random() < 0.04:
                jump = random.choice(JUMPS)
                self.counts["calls with a clock that jumps"] += 1
            started = self.server.now()
            process = self.start(jump, "token", SERVICE, account)
            if jump[1]:
                self.later_boot.add(process.pid)
            self.disturb(process)
            output, errors = process.communicate()
            if process.pid not in self.killed:
                self.judge(account, jump, started, process.returncode, output.strip(), errors.strip())

    def judge(self, account, jump, started, code, token, errors):
        first = errors.splitlines()[0] if errors else ""
        if code == 0:
            self.counts["tokens"] += 1
            self.use(account, jump, started, token)
        elif "is over" in errors or code in (1, 6):
            self.signed_out(account, first)
        elif code in (3, 4):
            self.counts["locked" if code == 3 else "unavailable or busy"] += 1
        else:
            self.fail(f"exit code {code}: {errors}")

    def use(self, account, jump, started, token):
        """Calls the API with a token. One that is refused is renewed once."""
        if self.server.left(token) > 0:
            self.counts["calls of the API"] += 1
            return
        self.counts["tokens refused"] += 1
        ahead = self.server.ahead
        # A call that is stopped may tell its token late.
        late = started - self.server.end(token)
        # The token's call had a later boot clock, and this one an earlier wall clock: no clock tells the end.
        is_deceived = jump[0] < 0 and self.server.asker_of[token] in self.later_boot
        if is_deceived:
            self.counts["calls that two wrong clocks deceive"] += 1
        elif not self.server.family_of[token].is_revoked and late > LIFETIME / 3:
            self.fail(f"a call that began {late:.0f} s after the end of the token returned it: clocks {jump}")
        code, renewed, errors = self.run("rejected", SERVICE, account, given=token)
        has_ended = self.server.ahead == ahead and self.server.left(renewed) <= 0
        if code == 0 and has_ended and not self.server.family_of[renewed].is_revoked:
            self.fail("the token after a refusal is refused")
        if "is over" in errors:
            self.signed_out(account, errors.splitlines()[0])

    def signed_out(self, account, message):
        with self.lock:
            state = json.loads(self.run("show", SERVICE, account, "--json")[1] or "{}").get("state")
            if state == "user":
                return  # another terminal has signed in again
            family = self.families[account]
            is_lost = "rotation-lost" in message and family.asked_by and family.asked_by[-1] in self.killed
            if is_lost and family.overlap == 0:
                self.counts["lost with the process that the server had answered"] += 1
            else:
                self.fail(f"{account} is signed out: {message}; state {state}; given to {family.asked_by[-3:]}")
            self.sign_in(account)

    def everybody_is_signed_out_by_one(self, account):
        _, token, errors = self.run("token", SERVICE, account)
        if self.server.left(token) <= 0:
            return self.fail(f"{account} has no token at the end: {errors}")
        code, report, errors = self.run("logout", SERVICE, account, "--json")
        if code != 0 or json.loads(report)["revocation"] != "done":
            self.fail(f"the logout of {account}: {report} {errors}")
        codes = {self.run("token", SERVICE, account)[0] for _ in range(8)}
        if codes != {1} or self.server.left(token) > 0 or not self.families[account].is_revoked:
            self.fail(f"after the logout of {account}: exit codes {codes}")
        return None

    def play(self, minutes):
        accounts = ["strict"] * 8 + ["overlap"] * 2
        for account in set(accounts):
            self.sign_in(account)
        threads = [threading.Thread(target=self.terminal, args=(account,)) for account in accounts]
        disturbances = (self.weather, Outages(self, SERVICE, sorted(set(accounts))).play, KeyChanges(self).play)
        threads += [threading.Thread(target=disturbance) for disturbance in disturbances]
        for thread in threads:
            thread.start()
        self.is_over.wait(minutes * 60)
        self.is_over.set()
        for thread in threads:
            thread.join()
        for account in sorted(set(accounts)):
            self.everybody_is_signed_out_by_one(account)
        self.counts["refresh requests"] = self.server.refreshes


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    try:
        with RotatingServer(LIFETIME) as server, Keyring() as keyring:
            soak = Soak(server, keyring)
            soak.play(float(sys.argv[2]))
    finally:
        shutil.rmtree(WORK, ignore_errors=True)
    for name, count in sorted(soak.counts.items()):
        print(f"{count:8} {name}")
    print(f"{len(soak.failures)} failed")
    return 1 if soak.failures or not soak.counts["tokens"] else 0


if __name__ == "__main__":
    sys.exit(main())
