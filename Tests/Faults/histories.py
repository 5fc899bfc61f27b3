#!/usr/bin/python3
"""Random histories of the program on a real gnome-keyring that another program (secretstorage) uses, too, while the clock
jumps (libfaketime).

Usage: histories.py PREFIX [COUNT [SEED]]

Each call is a process of its own, with or without a bus. Every answer is compared with what must be true: see History. A
failure prints its seed and what happened.
"""
import os
import random
import subprocess
import sys
import tempfile

COUNT = int(sys.argv[2]) if len(sys.argv) > 2 else 20
FIRST = int(sys.argv[3]) if len(sys.argv) > 3 else 1

from faults import PATIENCE, PREFIX, WORK, Skip  # noqa: E402
import tests_clock  # noqa: E402
from keyring_cases import NO_BUS, Keyring  # noqa: E402

HOUR, TEN_YEARS = 3600, 315_360_000
# gnome-keyring cannot store times before 1970, nor can a certificate of nobody's end be met after 2038.
EARLIEST, LATEST = -TEN_YEARS - 2 * HOUR, TEN_YEARS + 2 * HOUR


class Clock:
    """The wall clock of the programs and of the keyring, as a file tells it."""

    def __init__(self):
        self.path = os.path.join(WORK, "clock")
        preload = subprocess.run(
            ["faketime", "-f", "+0", "sh", "-c", "echo $LD_PRELOAD"], check=True, capture_output=True, text=True,
            # The monotonic clock stays the real one, too.
            env={name: value for name, value in os.environ.items() if name not in tests_clock.environment()}).stdout.strip()
        self.environment = {
            "LD_PRELOAD": preload, "FAKETIME_TIMESTAMP_FILE": self.path, "FAKETIME_NO_CACHE": "1",
            "FAKETIME_DONT_FAKE_MONOTONIC": "1", "DONT_FAKE_MONOTONIC": "1"}
        self.set(0)

    def set(self, offset):
        self.offset = offset
        with open(self.path + ".new", "w", encoding="ascii") as file:
            file.write(f"{offset:+d}\n")
        os.rename(self.path + ".new", self.path)

    def now(self):
        """Whole seconds, as the programs see them."""
        return int(subprocess.run(
            ["date", "+%s"], env={**os.environ, **self.environment}, check=True, capture_output=True, text=True).stdout)


class OtherProgram:
    """A program that uses the keyring by secretstorage."""

    def __init__(self, keyring):
        import secretstorage
        os.environ["DBUS_SESSION_BUS_ADDRESS"] = keyring.address
        self.connection = secretstorage.dbus_init()
        self.collection = secretstorage.get_default_collection(self.connection)

    def items(self, service):
        return list(self.collection.search_items({"service": service, "username": "ann"}))

    def save(self, service, value, replaces):
        """As Python's keyring does, or in place."""
        items = self.items(service)
        if items and not replaces:
            for item in items:
                item.set_secret(value.encode())
        else:
            self.collection.create_item("theirs", {"service": service, "username": "ann"}, value.encode(), replace=True)

    def delete(self, service):
        for item in self.items(service):
            item.delete()

    def values(self, service):
        return [item.get_secret().decode() for item in self.items(service)]


