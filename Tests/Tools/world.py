"""A user's home for a test of the helpers: a vault, settings, and the programs on the PATH."""
import json
import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "Support"))
import tests_clock  # noqa: E402: its folder must be on the path first
from patience import PATIENCE  # noqa: E402


class World:
    """One home. `bin` is the folder of tokenkeep, tokenkeep-credential and its links."""

    def __init__(self, folder, bin_folder):
        self.folder = folder
        self.bin = bin_folder
        self.home = os.path.join(folder, "home")
        self.vault = os.path.join(folder, "vault")
        self.environment = {
            "PATH": f"{bin_folder}:{os.environ['PATH']}", "HOME": self.home, "XDG_CONFIG_HOME": f"{self.home}/.config",
            "TMPDIR": folder, "TOKENKEEP_VAULT": self.vault, "TOKENKEEP_TPM2_SOCKET": f"{folder}/none",
            "TOKENKEEP_SYSTEMD_SOCKET": f"{folder}/none", "LC_ALL": "C.UTF-8", "TZ": "UTC", "GIT_CONFIG_NOSYSTEM": "1",
            **tests_clock.environment()}
        os.makedirs(f"{self.home}/.config/tokenkeep/stack.d")
        self.stack("any required vault\n")

    def stack(self, text):
        self.write("home/.config/tokenkeep/stack.d/default.conf", text)

    def path(self, name):
        return os.path.join(self.folder, name)

    def write(self, name, text, mode=0o600):
        path = self.path(name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, mode), "wb") as file:
            file.write(text.encode() if isinstance(text, str) else text)
        return path

    def read(self, name):
        with open(self.path(name), "rb") as file:
            return file.read().decode()

    def run(self, *command, input="", code=0, env=None):
        """Runs a command; its exit code must be `code`, unless that is None. Returns the process with texts."""
        data = input.encode() if isinstance(input, str) else input
        ended = subprocess.run(
            command, input=data, capture_output=True, env={**self.environment, **(env or {})}, cwd=self.folder,
            timeout=PATIENCE, check=False)
        ended.out, ended.err = (text.decode(errors="replace") for text in (ended.stdout, ended.stderr))
        assert code is None or ended.returncode == code, f"{command}: {ended.returncode}: {ended.out}{ended.err}"
        return ended

    def save(self, service, account, secret, *options):
        self.run("tokenkeep", "save", service, account, *options, input=secret)

    def load(self, service, account, *options):
        return self.run("tokenkeep", "load", service, account, *options).out

    def services(self):
        """What is kept: {(service, account)}."""
        listed = json.loads(self.run("tokenkeep", "list", "--json").out)
        return {(item["service"], item["account"]) for item in listed["items"]}

    def version(self, service, account):
        return json.loads(self.run("tokenkeep", "load", service, account, "--json").out)["version"]

    def lock(self):
        """Gives the vault a password, and locks it. A machine without the kernel's keyring has it locked at once."""
        self.password = self.write("password", "the vault's password\n")
        self.run("tokenkeep", "password", "set", "--password-file", self.password)
        self.run("tokenkeep", "lock", code=None)


def same(found, wanted):
    assert found == wanted, f"{found!r} instead of {wanted!r}"


def has(text, *parts):
    for part in parts:
        assert part in text, f"{text!r} lacks {part!r}"


def cases(names, *helpers):
    """The functions of a module that are no helpers, in their order."""
    return [case for case in names.values()
            if callable(case) and getattr(case, "__module__", "") == names["__name__"] and case not in helpers]
