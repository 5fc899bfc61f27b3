#!/usr/bin/python3
"""An attacker who has every file of a vault and its keyfile, never its password, alters files behind the program's back.

Usage: attacker.py PROGRAM [SCENARIO]

SCENARIO is one of them alone. Each runs while the vault is unlocked, after a lock, and as after a start of the machine (no
key of the vault is left in the kernel). Either every call is CORRUPT and changes nothing, until the right files are back; or
the attack gains nothing: neither the older secrets nor what is saved later can be decrypted with all that he has.
"""
import itertools
import os
import shutil
import subprocess
import sys

import passwords

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "Vectors"))
from attack import Attacker, files_of  # noqa: E402: its folder must be on the path first
from record_writer import ItemPlan  # noqa: E402
from vault_format import machine_hash  # noqa: E402
from vault_header import open_typed_slots  # noqa: E402

ANN = ItemPlan("s", "ann", b"a token of the attacker's", level=1)
LATER = "a token that is saved after the attack"
TOKENS = '{"access_token":"access-of-eve","refresh_token":"refresh-of-eve","expires_in":3600}'
OK, NOT_FOUND, LOCKED, NO_PASSWORD, DENIED, CORRUPT = 0, 1, 3, 4, 5, 7
# The user's next password, after he hears that somebody may know the present one.
NEXT = "the next one"
SCENARIOS = []
# What every process writes, and what says nothing.
VOLATILE = {"changes", "lock"}


def scenario(*states):
    """The states of the vault in which it is played; all of them if none is named."""
    def register(function):
        SCENARIOS.append((function, states or ("unlocked", "locked", "started")))
        return function

    return register


class World(passwords.Machine):
    """A vault with the password "one", its user, and the attacker who has seen it."""

    def __init__(self, work):
        super().__init__(work)
        self.password, self.state = "one", "unlocked"
        self.expect("password", "set", "--stdin", input="one\n")
        self.attacker = Attacker(self.vault)

    def enter(self, state):
        """Unlocked, locked, or as after a start of the machine."""
        self.state = state
        assert self.opens(self.password), f"{self.password} does not open the vault"
        if state == "locked":
            self.expect("lock")
        if state == "started":
            assert self.start_anew(), "there was no trust key in the user's keyring"

    def change(self, password, *options):
        self.expect("password", "change", *options, "--stdin", input=f"{self.password}\n{password}\n")
        self.password = password

    def calls(self):
        """What a user does who knows of nothing: (words, exit code)."""
        for arguments, input in (
                (("load", "s", "ann"), ""), (("save", "s", "carol"), LATER), (("unlock", "--stdin"), self.password + "\n"),
                (("load", "s", "bob"), ""), (("save", "s", "carol"), LATER), (("list",), ""),
                (("password", "change", "--compromised", "--stdin"), f"{self.password}\n{NEXT}\n"),
                (("load", "s", "ann"), ""), (("save", "s", "carol"), LATER), (("load", "s", "carol"), "")):
            yield " ".join(arguments), self.run(*arguments, input=input).returncode

    def expect_refused(self, right):
        """Every call is CORRUPT and changes nothing; with the right files, all is as before."""
        before = self.lasting_files()
        for words, code in self.calls():
            assert code == CORRUPT, f"{words}: exit code {code}"
        assert self.lasting_files() == before, "a refused vault was written to"
        self.expect_hidden()
        self.attacker.put_back(right)
        assert self.opens(self.password), "the right files do not heal the vault"
        self.check_items("with the right files")

    def expect_no_gain(self, *codes):
        """The user's calls end with one of the codes, and whatever they do, the attacker reads nothing."""
        for words, code in self.calls():
            assert code in codes, f"{words}: exit code {code}"
        self.expect_hidden()

    def expect_hidden(self):
        for secret in (*passwords.ITEMS.values(), LATER):
            assert not self.attacker.sees(secret.encode()), f"the attacker reads {secret!r}"

    def lasting_files(self):
        return {path: content for path, content in files_of(self.vault).items() if path not in VOLATILE}


# Headers of his


@scenario()
def a_planted_keyfile_slot(world, right):
    world.attacker.plant_keyfile_slot()
    world.expect_refused(right)