class History:
    """One item, the values that a load may find, and the reasons why there may be more than one."""

    def __init__(self, keyring, clock, other, seed):
        self.random, self.clock, self.other = random.Random(seed), clock, other
        self.service = f"history-{os.getpid()}-{seed}.test"
        self.vault = tempfile.mkdtemp(prefix="history-", dir=WORK) + "/vault"
        self.environment = {**keyring.vault().environment, **clock.environment, "TOKENKEEP_VAULT": self.vault,
                            "XDG_RUNTIME_DIR": keyring.home}
        self.log, self.saved = [], 0
        self.possible = {None}  # what a load must find once nothing is pending
        self.record = None  # what the vault answers while something is pending: (value,)
        self.home = None  # a value that the vault keeps because the keyring was never used
        self.known = False  # whether the program knows a value that the keyring has, or had when it changed the item
        self.unseen_at = None  # when the other program wrote a value that the program did not see
        self.changed_at = None  # when the pending change was made
        self.foreign = False  # whether the item may be the other program's own

    # What the program does

    def call(self, *arguments, bus=True, input=""):
        environment = self.environment if bus else {**self.environment, "DBUS_SESSION_BUS_ADDRESS": NO_BUS}
        done = subprocess.run(
            [os.path.join(PREFIX, "bin", "tokenkeep"), *arguments], env=environment, input=input, capture_output=True, text=True,
            timeout=PATIENCE, check=False)
        self.note(f"{' '.join(arguments)}{'' if bus else ', no bus'} {input}: {done.returncode} {done.stdout.strip()} "
                  f"{done.stderr.strip()}")
        return done

    def note(self, what):
        self.log.append(f"[{self.clock.offset:+d}] {what}")

    def has(self, folder):
        path = f"{self.vault}/current/{folder}"
        return os.path.isdir(path) and bool(os.listdir(path))

    def is_pending(self):
        return self.has("pending")

    def is_used(self):
        """Whether the program has ever used the keyring: only then its absence is an outage."""
        return self.has("used")

    def new_value(self):
        self.saved += 1
        return f"v{self.saved}"

    def acknowledge(self, value, bus):
        """The program changed the item. An unseen value of the other program is older, as far as dates can tell."""
        present = self.other.values(self.service)
        self.possible = {value}
        now = self.clock.now()
        if not bus and self.unseen_at is not None and self.unseen_at >= now - 1:
            self.possible |= set(present)
        self.record = None
        if self.is_pending():
            self.record, self.changed_at = (value,), now
        else:
            self.drain()
        self.note(f"-> {self.possible} {'pending' if self.record else ''}")

    def drain(self):
        self.record = self.changed_at = self.unseen_at = None
        self.known = self.home is None and None not in self.possible

    def save(self, bus):
        value, was_used = self.new_value(), self.is_used()
        done = self.call("save", self.service, "ann", bus=bus, input=value)
        assert done.returncode == 0, "a save failed"
        if bus:
            self.foreign = False
        elif not was_used:
            # Nothing is pending: the keyring's item, if it has one, comes before the vault's.
            self.home, self.possible = value, {value} | set(self.other.values(self.service))
            return
        self.home = None
        self.acknowledge(value, bus)

    def save_if_absent(self):
        value = self.new_value()
        done = self.call("save", self.service, "ann", "--if-absent", input=value)
        if done.returncode == 0:
            assert None in self.possible, "saved over an item"
            self.foreign, self.home = False, None
            self.acknowledge(value, True)
        else:
            assert self.possible != {None}, "an item that is not there"
            self.possible -= {None}
            self.look()

    def look(self):
        """After a call that drains: nothing must be left for long."""
        if not self.is_pending():
            self.record = self.changed_at = None

    def load(self, bus):
        done = self.call("load", self.service, "ann", bus=bus)
        found = done.stdout if done.returncode == 0 else None
        answered = done.returncode in (0, 1)
        if not bus and self.record:
            assert answered and found == self.record[0], f"the record has {self.record}"
        elif not bus:
            allowed = {self.home} if self.home else set() if self.is_used() else {None}
            assert not answered or found in allowed, f"{found} without a bus"
        else:
            assert answered, "a load failed"
            allowed = self.possible | (set(self.record) if self.record else set())
            assert found in allowed, f"{found!r} is none of {allowed}"
            if self.is_pending():
                return
            assert found in self.possible, f"{found!r} is none of {self.possible} and nothing is pending"
            self.possible = {found}
            self.drain()

    def clear(self, bus):
        was_used = self.is_used()
        done = self.call("clear", self.service, "ann", bus=bus)
        assert done.returncode == 0, "a clear failed"
        if not bus and not was_used:
            self.home, self.possible = None, {None} | set(self.other.values(self.service))
            return
        # The other program's newer item may stand when the removal is drained.
        self.home, self.foreign = None, self.foreign and not bus
        self.acknowledge(None, bus)

    def clear_service(self, bus):
        was_used = self.is_used()
        done = self.call("clear", self.service, "--all", bus=bus)
        assert done.returncode == 0, "a clear of the service failed"
        may_stay = self.foreign or not was_used
        present = set(self.other.values(self.service)) if may_stay else set()
        self.home = None
        if not bus and not was_used:
            self.possible = {None} | present
            return
        self.acknowledge(None, bus)
        # A list does not show the other program's own items.
        self.possible |= present

    def list(self):
        done = self.call("list", self.service)
        is_listed = any("ann" in line.split() for line in done.stdout.splitlines()[1:])
        if not is_listed and not self.foreign and not self.is_pending():
            assert None in self.possible or done.returncode != 0, "it is not listed"
        if is_listed and not self.is_pending():
            assert self.possible != {None}, "listed though it was cleared"

    def sync(self):
        done = self.call("sync")
        assert done.returncode == 0 and not self.is_pending(), "something is left"
        self.record = self.changed_at = None

    # What else happens

    def other_saves(self):
        value, now = self.new_value(), self.clock.now()
        self.other.save(self.service, value, replaces=self.random.random() < 0.5)
        self.foreign, self.unseen_at = True, now
        if self.changed_at is None:
            self.possible = {value}
        elif self.known and now >= self.changed_at or now > self.changed_at:
            self.possible = {value}
        else:
            # The clock was set back, or nobody knows what the keyring had before.
            self.possible = {value} | set(self.record or ())
        dates = [item.get_modified() - now for item in self.other.items(self.service)]
        self.note(f"the other program saves {value} -> {self.possible}, dated {dates}")

    def other_deletes(self):
        self.other.delete(self.service)
        # A pending write puts the item there again.
        self.possible = set(self.record) if self.record else {self.home}
        self.note(f"the other program deletes -> {self.possible}")
        if not self.record:
            self.unseen_at = None

    def clock_jumps(self):
        step = self.random.choice([HOUR, -HOUR, TEN_YEARS, -TEN_YEARS])
        if not EARLIEST < self.clock.offset + step < LATEST:
            step = -step
        self.clock.set(self.clock.offset + step)
        if step < 0 and self.unseen_at is not None:
            # An unseen value may now be dated later than what follows.
            self.unseen_at = float("inf")
        if step < 0 and self.record:
            self.possible |= set(self.other.values(self.service)) if not self.known else set()
        self.note("the clock jumps")

    def seconds_pass(self):
        self.clock.set(self.clock.offset + 2)

    def play(self):
        steps = [
            (4, lambda: self.save(True)), (4, lambda: self.save(False)), (1, self.save_if_absent),
            (4, lambda: self.load(True)), (2, lambda: self.load(False)), (2, lambda: self.clear(True)),
            (2, lambda: self.clear(False)), (1, lambda: self.clear_service(True)), (2, lambda: self.clear_service(False)),
            (1, self.list), (1, self.sync), (4, self.other_saves), (1, self.other_deletes), (2, self.clock_jumps),
            (2, self.seconds_pass)]
        actions = self.random.choices([step for _, step in steps], [weight for weight, _ in steps], k=self.random.randrange(4, 14))
        for action in actions:
            action()
        self.sync()
        self.load(True)
        self.load(True)
        assert len(self.possible) == 1, self.possible
        values = set(self.other.values(self.service)) or {self.home}
        assert values == self.possible, f"the keyring has {values}, a load finds {self.possible}"


def obeys(clock, other):
    """Whether the keyring takes its dates from the clock's file."""
    clock.set(TEN_YEARS)
    other.save("clock.test", "x", replaces=True)
    modified = other.items("clock.test")[0].get_modified()
    now, _ = clock.now(), clock.set(0)
    return abs(now - modified) < 60


def main():
    try:
        clock = Clock()
        with Keyring(daemon_environment=clock.environment) as keyring:
            other = OtherProgram(keyring)
            if not obeys(clock, other):
                raise Skip("the keyring does not obey libfaketime")
            for seed in range(FIRST, FIRST + COUNT):
                clock.set(0)
                history = History(keyring, clock, other, seed)
                try:
                    history.play()
                except Exception as problem:
                    print(f"FAILED  seed {seed}: {problem}", *history.log, sep="\n        ")
                    return 1
    except (Skip, FileNotFoundError, ImportError) as reason:
        print(f"skipped histories: {reason}")
        return 0
    print(f"ok      {COUNT} histories from seed {FIRST} on")
    return 0


sys.exit(main())
