"""A gnome-keyring that is locked, killed or stopped while the server answers a refresh."""
import base64
import json
import os
import signal
import subprocess
import sys

from faults import HERE, PATIENCE, PREFIX, WORK, Vault, case, tests_clock
from gates import state
from keyring_cases import Keyring
from patience import wait_until
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
            # A record written to the disk meanwhile would open with the keyfile alone.
            loaded = subprocess.run(
                [PREFIX + "/bin/tokenkeep", "load", "api.fault.test", "ann", "--stack", "any required vault"],
                env=vault.environment, capture_output=True, text=True, check=False)
            assert (loaded.returncode, loaded.stdout) == (1, ""), loaded
            check_no_token_opens_with_the_keyfile(vault)
            assert "stashed: yes" in program(vault, "session", "show", "api.fault.test", "ann").stdout
            assert "wait for their place to open: 1" in program(vault, "status").stdout
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
        renewing = meanwhile(vault, f"kill -STOP {keyring.daemon.pid}").start("token", "ann")
        # Before, it waits for a keyring and a server that answer.
        wait_until(lambda: state(keyring.daemon) == "T" or renewing.poll() is not None, "a keyring that stands still")
        tests_clock.pass_limits(renewing)
        assert renewing.communicate(timeout=PATIENCE)[0] == "access-2\nOK\n"
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


PROGRAM = PREFIX + "/bin/tokenkeep"
READER = os.path.join(HERE, "..", "Vectors", "read_vault.py")


def program(vault, *arguments, stdin=""):
    return subprocess.run(
        [PROGRAM, *arguments], env=vault.environment, input=stdin, capture_output=True, text=True, check=False)


def check_no_token_opens_with_the_keyfile(vault):
    """Opens every file of the vault with the keyfile alone, and looks for a token that is in use."""
    tokens = (b"access-2", b"refresh-2")
    for folder, _, names in os.walk(vault.path):
        for name in names:
            path = os.path.join(folder, name)
            if os.path.isfile(path) and not os.path.islink(path):
                data = open(path, "rb").read()
                assert not any(token in data for token in tokens), f"{path} has a token"
    read = subprocess.run([sys.executable, READER, "--json", vault.path], capture_output=True, text=True, check=False)
    for item in json.loads(read.stdout)["items"]:
        secret = base64.b64decode(item.get("secret") or "")
        assert not any(token in secret for token in tokens), f"the keyfile opens {item['name']}"


def with_password(keyring):
    """A session in the keyring, beside a vault with a password, whose keys the kernel has."""
    vault = signed_in(keyring, "")
    result = program(vault, "password", "set", "--stdin", stdin="horse\n")
    assert result.returncode == 0, result
    return vault


@case
def a_keyring_that_is_locked_beside_a_vault_with_a_password():
    with Keyring() as keyring:
        vault = with_password(keyring)
        assert meanwhile(vault, LOCK).run("token", "ann") == ["access-2", "OK"]
        check_no_token_opens_with_the_keyfile(vault)
        shown = program(vault, "session", "show", "api.fault.test", "ann")
        assert "stashed" not in shown.stdout, shown
        assert "pending for secret-service: 1 item" in program(vault, "status").stdout
        assert vault.run("token", "ann") == ["access-2", "OK"]
        assert program(vault, "lock").returncode == 0
        assert vault.run("token", "ann") == ["LOCKED"], "the class key is gone"
        assert program(vault, "unlock", "--stdin", stdin="horse\n").returncode == 0
        Keyring.stop(keyring.daemon)
        keyring.start_daemon()
        is_saved(keyring, vault)


@case
def a_class_key_that_is_purged_while_the_server_answers():
    with Keyring() as keyring:
        vault = with_password(keyring)
        both = f"{LOCK} && {PROGRAM} lock"
        assert meanwhile(vault, both).run("token", "ann") == ["access-2", "OK"]
        check_no_token_opens_with_the_keyfile(vault)
        assert vault.run("token", "ann") == ["LOCKED"]
        assert lines(vault, "requests") == ["refresh-1"]
        assert program(vault, "unlock", "--stdin", stdin="horse\n").returncode == 0
        assert vault.run("token", "ann") == ["access-2", "OK"]
        Keyring.stop(keyring.daemon)
        keyring.start_daemon()
        is_saved(keyring, vault)
        program(vault, "lock")
