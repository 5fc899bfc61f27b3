"""What a watch tells of another process's changes, and that moving is none."""
import os
import subprocess

from faults import PREFIX, WORK, Vault, case
from gates import Server
from keyring_cases import Keyring, without_bus

CHANGES = 1000


class Events:
    """The events of a watch, until the item "zz-end" is saved: the last in the order of a list."""

    def __init__(self, vault):
        self.process = vault.start("events")
        assert self.process.stdout.readline() == "ready\n"

    def until_end(self):
        events = []
        for line in self.process.stdout:
            events.append(line.strip())
            if events[-1] == "saved zz-end":
                break
        self.process.kill()
        self.process.communicate()
        return events


def tokenkeep(vault, *arguments):
    return subprocess.run(
        [os.path.join(PREFIX, "bin", "tokenkeep"), *arguments], env=vault.environment, check=True, capture_output=True,
        text=True)


def migrate(vault, source, target):
    stack = "any sufficient secret-service\nany required vault"
    done = tokenkeep(vault, "migrate", "--from", source, "--to", target, "--stack", stack, "--explain")
    assert "moved 10 items" in done.stdout, done.stdout
    steps = {"secret-service": ["the item goes there", "it is read back"], "vault": ["it is to be moved from there", "it goes from here"]}
    # Of each item the watch may have settled what is owed before this program came to it.
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
        assert without_bus(vault).run("save", "item-0", "owed") == ["OK"]
        events = Events(vault)
        vault.expect("item-0", "owed")  # and settles it
        for source, target in (("secret-service", "vault"), ("vault", "secret-service")) * 2:
            migrate(vault, source, target)
        tokenkeep(vault, "sync")
        assert vault.run("save", "zz-end", "x") == ["OK"]
        assert events.until_end() == ["saved zz-end"]


def thousand_changes(vault):
    events = Events(vault)
    with Server(vault) as server:
        for number in range(CHANGES // 4):
            assert server.do("save", f"item-{number % 50}", f"token-{number}") == ["OK"]
            assert server.do("save", f"once-{number}", "x") == ["OK"]
            assert server.do("clear", f"once-{number}") == ["OK"]
            assert server.do("save", f"new-{number}", "x") == ["OK"]
    assert vault.run("save", "zz-end", "x") == ["OK"]
    told = events.until_end()
    again = max((index for index, event in enumerate(told) if event == "again"), default=-1)
    for number in range(CHANGES // 4):
        assert f"saved new-{number}" in told or again >= 0, f"new-{number} was never told of"
        # Saved and cleared between two looks is nothing; saved and then not cleared would be wrong.
        mine = [event for event in told[again + 1:] if event.endswith(f" once-{number}")]
        assert not mine or mine[-1].startswith("cleared"), mine
    for number in range(50):
        assert f"saved item-{number}" in told or again >= 0
    assert not [event for event in told if event.startswith("cleared") and "once" not in event], "cleared what was not"


@case
def a_thousand_changes_in_the_vault_are_told_of():
    thousand_changes(Vault())


@case
def a_thousand_changes_in_the_service_are_told_of():
    with Keyring() as keyring:
        thousand_changes(keyring.vault())
