"""Faults of a store whose stack has the Secret Service and the vault, while the provider serves that very vault.

The module `secret-service` stays out of its own vault: no pending write arises, and no item appears twice.
"""
import json
import os
import signal
import subprocess

from faults import PATIENCE, PREFIX, Skip, Vault, case, fresh_copy
from keyring_cases import SERVICE, Keyring, lasting_calls, without_bus
from patience import stop_process
from share import SHARE
from tracing import fault

PROGRAM = f"{PREFIX}/bin/tokenkeep"
PROVIDER = f"{PREFIX}/libexec/tokenkeep/tokenkeep-secret-service"


class Provider(Keyring):
    """A bus on which the provider serves a vault, while the block runs."""

    def __init__(self, vault):
        super().__init__()
        self.path = vault.path

    def start_daemon(self):
        if not os.path.exists(PROVIDER):
            raise Skip("the provider is not installed")
        self.daemon = subprocess.Popen(
            [PROVIDER], env={**self.environment, "TOKENKEEP_VAULT": self.path}, stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        subprocess.run(
            ["gdbus", "wait", "--session", "--timeout", str(PATIENCE), "org.freedesktop.secrets"], env=self.environment, check=True)

    def vault(self):
        return Vault(self.path, PROBE_STACK="", DBUS_SESSION_BUS_ADDRESS=self.address)

    def found(self, account):
        """How many items of an account the provider has."""
        shown = subprocess.run(
            ["secret-tool", "search", "--all", "service", SERVICE, "username", account], env=self.environment, capture_output=True,
            text=True, check=False, timeout=PATIENCE)
        return shown.stdout.count("\nsecret = ")


def pending(vault):
    shown = subprocess.run(
        [PROGRAM, "status", "--json"], env=vault.environment, capture_output=True, text=True, check=False, timeout=PATIENCE)
    return json.loads(shown.stdout)["pending"]


def expect_once(provider, vault, account, value):
    """The store and the provider have the same single item, and no write is pending."""
    assert pending(vault) == [], f"{account}: {pending(vault)}"
    vault.expect(account, value)
    assert (provider.look_up(account) or "NOT_FOUND") == value.split(" until ")[0], f"{account}: {provider.look_up(account)!r}"
    assert provider.found(account) == (value != "NOT_FOUND"), f"{account} is there {provider.found(account)} times"
    there = (value != "NOT_FOUND") + 1
    assert vault.run("count") == [str(there), "OK"], f"{account}: {vault.run('count')} items"


def base():
    """A vault with an item, and with the item of an account "a"."""
    vault = Vault()
    with Provider(vault) as provider:
        vault = provider.vault()
        for account, value in (("other", "other"), ("a", "old")):
            assert vault.run("save", account, value) == ["OK"]
        expect_once(provider, vault, "a", "old")
    return vault


def killed_beside_the_provider(arguments, allowed):
    """Kills the program at each lasting call, each time with a vault and a provider of its own."""
    start = base()
    example = fresh_copy(start)
    with Provider(example) as provider:
        calls = lasting_calls(provider.vault(), *arguments)
    seen = set()
    for call in calls:
        with Provider(fresh_copy(start)) as provider:
            vault = provider.vault()
            vault.run(*arguments, wrapper=fault(call[0], "signal=KILL", call[1]))
            value = vault.expect("a", *allowed)
            seen.add(value)
            expect_once(provider, vault, "a", value)
            assert vault.run("save", "a", "after") == ["OK"], f"no save after a kill at {call}"
            expect_once(provider, vault, "a", "after")
    # Of some moments alone, all may be before the change.
    assert SHARE > 1 or seen == set(allowed), f"the kills at {len(calls)} calls only ever left {seen}"


@case
def killed_at_every_step_of_a_save_beside_the_provider():
    killed_beside_the_provider(("save", "a", "new"), ("old", "new"))


@case
def killed_at_every_step_of_a_save_that_takes_several_beside_the_provider():
    killed_beside_the_provider(("save-until", "a", "new", "2100000000"), ("old", "new until 2100000000"))


@case
def killed_at_every_step_of_a_clear_beside_the_provider():
    killed_beside_the_provider(("clear", "a"), ("old", "NOT_FOUND"))


@case
def changes_while_the_provider_or_the_bus_is_away():
    """Nothing is kept for a service that is the vault itself."""
    start = base()
    with Provider(start) as provider:
        vault = provider.vault()
        for number, user in enumerate((without_bus(vault), vault)):
            provider.stop(provider.daemon)
            assert user.run("save", "a", f"new-{number}") == ["OK"]
            assert pending(vault) == []
            provider.start_daemon()
            expect_once(provider, vault, "a", f"new-{number}")
            provider.stop(provider.daemon)
            assert user.run("clear", "a") == ["OK"]
            provider.start_daemon()
            expect_once(provider, vault, "a", "NOT_FOUND")


@case
def changes_while_the_provider_does_not_answer():
    """The bus alone tells whose vault it is."""
    start = base()
    with Provider(start) as provider:
        vault = provider.vault()
        for arguments, value in ((("save", "a", "new"), "new"), (("clear", "a"), "NOT_FOUND"), (("save", "a", "last"), "last")):
            stop_process(provider.daemon.pid)
            try:
                assert vault.run(*arguments) == ["OK"]
                vault.expect("a", value)
                assert pending(vault) == []
            finally:
                provider.daemon.send_signal(signal.SIGCONT)
            expect_once(provider, vault, "a", value)


@case
def the_provider_killed_during_changes():
    """kill -9 of the provider while a store saves, again and again."""
    start = base()
    with Provider(start) as provider:
        vault = provider.vault()
        for number in range(4):
            writer = vault.start("saves", "a", 400)
            for _ in range(1 + 5 * number):
                writer.stdout.readline()
            provider.stop(provider.daemon)
            rest = writer.stdout.read().splitlines()
            assert writer.wait(PATIENCE) == 0 and rest[-2:] == ["400", "OK"], rest[-2:]
            writer.stdout.close()
            writer.stderr.close()
            assert pending(vault) == []
            provider.start_daemon()
            expect_once(provider, vault, "a", "400")
