"""What a watch tells of another process's changes, and that moving is none."""
import concurrent.futures
import os
import subprocess

from faults import PREFIX, WORK, Vault, case
import tests_clock
from gates import Server
from keyring_cases import Keyring, without_bus
from patience import let_pass, wait_until


class Events:
    """The events of a watch, until the item "zz-end" is saved: the last in the order of a list."""

    def __init__(self, vault):
        self.process, self.events = vault.start("events"), []
        assert self.process.stdout.readline() == "ready\n"

    def read(self):
        for line in self.process.stdout:
            self.events.append(line.strip())
            if self.events[-1] == "saved zz-end":
                break

    def until_end(self):
        self.read()
        self.process.kill()
        self.process.communicate()
        return self.events


def tokenkeep(vault, *arguments):
    return subprocess.run(
        [os.path.join(PREFIX, "bin", "tokenkeep"), *arguments], env=vault.environment, check=True, capture_output=True,
        text=True)


def migrate(vault, source, target):
    stack = "any sufficient secret-service\nany required vault"
    done = tokenkeep(vault, "migrate", "--from", source, "--to", target, "--stack", stack, "--explain")
    assert "moved 10 items" in done.stdout, done.stdout
    steps = {"secret-service": ["the item goes there", "it is read back"], "vault": ["it is to be moved from there", "it goes from here"]}
    # Of each item the watch may have drained what is pending before this program came to it.
    for step in steps[target]:
        lines = [line for line in done.stderr.splitlines() if "): secret-service: OK, " + step in line]
        assert any("fault.test (item-" in line for line in lines), done.stderr
    assert "token" not in done.stderr.replace("tokenkeep", ""), done.stderr


@case
def moving_and_settling_is_no_change():
    with Keyring() as keyring:
        vault = keyring.vault()
        for number in range(10):
            assert vault.run("save", f"item-{number}", "token") == ["OK"]
        assert without_bus(vault).run("save", "item-0", "pending") == ["OK"]
        events = Events(vault)
        vault.expect("item-0", "pending")  # and drains it
        for source, target in (("secret-service", "vault"), ("vault", "secret-service")) * 2:
            migrate(vault, source, target)
        tokenkeep(vault, "sync")
        assert vault.run("save", "zz-end", "x") == ["OK"]
        assert events.until_end() == ["saved zz-end"]


def changes_are_told_of(vault, changes, watchers=1):
    """Every watch tells of each change, or that everything must be listed again."""
    events = [Events(vault) for _ in range(watchers)]
    with concurrent.futures.ThreadPoolExecutor(watchers) as pool:
        # A watch whose events nobody reads would wait.
        reading = [pool.submit(watch.read) for watch in events]
        change(vault, changes)
        concurrent.futures.wait(reading)
        # A look that finds the end may find more, and tells of it in any order.
        assert vault.run("save", "zz-end", "y") == ["OK"]
        for told in pool.map(Events.until_end, events):
            check_events(told, changes)


def change(vault, changes):
    with Server(vault) as server:
        for number in range(changes // 4):
            assert server.do("save", f"item-{number % 50}", f"token-{number}") == ["OK"]
            assert server.do("save", f"once-{number}", "x") == ["OK"]
            assert server.do("clear", f"once-{number}") == ["OK"]
            assert server.do("save", f"new-{number}", "x") == ["OK"]
    assert vault.run("save", "zz-end", "x") == ["OK"]


def check_events(told, changes):
    again = max((index for index, event in enumerate(told) if event == "again"), default=-1)
    for number in range(changes // 4):
        assert f"saved new-{number}" in told or again >= 0, f"new-{number} was never told of"
        # Saved and cleared between two looks is nothing; saved and then not cleared would be wrong.
        mine = [event for event in told[again + 1:] if event.endswith(f" once-{number}")]
        assert not mine or mine[-1].startswith("cleared"), mine
    for number in range(50):
        assert f"saved item-{number}" in told or again >= 0
    assert not [event for event in told if event.startswith("cleared") and "once" not in event], "cleared what was not"


@case
def a_thousand_changes_in_the_vault_are_told_of():
    changes_are_told_of(Vault(), 1000)


@case
def five_thousand_changes_are_told_of_by_twenty_watches():
    changes_are_told_of(Vault(), 5000, watchers=20)


@case
def a_thousand_changes_in_the_service_are_told_of():
    with Keyring() as keyring:
        changes_are_told_of(keyring.vault(), 1000)


def wakings(process):
    """How often the threads of a process have waited for something, and how long they ran, in ticks."""
    folder = f"/proc/{process.pid}/task"
    waited = ran = 0
    for thread in os.listdir(folder):
        with open(f"{folder}/{thread}/status", encoding="ascii") as status:
            waited += sum(int(line.split()[1]) for line in status if "ctxt_switches" in line)
        with open(f"{folder}/{thread}/stat", encoding="ascii") as stat:
            ran += sum(map(int, stat.read().rsplit(")", 1)[1].split()[11:13]))
    return waited, ran


def by_the_real_clock(vault):
    """The same vault, used by programs that do not look at the tests' clock each hundredth of a second."""
    other = Vault(vault.path)
    other.environment = {name: value for name, value in vault.environment.items() if name not in tests_clock.environment()}
    return other


@case
def an_idle_watch_never_wakes():
    """Until it looks at a keyring again, after 30 seconds. What the beginning has set off ends at some time."""
    vault = Vault()
    assert vault.run("save", "a", "token") == ["OK"]
    with Keyring() as keyring:
        stack = keyring.vault()
        assert stack.run("save", "a", "token") == ["OK"]
        idle = [Events(by_the_real_clock(watched)) for watched in (vault, stack)]

        def sleeps(events):
            before = wakings(events.process)
            let_pass(6)
            return wakings(events.process) == before

        try:
            for events in idle:
                wait_until(lambda: sleeps(events), "a watch that sleeps")  # noqa: B023
        finally:
            for events in idle:
                events.process.kill()
                events.process.communicate()
