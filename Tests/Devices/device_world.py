"""Machines with a TPM, systemd's credentials and a machine key of their own, and users of them. Runs as root."""
import json
import os
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
TESTS = os.path.dirname(HERE)
sys.path.insert(0, os.path.join(TESTS, "TPM"))

from world import PATIENCE, Helper, SoftwareTPM, tests_clock, wait_until  # noqa: E402
from patience import let_pass  # noqa: E402, F401

tests_clock.require()
PROVIDERS = ("machine-key", "systemd", "tpm2")
KEYS = os.path.join(TESTS, "CLI", "keys.py")
CREDENTIALS = os.path.join(TESTS, "Support", "credentials.py")
ETC = ("ld.so.cache", "nsswitch.conf", "group", "passwd", "localtime", "dbus-1", "alternatives")
PYTHON = "/usr/bin/python3"


class Service:
    """The machine's io.systemd.Credentials."""

    def __init__(self, directory):
        self.path, self.mode = f"{directory}/credentials", f"{directory}/mode"
        with open(self.mode, "w", encoding="ascii") as file:
            file.write("right")
        os.chmod(self.mode, 0o644)
        self.process = subprocess.Popen(
            [PYTHON, CREDENTIALS, self.path, f"{directory}/keys", self.mode], stdout=subprocess.PIPE)
        assert self.process.stdout.readline() == b"ready\n"

    def close(self):
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()


