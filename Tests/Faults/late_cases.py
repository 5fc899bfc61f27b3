"""Messages to a real gnome-keyring that arrive late: their sender has given up, or was killed."""
import contextlib
import os
import subprocess
import tempfile

from faults import PATIENCE, WORK, Vault, case
from gates import Freeze, Gate, Server, next_second
from keyring_cases import Keyring, has_records, drain, without_bus
from patience import wait_until

# The limit of each call: it is passed, or the call ends before it.
LIMIT_MS = PATIENCE * 1000


@contextlib.contextmanager
def senders(keyring, count, word="SetSecret", prepare=True):
    """Programs with an account and a message on its way to the service, which stands still with it in its queue."""
    vault = keyring.vault()
    gate = Gate(os.path.join(tempfile.mkdtemp(dir=WORK), "gate"), word)
    accounts = [f"account-{number}" for number in range(count)]
    with contextlib.ExitStack() as stack:
        servers = [stack.enter_context(Server(vault, LIMIT_MS, **gate.environment)) for _ in accounts]
        for account, server in zip(accounts, servers):
            assert server.do("save" if prepare else "load", account, "old")[0] == ("OK" if prepare else "NOT_FOUND")
        gate.close()
        for account, server in zip(accounts, servers):
            server.ask("save", account, f"late-{account}")
        wait_until(lambda: gate.count("waiting") == count, "messages at the gate")
        with Freeze(keyring.daemon):
            gate.open()
            wait_until(lambda: gate.count("sent") == count, "messages on their way")
            yield vault, accounts, servers


def newest_stands(keyring, vault, accounts, newest):
    """What was acknowledged last is loaded by another process, which drains it, and in the service, and stays so."""
    def all_are_loaded():
        for account in accounts:
            vault.expect(account, newest(account))
        return not has_records(vault)

    wait_until(all_are_loaded, "the end of the pending writes")
    for account in accounts:
        wanted = newest(account).replace("NOT_FOUND", "")
        assert keyring.look_up(account) == wanted, f"{account}: the service has {keyring.look_up(account)}"
        vault.expect(account, newest(account))


@case
def a_thawed_late_writer_replaces_nothing_newer_100_of_100():
    with Keyring() as keyring:
        for _ in range(2):
            with senders(keyring, 50) as (vault, accounts, servers):
                assert [server.answer_in_vain()[0] for server in servers] == ["OK"] * 50
                cron = without_bus(vault)
                for account in accounts:
                    assert cron.run("save", account, f"newest-{account}") == ["OK"]
                next_second()
                keyring.daemon.send_signal(18)
                # Their messages arrive now, later than what was saved last; another process drains it.
                newest_stands(keyring, vault, accounts, lambda account: f"newest-{account}")
                for account, server in zip(accounts, servers):
                    assert server.do("load", account) == ["OK", f"newest-{account}"]
                newest_stands(keyring, vault, accounts, lambda account: f"newest-{account}")


@case
def a_thawed_late_writer_undoes_no_clear():
    with Keyring() as keyring, senders(keyring, 20) as (vault, accounts, servers):
        assert [server.answer_in_vain()[0] for server in servers] == ["OK"] * 20
        for account in accounts:
            assert without_bus(vault).run("clear", account) == ["OK"]
        next_second()
        keyring.daemon.send_signal(18)
        newest_stands(keyring, vault, accounts, lambda _: "NOT_FOUND")
        for account, server in zip(accounts, servers):
            assert server.do("load", account) == ["NOT_FOUND"]


@case
def what_a_killed_process_sent_replaces_nothing_newer():
    for word, prepare in (("SetSecret", True), ("CreateItem", False)):
        with Keyring() as keyring, senders(keyring, 20, word, prepare) as (vault, accounts, servers):
            for server in servers:
                server.kill()
            for number, account in enumerate(accounts):
                command = ("save", account, f"newest-{account}") if number % 2 else ("clear", account)
                assert without_bus(vault).run(*command) == ["OK"]
            next_second()
            keyring.daemon.send_signal(18)
            odd = set(accounts[1::2])
            newest_stands(
                keyring, vault, accounts, lambda account: f"newest-{account}" if account in odd else "NOT_FOUND")


@case
def a_cancelled_save_has_happened_as_a_whole_or_not_at_all():
    with Keyring() as keyring:
        vault = keyring.vault()
        assert vault.run("save", "a", "old") == ["OK"]
        gate = Gate(os.path.join(tempfile.mkdtemp(dir=WORK), "gate"))
        gate.close()
        gated = Vault(vault.path)
        gated.environment = {**vault.environment, **gate.environment}
        writer = gated.start("cancel", "a", "cut", stdin=subprocess.PIPE)
        wait_until(lambda: gate.count("waiting") == 1, "a message at the gate")
        with Freeze(keyring.daemon):
            gate.open()
            wait_until(lambda: gate.count("sent") == 1, "a message on its way")
            status, milliseconds = writer.communicate("now\n", timeout=PATIENCE)[0].split()
            assert status == "CANCELLED" and int(milliseconds) < LIMIT_MS, (status, milliseconds)
            # It may have arrived: so it stands, and what is saved now is newer.
            assert without_bus(vault).load("a") == "cut"
            assert without_bus(vault).run("save", "a", "newest") == ["OK"]
            next_second()
        drain(vault, "a", "newest")
        assert keyring.look_up("a") == "newest"
