"""A message bus, a home and a vault of their own for the provider's tests, and the provider."""
import os
import shlex
import shutil
import signal
import subprocess
import tempfile

from broker import DBusBroker
from patience import PATIENCE, wait_until

PROVIDER = os.environ["PROVIDER"]
TOKENKEEP = os.environ["TOKENKEEP"]
NAME = "org.freedesktop.secrets"

# The limits are those of a session's bus.
CONFIGURATION = """<busconfig><type>session</type><listen>unix:dir={}</listen><servicedir>{}</servicedir><policy context="default">
<allow send_destination="*" eavesdrop="true"/><allow eavesdrop="true"/><allow own="*"/></policy>
<limit name="max_incoming_bytes">1000000000</limit><limit name="max_outgoing_bytes">1000000000</limit>
<limit name="max_message_size">1000000000</limit></busconfig>"""


class Daemon:
    """A dbus-daemon of a test's own."""

    def __init__(self, path):
        reading, writing = os.pipe()
        self.process = subprocess.Popen(
            ["dbus-daemon", "--nofork", "--config-file", path, f"--print-address={writing}"], pass_fds=[writing],
            stderr=subprocess.DEVNULL)
        os.close(writing)
        with os.fdopen(reading) as file:
            self.address = file.readline().strip()

    def close(self):
        self.process.terminate()
        self.process.wait(PATIENCE)


class World:
    """Starts a bus. `provider()` starts the provider. `close()` ends both."""

    def __init__(self):
        self.home = tempfile.mkdtemp()
        self.processes = []
        self.log = os.path.join(self.home, "log")
        runtime = os.path.join(self.home, "run")
        os.mkdir(runtime, 0o700)
        # The bus starts programs by the files in this folder, and reads none that the programs under test write.
        self.services = os.path.join(self.home, "services")
        os.mkdir(self.services)
        path = os.path.join(self.home, "bus.conf")
        with open(path, "w", encoding="utf-8") as file:
            file.write(CONFIGURATION.format(runtime, self.services))
        self.bus = DBusBroker(f"{runtime}/bus") if os.environ.get("BUS") == "dbus-broker" else Daemon(path)
        self.address = self.bus.address
        self.environment = {
            "PATH": f"{os.path.dirname(TOKENKEEP)}:{os.environ['PATH']}", "HOME": self.home, "PYTHONDONTWRITEBYTECODE": "1", "XDG_RUNTIME_DIR": runtime, "LANG": "C.UTF-8",
            "XDG_DATA_HOME": os.path.join(self.home, "data"), "XDG_CONFIG_HOME": os.path.join(self.home, "config"),
            "DBUS_SESSION_BUS_ADDRESS": self.address, "TOKENKEEP_VAULT": os.path.join(self.home, "vault")}
        for name in ("LD_PRELOAD", "TOKENKEEP_TEST_CLOCK"):
            if name in os.environ:
                self.environment[name] = os.environ[name]

    def provider(self, *arguments, waits=True, **environment):
        """Starts the provider, and waits until it owns the name. It requests its other name before that one."""
        with open(self.log, "ab") as log:
            process = subprocess.Popen(
                [PROVIDER, *arguments], env={**self.environment, **environment}, stderr=log,
                stdin=subprocess.DEVNULL)
        self.processes.append(process)
        if waits:
            wait_until(lambda: process.poll() is not None or self.owner() == process.pid, "the name's owner")
            assert process.poll() is None, self.logged()
        return process

    def activate(self):
        """Lets the bus start the provider when a program asks for its name."""
        program = os.path.join(self.home, "started-by-the-bus")
        with open(program, "w", encoding="utf-8", opener=lambda p, f: os.open(p, f, 0o755)) as file:
            words = [f"{name}={value}" for name, value in self.environment.items()]
            file.write("#!/bin/sh\nexec env -i " + shlex.join([*words, PROVIDER]) + "\n")
        with open(os.path.join(self.services, f"{NAME}.service"), "w", encoding="utf-8") as file:
            file.write(f"[D-BUS Service]\nName={NAME}\nExec={program}\n")
        self.run("dbus-send", "--print-reply", "--dest=org.freedesktop.DBus", "/", "org.freedesktop.DBus.ReloadConfig")

    def logged(self):
        if not os.path.exists(self.log):
            return ""
        with open(self.log, encoding="utf-8") as file:
            return file.read()

    def owner(self, name=NAME):
        """The process that owns a name on the bus; None for nobody."""
        answer = self.run("dbus-send", "--print-reply=literal", "--dest=org.freedesktop.DBus", "/",
                          "org.freedesktop.DBus.GetConnectionUnixProcessID", f"string:{name}", check=False)
        return int(answer.stdout.split()[-1]) if answer.returncode == 0 else None

    def run(self, *command, check=True, text=True, **options):
        done = subprocess.run(
            command, env={**self.environment, **options.pop("environment", {})}, timeout=PATIENCE, check=False,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=text, **options)
        if check and done.returncode != 0:
            raise AssertionError(f"{command} ended with {done.returncode}: {done.stderr}\n{self.logged()}")
        return done

    def tokenkeep(self, *arguments, **options):
        return self.run(TOKENKEEP, *arguments, **options)

    def set_password(self, password="pw"):
        self.tokenkeep("password", "set", "--stdin", input=password + "\n")

    def password_file(self, password="pw"):
        path = os.path.join(self.home, "password")
        with open(path, "w", encoding="utf-8", opener=lambda p, f: os.open(p, f, 0o600)) as file:
            file.write(password + "\n")
        return path

    def unlock(self, password="pw"):
        self.tokenkeep("unlock", "--password-file", self.password_file(password))

    def lock(self):
        self.tokenkeep("lock")

    def stop(self, process, number=signal.SIGTERM):
        process.send_signal(number)
        process.wait(PATIENCE)
        return process.returncode

    def close(self):
        for process in self.processes:
            if process.poll() is None:
                self.stop(process, signal.SIGKILL)
        self.run(TOKENKEEP, "lock", check=False)
        self.bus.close()
        shutil.rmtree(self.home, ignore_errors=True)