class Machine:
    """A machine: each provider has a device of its own there."""

    def __init__(self, stage, name):
        self.stage = stage
        self.directory = os.path.join(stage.directory, name)
        self.var_lib = os.path.join(self.directory, "var-lib")
        os.makedirs(self.var_lib, 0o755)
        self.tpm = SoftwareTPM()
        self.helper = Helper(stage.tpm_program, self.tpm.tcti)
        self.service = Service(self.directory)
        self.environment = {
            "TOKENKEEP_TPM2_SOCKET": self.helper.path, "TOKENKEEP_SYSTEMD_SOCKET": self.service.path}
        self.run(0, "device", "make-machine-key", check=True)

    def without_machine_key(self):
        shutil.rmtree(os.path.join(self.var_lib, "tokenkeep"))

    def with_machine_key_of(self, other):
        """As on a copy of the other machine's disk."""
        shutil.rmtree(os.path.join(self.var_lib, "tokenkeep"), ignore_errors=True)
        shutil.copytree(os.path.join(other.var_lib, "tokenkeep"), os.path.join(self.var_lib, "tokenkeep"))

    def start(self, uid, *arguments, vault=None, environment=None):
        """Starts the program as a user of this machine. The process is the program's own once the program runs."""
        settings = {
            "PATH": "/usr/bin:/bin", "HOME": self.stage.directory, "LC_ALL": "C.UTF-8",
            "XDG_CONFIG_HOME": self.stage.configuration, "XDG_RUNTIME_DIR": "/nonexistent",
            **tests_clock.environment(), **self.environment, **(environment or {})}
        if vault is not None:
            settings["TOKENKEEP_VAULT"] = vault
        drop = f"setpriv --reuid {uid} --regid {uid} --clear-groups " if uid else ""
        command = f'mount --bind "{self.var_lib}" /var/lib && exec {drop}"$@"'
        return subprocess.Popen(
            ["unshare", "--mount", "sh", "-c", command, "-", self.stage.program, *arguments], text=True, env=settings,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def run(self, uid, *arguments, given="", check=False, **options):
        """Runs the program to its end."""
        process = self.start(uid, *arguments, **options)
        try:
            output, errors = process.communicate(given, timeout=PATIENCE)
        finally:
            process.kill()
        result = subprocess.CompletedProcess(arguments, process.returncode, output, errors)
        if check:
            assert result.returncode == 0, result
        return result

    def clear(self):
        """Another TPM takes the place of the machine's."""
        self.tpm.tool("tpm2_clear")
        for name in os.listdir(f"{self.directory}/keys"):
            os.unlink(f"{self.directory}/keys/{name}")

    def close(self):
        for part in (self.service, self.helper, self.tpm):
            part.close()


class Stage:
    """The programs, readable for every user, and what all machines of a test share."""

    def __init__(self, prefix):
        self.directory = tempfile.mkdtemp(prefix="devices-", dir="/tmp")
        os.chmod(self.directory, 0o755)
        self.program = self.install(os.path.join(prefix, "bin/tokenkeep"))
        self.tpm_program = self.install(os.path.join(prefix, "libexec/tokenkeep/tokenkeep-tpm2"))
        self.agent = self.install(os.path.join(prefix, "libexec/tokenkeep/tokenkeep-agent"))
        self.configuration = os.path.join(self.directory, "config")
        stacks = os.path.join(self.configuration, "tokenkeep/stack.d")
        os.makedirs(stacks)
        with open(os.path.join(stacks, "default.conf"), "w", encoding="ascii") as file:
            file.write("any required vault\n")
        self.keys = self.install(KEYS)
        self.machines = []

    def install(self, path):
        target = os.path.join(self.directory, os.path.basename(path))
        shutil.copy(path, target)
        os.chmod(target, 0o755)
        return target

    def machine(self, name):
        self.machines.append(Machine(self, name))
        return self.machines[-1]

    def folder(self, name, uid):
        """A directory that one user alone may enter."""
        path = os.path.join(self.directory, name)
        os.mkdir(path, 0o700)
        os.chown(path, uid, uid)
        return path

    def copy(self, vault, target, uid):
        """A copy of a vault, in the hands of a user."""
        shutil.rmtree(target, ignore_errors=True)
        shutil.copytree(vault, target, symlinks=True)
        for folder, folders, files in os.walk(target):
            for name in [*folders, *files]:
                os.chown(os.path.join(folder, name), uid, uid, follow_symlinks=False)
        os.chown(target, uid, uid)
        return target

    def as_user(self, uid, *command):
        return subprocess.run(
            ["setpriv", f"--reuid={uid}", f"--regid={uid}", "--clear-groups", *command], capture_output=True, text=True,
            check=True, timeout=PATIENCE, cwd="/", env={"PATH": "/usr/bin:/bin"}).stdout

    def as_root_of_keys(self, *arguments):
        """Runs keys.py as root."""
        command = [PYTHON, self.keys, *map(str, arguments)]
        return subprocess.run(command, capture_output=True, text=True, check=True, timeout=PATIENCE).stdout

    def forget(self, uid, vault):
        """Takes the vault's keys out of the kernel, as a start of the machine does."""
        self.as_user(uid, PYTHON, self.keys, "forget", vault)

    def close(self):
        for machine in self.machines:
            machine.close()
        shutil.rmtree(self.directory)


class Desk:
    """A user's graphical session with the agent (desktop.py)."""

    def __init__(self, stage, uid):
        etc = os.path.join(stage.directory, "etc")
        shutil.rmtree(etc, ignore_errors=True)
        os.mkdir(etc)
        for name in ETC:
            if os.path.isdir(f"/etc/{name}"):
                shutil.copytree(f"/etc/{name}", f"{etc}/{name}", symlinks=True)
            elif os.path.exists(f"/etc/{name}"):
                shutil.copy(f"/etc/{name}", etc)
        with open(f"{etc}/passwd", "a", encoding="ascii") as file:
            file.write(f"tokenkeep-test:x:{uid}:{uid}::/:/bin/sh\n")
        for name in (os.path.join(HERE, "desktop.py"), os.path.join(TESTS, "Agent", "world.py"),
                     os.path.join(TESTS, "Agent", "still_clock.py"), os.path.join(TESTS, "Support", "patience.py")):
            stage.install(name)
        command = f'mount --bind "{etc}" /etc && exec setpriv --reuid={uid} --regid={uid} --clear-groups "$@"'
        self.process = subprocess.Popen(
            ["unshare", "--mount", "sh", "-c", command, "-", PYTHON, f"{stage.directory}/desktop.py", stage.agent],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd="/", env={"PATH": "/usr/bin:/bin"})
        self.environment = json.loads(self.process.stdout.readline())

    def do(self, word):
        self.process.stdin.write(word + "\n")
        self.process.stdin.flush()
        assert self.process.stdout.readline() == "done\n", word

    def close(self):
        self.process.stdin.close()
        self.process.wait(PATIENCE)
        self.process.stdout.close()