@scenario()
def a_planted_retiring_key(world, right):
    world.attacker.plant_retiring_key()
    world.expect_refused(right)


@scenario()
def a_header_of_his_own(world, right):
    world.attacker.replace_header()
    world.expect_refused(right)


@scenario()
def a_header_of_his_own_with_the_vaults_key_ids(world, right):
    world.attacker.replace_header(same_ids=True)
    world.expect_refused(right)


# Without the kernel's keys nothing tells that the records are not just damaged.
@scenario("unlocked", "locked")
def a_header_and_a_name_key_of_his_own(world, right):
    world.attacker.replace_header(own_name_key=True)
    world.expect_refused(right)


@scenario()
def one_copy_of_the_header_altered(world, right):
    """The other copy serves, and the user notices nothing."""
    world.attacker.plant_keyfile_slot()
    world.attacker.put_back(right, [path for path in right if path.endswith("/header.2")])
    world.expect("unlock", "--stdin", input="one\n")
    world.check_items("with one altered copy")
    world.expect_hidden()


@scenario("unlocked", "locked")
def a_later_era_of_his_own(world, right):
    world.attacker.make_later_era()
    world.expect_refused(right)


@scenario("unlocked", "locked")
def a_later_era_of_his_own_with_a_password(world, right):
    world.attacker.make_later_era(password=b"his")
    world.expect_no_gain(LOCKED, DENIED)
    world.attacker.put_back(right)
    assert world.opens(world.password), "the right files do not heal the vault"
    world.check_items("with the right files")


@scenario("started")
def a_later_era_of_his_own_after_a_restart(world, right):
    """Not stopped: it is a vault of his own, in which nothing of the user's is. An unlock tells, and the right files heal."""
    world.attacker.make_later_era()
    for words, code in world.calls():
        assert code in (OK, NOT_FOUND, NO_PASSWORD), f"{words}: exit code {code}"
    told = world.run("unlock", "--stdin", input=world.password + "\n")
    assert told.returncode == NO_PASSWORD and "no password" in told.stderr, told.stderr
    for secret in passwords.ITEMS.values():
        assert not world.attacker.sees(secret.encode()), f"the attacker reads {secret!r}"
    world.attacker.put_back(right)
    assert world.opens(world.password), "the right files do not heal the vault"
    world.check_items("with the right files")


@scenario("started")
def a_header_of_his_own_beside_forged_tombstones(world, right):
    world.expect("unlock", "--stdin", input="one\n")
    world.expect("save", "s", "dora", input="token of dora")
    right = world.attacker.seize()
    world.attacker.learn()
    world.start_anew()
    world.attacker.replace_header()
    world.attacker.forge_tombstones(2100)
    for words, code in world.calls():
        assert code == CORRUPT, f"{words}: exit code {code}"
    world.expect_hidden()
    world.attacker.put_back(right)
    assert world.opens(world.password), "the right files do not heal the vault"


@scenario("unlocked", "locked")
def an_older_header_after_the_path_was_away(world, right):
    """Whatever the user calls while the vault is away, the kernel still knows the last header."""
    world.change("two")
    newer = world.attacker.seize()
    away = world.vault + ".away"
    os.rename(world.vault, away)
    for call in (("list",), ("status",), ("lock",), ("unlock", "--stdin"), ("load", "s", "ann")):
        world.run(*call, input="one\n")
    shutil.rmtree(world.vault, ignore_errors=True)
    os.rename(away, world.vault)
    world.attacker.put_back(right, [path for path in right if "/header" in path])
    world.expect_refused(newer)


# Files of his among the right ones


@scenario()
def an_injected_record(world, right):
    world.attacker.inject_record(ANN)
    world.expect_no_gain(OK, NOT_FOUND, LOCKED, CORRUPT)


@scenario()
def a_forged_state(world, right):
    world.attacker.forge_state(ANN, this_machine(world))
    world.expect_no_gain(OK, LOCKED)


