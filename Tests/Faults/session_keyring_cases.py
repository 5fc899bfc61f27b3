"""A gnome-keyring that is locked, killed or stopped while the server answers a refresh."""
import os
import signal
import subprocess

from faults import PREFIX, WORK, Vault, case
from keyring_cases import Keyring
from session_cases import lines, with_server

LOCK = (
    "gdbus call --session -d org.freedesktop.secrets -o /org/freedesktop/secrets -m org.freedesktop.Secret.Service.Lock "
    '"[\'/org/freedesktop/secrets/collection/login\']" >/dev/null')
ALONE = "service-alone"
DELETE = (
    "gdbus call --session -d org.freedesktop.secrets -o /org/freedesktop/secrets/collection/login "
    "-m org.freedesktop.Secret.Collection.Delete >/dev/null")
# The default stack, and one without the vault.
STACKS = ("", ALONE)


def signed_in(keyring, stack):
    folder = WORK + "/config/tokenkeep/stack.d"
    os.makedirs(folder, exist_ok=True)
    with open(f"{folder}/{ALONE}.conf", "w", encoding="utf-8") as file:
        file.write("any required secret-service\n")
    vault = with_server(Vault(PROBE_STACK=stack, DBUS_SESSION_BUS_ADDRESS=keyring.address))
    result = vault.run("begin", "ann")
    assert result == ["OK"], result
    return vault


def meanwhile(vault, command):
    """The same vault, where the command runs while the server answers."""
    other = Vault(vault.path)
    other.environment = {**vault.environment, "FAULT_MEANWHILE": command}
    return other


def record(keyring):
    """The session's record as another program finds it in the keyring."""
    found = subprocess.run(
        ["secret-tool", "lookup", "service", "api.fault.test", "username", "ann"], env=keyring.environment, capture_output=True,
        text=True, check=False)
    return found.stdout


def refreshed_while(keyring, stack, command):
    vault = signed_in(keyring, stack)
    result = meanwhile(vault, command).run("token", "ann")
    assert result == ["access-2", "OK"], result
    # Another process, while the keyring is away.
    result = vault.run("token", "ann")
    assert result == ["access-2", "OK"], result
    return vault


def is_saved(keyring, vault):
    assert vault.run("token", "ann") == ["access-2", "OK"]
    assert "refresh-2" in record(keyring), record(keyring)
    assert lines(vault, "requests") == ["refresh-1"]


@case
def a_keyring_that_is_locked_while_the_server_answers():
    for stack in STACKS:
        with Keyring() as keyring:
            vault = refreshed_while(keyring, stack, LOCK)
            # What lies on the disk meanwhile would open with the keyfile alone.
            loaded = subprocess.run(
                [PREFIX + "/bin/tokenkeep", "load", "api.fault.test", "ann", "--stack", "any required vault"],
                env=vault.environment, capture_output=True, text=True, check=False)
            assert (loaded.returncode, loaded.stdout) == (1, ""), loaded
            Keyring.stop(keyring.daemon)
            keyring.start_daemon()
            is_saved(keyring, vault)


@case
def a_keyring_that_is_killed_while_the_server_answers():
    for stack in STACKS:
        with Keyring() as keyring:
            vault = refreshed_while(keyring, stack, f"kill -9 {keyring.daemon.pid}")
            keyring.daemon.wait()
            keyring.start_daemon()
            is_saved(keyring, vault)


@case
def a_keyring_that_is_stopped_while_the_server_answers():
    with Keyring() as keyring:
        vault = signed_in(keyring, ALONE)
        assert meanwhile(vault, f"kill -STOP {keyring.daemon.pid}").run("token", "ann") == ["access-2", "OK"]
        keyring.daemon.send_signal(signal.SIGCONT)
        is_saved(keyring, vault)


@case
def a_collection_that_is_deleted_while_the_server_answers():
    for stack in STACKS:
        with Keyring() as keyring:
            vault = refreshed_while(keyring, stack, DELETE)
            assert lines(vault, "requests") == ["refresh-1"]
            Keyring.stop(keyring.daemon)
            keyring.start_daemon()
            result = vault.run("token", "ann")
            assert result == ["access-2", "OK"], result


@case
def keyring_and_vault_lock_while_the_server_answers():
    """The keyring's token lies in no file that the keyfile, or the keyring's password, opens alone."""
    with Keyring() as keyring:
        vault = signed_in(keyring, STACKS[0])
        program = PREFIX + "/bin/tokenkeep"
        subprocess.run([program, "password", "set", "--stdin"], input="horse\n", text=True, env=vault.environment, check=True)
        try:
            result = meanwhile(vault, f"{LOCK}; {program} lock").run("token", "ann")
            assert result == ["access-2", "OK"], result
            assert vault.run("token", "ann") == ["access-2", "OK"]
            for folder, _, names in os.walk(vault.path):
                for name in names:
                    with open(f"{folder}/{name}", "rb") as file:
                        content = file.read()
                    assert b"access-2" not in content and b"refresh-2" not in content, name
            Keyring.stop(keyring.daemon)
            keyring.start_daemon()
            subprocess.run([program, "unlock", "--stdin"], input="horse\n", text=True, env=vault.environment, check=True)
            is_saved(keyring, vault)
        finally:
            subprocess.run([program, "lock"], env=vault.environment, check=True)


@case
def a_logout_while_the_keyring_is_locked():
    for stack in STACKS:
        with Keyring() as keyring:
            vault = signed_in(keyring, stack)
            assert vault.run("token", "ann") == ["access-2", "OK"]
            subprocess.run(LOCK, shell=True, env=keyring.environment, check=True)
            assert vault.run("logout", "ann") == ["OK"]
            assert vault.run("token", "ann") == ["NOT_FOUND"]
            Keyring.stop(keyring.daemon)
            keyring.start_daemon()
            # The next call queues the token and clears the record; the one after it revokes.
            assert vault.run("token", "ann") == ["NOT_FOUND"]
            assert record(keyring) == ""
            assert vault.run("logout", "ann") == ["OK"]
            assert lines(vault, "requests") == ["refresh-1", "refresh-2"]
