"""What disturbs the terminals of the soak for longer than a call: hours without a server, and changes of the vault's keys."""
import os
import random

# The status of each answer of an outage.
OUTAGES = (500, 502, 503, 504, 407)
HOUR = 3600
# Each second of an outage is a minute for the programs.
STEPS = 60
# A vault's password is changed beside calls that are stopped with its locks for up to 8 s.
TRIES = 20


def moved_clocks(faketime, wall, boot):
    """A wrapper of a call, whose wall clock and boot clock are ahead of the machine's by so many seconds."""
    wrapper = ("unshare", "-T", "--boottime", str(boot)) if boot else ()
    if not wall:
        return wrapper
    variables = (f"LD_PRELOAD={faketime}", f"FAKETIME={wall:+d}s", "FAKETIME_DONT_FAKE_MONOTONIC=1", "DONT_FAKE_MONOTONIC=1")
    return (*wrapper, "env", *variables)


class Outages:
    """The server says nothing useful for an hour, again and again. Nobody is signed out, and few requests are sent."""

    def __init__(self, soak, service, accounts):
        self.soak, self.server, self.service, self.accounts = soak, soak.server, service, accounts

    def play(self):
        # A time namespace needs root.
        while os.geteuid() == 0 and not self.soak.is_over.wait(random.uniform(60, 180)):
            self.hour_without_server()

    def hour_without_server(self):
        before = self.server.refreshes
        self.server.outage = random.choice(OUTAGES)
        for _ in range(STEPS):
            self.soak.is_over.wait(1)
            self.server.ahead += HOUR // STEPS
        requests = self.server.refreshes - before
        self.server.outage = None
        self.soak.counts["hours without the server"] += 1
        self.soak.counts["requests in hours without the server"] += requests
        # A call that was killed may have asked, and nobody knows.
        if requests > 20 * len(self.accounts):
            self.soak.fail(f"{requests} requests in an hour without the server")
        # The pause between two requests grows to an hour.
        self.server.ahead += HOUR
        for account in self.accounts:
            self.expect_token(account)

    def expect_token(self, account):
        for _ in range(HOUR // STEPS):
            code, token, errors = self.soak.run("token", self.service, account)
            if code == 0 and self.server.left(token) > 0:
                return
            self.soak.is_over.wait(1)
        self.soak.fail(f"{account} has no token a minute after an outage and its pause: {errors}")


class KeyChanges:
    """The password is set, changed and removed, each time beside two unlocks: with the password before and after."""

    def __init__(self, soak):
        self.soak = soak
        self.password = None

    def play(self):
        number = 0
        while not self.soak.is_over.wait(random.uniform(5, 20)):
            number += 1
            self.change(f"password {number}")
        if self.password:
            self.end_unlock(*self.begin_unlock(self.password))

    def change(self, new):
        old = self.password
        words, given, after = random.choice(self.changes(old, new))
        for _ in range(TRIES):
            change = self.soak.begin(*words, "--stdin")
            for unlock in [self.begin_unlock(password) for password in (old, after) if password]:
                self.end_unlock(*unlock)
            code = self.end(words[:2], change, given, allowed=(0, 3, 4))
            if code == 0:
                self.soak.counts[" ".join(words)] += 1
            # It may be in force all the same.
            elif after == old or after is None or self.end_unlock(*self.begin_unlock(after)) != 0:
                continue
            self.password = after
            return
        self.soak.fail(f"{words} does not come to its end")

    @staticmethod
    def changes(old, new):
        """The commands that are possible, what each reads, and the password after each."""
        if old is None:
            return [(("password", "set"), new + "\n", new)]
        return [
            (("password", "change"), f"{old}\n{new}\n", new),
            (("password", "change", "--compromised"), f"{old}\n{new}\n", new),
            (("recovery", "create"), old + "\n", old),
            (("password", "remove"), old + "\n", None)]

    def begin_unlock(self, password):
        return self.soak.begin("unlock", "--stdin"), password

    def end_unlock(self, process, password):
        return self.end("unlock", process, password + "\n", allowed=(0, 1, 3, 4, 5, 6))

    def end(self, what, process, given, allowed):
        _, errors = process.communicate(given)
        if process.returncode not in allowed:
            self.soak.fail(f"{what}: exit code {process.returncode}: {errors.strip()}")
        return process.returncode