@scenario()
def a_forged_state_beside_a_keyring(world, right):
    """The user's stack has the keyring that the forged write names. Nothing of the vault arrives there, in plain."""
    if not shutil.which("gnome-keyring-daemon") or not shutil.which("secret-tool"):
        print("skipped: gnome-keyring-daemon or secret-tool is not installed")
        return
    with Keyring(world) as keyring:
        world.attacker.forge_state(ANN, this_machine(world))
        world.expect_no_gain(OK, LOCKED)
        for password in (world.password, NEXT):
            world.run("unlock", "--stdin", input=password + "\n")
        world.check_items("beside a keyring")
        world.run("sync")
        world.expect("save", "s", "dora", input="token of dora")
        assert keyring.look_up("dora") == "token of dora", "the keyring is not used"
        for account in passwords.ITEMS:
            assert keyring.look_up(account) == "", f"the keyring got the item of {account}"


# The fields of the forged note, and the words beside its provider.
NOTES = {
    "user": {"state": 4, "expires_at": 1, "level": 2},
    "guest": {"kind": 2, "state": 3, "expires_at": 1, "level": 2},
    "needs-login": {"state": 5, "level": 2},
    "signed-out": {"state": 2, "ended_epoch": "", "ends_locally": 0, "level": 2},
    "unknown": {"state": 0, "epoch": "", "next_epoch": "", "level": 2},
}


@scenario()
def a_forged_note(world, _):
    """The note of a session names a provider of his: no token goes there, whatever state it tells and the user calls."""
    folder = os.path.join(os.path.dirname(world.vault), "tokenkeep/providers.d")
    os.makedirs(folder, 0o700)
    for provider in ("right", "his"):
        with open(os.path.join(folder, provider + ".conf"), "w", encoding="utf-8") as file:
            os.chmod(file.name, 0o600)
            file.write(f"exec = cat >>'{folder}/{provider}'; echo '{TOKENS}'\n")
    for told, words in NOTES.items():
        world.expect("unlock", "--stdin", input=world.password + "\n")
        level = ("--level", "when-unlocked", "--refresh-level", "when-unlocked")
        world.expect("session", "begin", told, "eve", "--provider", "right", *level, input=TOKENS)
        world.enter(world.state)
        world.attacker.seize()
        world.attacker.forge_note(("", told, "eve"), provider="his", **words)
        for call in ("show", "token", "refresh", "validate", "token"):
            world.run("session", call, told, "eve")
        world.expect("unlock", "--stdin", input=world.password + "\n")
        for call in ("token", "refresh", "validate", "logout"):
            world.run("session", call, told, "eve")
        world.run("session", "flush")
        assert not os.path.exists(folder + "/his"), f"his server got a token, note {told}"
        if told == "user":
            assert os.path.exists(folder + "/right"), "the right server was not asked"
    for token in ("access-of-eve", "refresh-of-eve"):
        assert not world.attacker.sees(token.encode()), f"the attacker reads {token!r}"


class Keyring:
    """A bus and a gnome-keyring of the user's, open while the block runs. The attacker reads the keyring."""

    def __init__(self, world):
        self.world, self.folder, self.processes = world, os.path.dirname(world.vault), []

    def __enter__(self):
        configuration = os.path.join(self.folder, "bus.conf")
        with open(configuration, "w", encoding="utf-8") as file:
            file.write(
                f"<busconfig><type>session</type><listen>unix:dir={self.folder}</listen><policy context='default'>"
                "<allow send_destination='*' eavesdrop='true'/><allow eavesdrop='true'/><allow own='*'/></policy></busconfig>")
        self.environment = {"PATH": os.environ["PATH"], "HOME": self.folder, "XDG_RUNTIME_DIR": self.folder}
        bus = self.start("dbus-daemon", f"--config-file={configuration}", "--nofork", "--print-address=1", stdout=subprocess.PIPE)
        self.environment["DBUS_SESSION_BUS_ADDRESS"] = bus.stdout.readline().strip()
        daemon = self.start("gnome-keyring-daemon", "--unlock", "--components=secrets", "--foreground", stdin=subprocess.PIPE)
        daemon.stdin.write("keyring password")
        daemon.stdin.close()
        wait = ["gdbus", "wait", "--session", "--timeout", str(passwords.PATIENCE), "org.freedesktop.secrets"]
        subprocess.run(wait, env=self.environment, check=True)
        self.world.environment |= self.environment
        self.world.stack = "any sufficient secret-service\nany required vault"
        return self

    def __exit__(self, *_):
        for process in reversed(self.processes):
            process.kill()
            process.wait()

    def start(self, *command, **streams):
        process = subprocess.Popen(command, env=self.environment, text=True, stderr=subprocess.DEVNULL, **streams)
        self.processes.append(process)
        return process

    def look_up(self, account):
        """The secret of an item of s in the keyring; empty if there is none."""
        command = ["secret-tool", "lookup", "service", "s", "username", account]
        return subprocess.run(command, env=self.environment, capture_output=True, text=True, check=False).stdout


