"""kill -9 while items are on their way between the vault and a real gnome-keyring."""
import os
import re
import subprocess
import tempfile

from faults import PATIENCE, WORK, Skip, Vault, case, fresh_copy
from patience import wait_until
from share import share
from tracing import fault, strace

SERVICE = "fault.test"
NO_BUS = "unix:path=/nonexistent/bus"
# What leaves a trace outside of the process; between two of these a kill finds the same.
LASTING = {
    "write", "writev", "pwrite64", "fdatasync", "fsync", "rename", "renameat", "renameat2", "unlink", "unlinkat",
    "link", "linkat", "mkdir", "mkdirat", "ftruncate", "sendmsg", "sendto"}


class Keyring:
    """A bus and a gnome-keyring of their own, open while the block runs.

    `user`: the user id that both run as; needs root and setpriv. `daemon_environment`: variables for gnome-keyring alone.
    """

    def __init__(self, user=None, daemon_environment=None):
        self.daemon_environment = daemon_environment or {}
        self.wrapper = () if user is None else ("setpriv", f"--reuid={user}", f"--regid={user}", "--clear-groups")
        self.user = user

    def __enter__(self):
        self.home = tempfile.mkdtemp(prefix="keyring-", dir=WORK)
        if self.user is not None:
            os.chmod(WORK, 0o755)
            os.chown(self.home, self.user, self.user)
        configuration = os.path.join(self.home, "bus.conf")
        with open(configuration, "w", encoding="utf-8") as file:
            file.write(
                f"<busconfig><type>session</type><listen>unix:dir={self.home}</listen><policy context='default'>"
                "<allow send_destination='*' eavesdrop='true'/><allow eavesdrop='true'/><allow own='*'/>"
                "</policy></busconfig>")
        self.environment = {
            "PATH": os.environ["PATH"], "HOME": self.home, "XDG_RUNTIME_DIR": self.home,
            "XDG_DATA_HOME": self.home + "/data", "XDG_CACHE_HOME": self.home + "/cache"}
        try:
            self.bus = subprocess.Popen(
                [*self.wrapper, "dbus-daemon", f"--config-file={configuration}", "--nofork", "--print-address=1"],
                env=self.environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        except FileNotFoundError:
            raise Skip("there is no dbus-daemon") from None
        self.address = self.environment["DBUS_SESSION_BUS_ADDRESS"] = self.bus.stdout.readline().strip()
        try:
            self.start_daemon()
        except FileNotFoundError:
            self.stop(self.bus)
            raise Skip("there is no gnome-keyring-daemon") from None
        return self

    def start_daemon(self):
        """Starts gnome-keyring, unlocked."""
        self.daemon = subprocess.Popen(
            [*self.wrapper, "gnome-keyring-daemon", "--unlock", "--components=secrets", "--foreground"],
            env={**self.environment, **self.daemon_environment}, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.daemon.stdin.write(b"keyring password")
        self.daemon.stdin.close()
        subprocess.run(
            [*self.wrapper, "gdbus", "wait", "--session", "--timeout", str(PATIENCE), "org.freedesktop.secrets"], env=self.environment, check=True)

    def __exit__(self, *_):
        self.stop(self.daemon)
        self.stop(self.bus)

    @staticmethod
    def stop(process):
        process.kill()
        process.wait()

    def vault(self):
        return Vault(PROBE_STACK="", DBUS_SESSION_BUS_ADDRESS=self.address)

    def look_up(self, account):
        found = subprocess.run(
            ["secret-tool", "lookup", "service", SERVICE, "username", account], env=self.environment, capture_output=True,
            text=True, check=False)
        return found.stdout


def without_bus(vault):
    """The same vault, used by a program that has no bus."""
    other = Vault(vault.path)
    other.environment = {**vault.environment, "DBUS_SESSION_BUS_ADDRESS": NO_BUS}
    return other


def drain(vault, account, wanted):
    """Loads until nothing is pending: a service that has just been started may not answer the first load."""
    def is_drained():
        vault.expect(account, wanted)
        return not has_records(vault)

    wait_until(is_drained, "the end of the pending writes")


def has_records(vault):
    """Whether the vault has an item that is not in the service yet."""
    return any(len(name) == 32 for name in os.listdir(vault.path + "/current/records"))


def lasting_calls(vault, *arguments):
    """The (name, occurrence) of each lasting system call: strace counts for each thread by itself."""
    log = os.path.join(WORK, "strace.log")
    vault.run(*arguments, wrapper=(*strace(LASTING), "-o", log))
    counts, calls = {}, []
    with open(log, encoding="utf-8", errors="replace") as lines:
        for line in lines:
            match = re.match(r"(\d+) +([a-z_0-9]+)\(", line)
            if not match:
                continue
            key = match.groups()
            counts[key] = counts.get(key, 0) + 1
            is_report = re.match(r"\d+ +write\([12],", line)
            if key[1] in LASTING and not is_report and (key[1], counts[key]) not in calls:
                calls.append((key[1], counts[key]))
    assert len(calls) > 5, f"only {len(calls)} lasting system calls"
    return share(calls)


def killed_everywhere(keyring, prepare, arguments, is_connected, allowed, after):
    """Kills the program at each lasting call, each time with an account and a vault of its own.

    `prepare` makes the account's history; `allowed` is what may be loaded afterwards, by a program with a bus; the same
    must be found ever after, in the service too; `after` are the arguments and the outcome of what then must work.
    """
    seen, killed = set(), 0
    base = keyring.vault()
    assert base.run("save", "other", "other") == ["OK"]
    example = fresh_copy(base)
    prepare(example, "first")
    user = (lambda vault: vault) if is_connected else without_bus
    calls = lasting_calls(user(example), *[word.format("first") for word in arguments])
    for number, call in enumerate(calls):
        vault, account = fresh_copy(base), f"account-{number}"
        prepare(vault, account)
        kill = fault(call[0], "signal=KILL", call[1])
        killed += user(vault).run(*[word.format(account) for word in arguments], wrapper=kill)[0] == "SIGNAL 9"
        found = vault.expect(account, *allowed)
        seen.add(found)
        drain(vault, account, found)
        in_service = keyring.look_up(account) or "NOT_FOUND"
        assert in_service == found.split(" until ")[0], f"{call}: {found} was loaded, the service has {in_service}"
        assert user(vault).run(*[word.format(account) for word in after[0]])[-1] == "OK", f"nothing works after {call}"
        drain(vault, account, after[1])
        assert (keyring.look_up(account) or "NOT_FOUND") == after[1], f"{call}: it does not arrive"
        vault.expect("other", "other")
    assert killed > len(calls) / 2, f"only {killed} of {len(calls)} calls were reached"
    return seen


def save_with_bus(vault, account):
    assert vault.run("save", account, "old") == ["OK"]


def save_until_with_bus(vault, account):
    assert vault.run("save-until", account, "old", 2000000000) == ["OK"]


def save_offline(vault, account):
    save_with_bus(vault, account)
    assert without_bus(vault).run("save", account, "pending") == ["OK"]


def save_and_owe_removal(vault, account):
    save_with_bus(vault, account)
    assert without_bus(vault).run("clear", account) == ["OK"]


@case
def killed_at_every_step_of_a_fallback_save():
    with Keyring() as keyring:
        seen = killed_everywhere(
            keyring, save_with_bus, ("save", "{}", "new"), False, ("old", "new"), (("save", "{}", "after"), "after"))
        assert seen == {"old", "new"}, f"the kills only ever left {seen}"


@case
def killed_at_every_step_of_a_save_that_takes_several():
    """The secret is one message and its expiry date another: never may one be new and the other old."""
    with Keyring() as keyring:
        both = ("old until 2000000000", "new until 2100000000")
        seen = killed_everywhere(
            keyring, save_until_with_bus, ("save-until", "{}", "new", "2100000000"), True, both,
            (("save", "{}", "after"), "after"))
        assert seen == set(both), f"the kills only ever left {seen}"


@case
def killed_at_every_step_of_settling_a_save():
    with Keyring() as keyring:
        killed_everywhere(keyring, save_offline, ("load", "{}"), True, ("pending",), (("save", "{}", "after"), "after"))


@case
def killed_at_every_step_of_a_save_over_what_is_owed():
    with Keyring() as keyring:
        seen = killed_everywhere(
            keyring, save_offline, ("save", "{}", "new"), True, ("pending", "new"), (("save", "{}", "after"), "after"))
        assert seen == {"pending", "new"}, f"the kills only ever left {seen}"


@case
def killed_at_every_step_of_a_clear_without_a_bus():
    with Keyring() as keyring:
        seen = killed_everywhere(
            keyring, save_with_bus, ("clear", "{}"), False, ("old", "NOT_FOUND"), (("clear", "{}"), "NOT_FOUND"))
        assert seen == {"old", "NOT_FOUND"}, f"the kills only ever left {seen}"


@case
def killed_at_every_step_of_a_clear_of_what_is_owed():
    with Keyring() as keyring:
        seen = killed_everywhere(
            keyring, save_offline, ("clear", "{}"), True, ("pending", "NOT_FOUND"), (("clear", "{}"), "NOT_FOUND"))
        assert seen == {"pending", "NOT_FOUND"}, f"the kills only ever left {seen}"


@case
def killed_at_every_step_of_settling_a_clear():
    with Keyring() as keyring:
        killed_everywhere(
            keyring, save_and_owe_removal, ("load", "{}"), True, ("NOT_FOUND",), (("save", "{}", "after"), "after"))