def this_machine(world):
    with open("/etc/machine-id", encoding="ascii") as file:
        return machine_hash(world.attacker.header.journal_key, file.read().strip())


# What was right once


@scenario("unlocked", "locked")
def an_older_header(world, right):
    world.change("two")
    newer = world.attacker.seize()
    world.attacker.put_back(right, [path for path in right if "/header" in path])
    world.expect_refused(newer)


@scenario("unlocked", "locked")
def an_older_era(world, right):
    world.change("two", "--compromised")
    newer = world.attacker.seize()
    world.attacker.put_older_era_back(right)
    world.expect_refused(newer)


@scenario()
def an_older_keyfile_and_header_in_a_later_era(world, right):
    world.change("two", "--compromised")
    newer = world.attacker.seize()
    old, new = (copy["current"].decode() + "/" for copy in (right, newer))
    moved = {new + name: right[old + name] for name in ("keyfile", "header", "header.2")}
    world.attacker.put_back(moved, moved)
    world.expect_refused(newer)


@scenario("unlocked")
def a_password_that_he_knows(world, right):
    """Until a change is told of it he reads all; nothing that is saved after it, wherever he puts it."""
    attacker = world.attacker
    open_typed_slots(attacker.header, attacker.plan.keyfile, "header", password=b"one")
    attacker.planted |= set(attacker.header.opened.values())
    assert attacker.sees(b"token of ann"), "he does not read what the password opens"
    world.change("two", "--compromised")
    world.expect("save", "s", "ann", input=LATER)
    newer = attacker.seize()
    attacker.put_back(right)
    old, new = (copy["current"].decode() + "/" for copy in (right, newer))
    records = {old + path.removeprefix(new): newer[path] for path in newer if path.startswith(new + "records/")}
    attacker.put_back(records, records)
    world.start_anew()
    world.run("unlock", "--stdin", input="one\n")
    world.run("load", "s", "ann")
    assert not attacker.sees(LATER.encode()), "he reads what was saved after the change"


@scenario("started")
def each_file_and_each_pair_of_older_ones(world, right):
    """A later token, a cleared item and another password: no mixture of then and now gives him anything."""
    world.expect("unlock", "--stdin", input="one\n")
    world.expect("save", "s", "ann", input="newer token of ann")
    world.expect("clear", "s", "bob")
    world.change("two")
    newer = world.attacker.seize()
    changed = [path for path in right if right[path] != newer.get(path) and path not in VOLATILE]
    assert len(changed) >= 4, f"only {changed} changed"
    for paths in itertools.chain(((path,) for path in changed), itertools.combinations(changed, 2)):
        world.start_anew()
        world.attacker.put_back(newer)
        world.attacker.put_back(right, paths)
        world.expect_no_gain(OK, NOT_FOUND, LOCKED, DENIED, CORRUPT)
        assert not world.attacker.sees(b"newer token of ann"), f"he reads what is newer than {paths}"


def play(function, state):
    """Why it failed; None if it did not."""
    with passwords.memory.directory() as work:
        world = World(work)
        try:
            right = world.attacker.seize()
            world.enter(state)
            function(world, right)
        except AssertionError as problem:
            return problem
        finally:
            world.run("lock")
            shutil.rmtree(world.vault, ignore_errors=True)
    return None


def main():
    passwords.tests_clock.require()
    chosen = [entry for entry in SCENARIOS if sys.argv[2:] in ([], [entry[0].__name__])]
    failed = played = 0
    for function, states in chosen:
        for state in states:
            problem = play(function, state)
            played, failed = played + 1, failed + bool(problem)
            print(f"{'FAIL' if problem else 'ok  '} {function.__name__}, {state}{': ' if problem else ''}{problem or ''}", flush=True)
    print(f"{played - failed} passed, {failed} failed")
    return 1 if failed or not played else 0


if __name__ == "__main__":
    sys.exit(main())
