"""A real gnome-keyring on a message bus of its own, and a monitor of that bus."""
import os
import shutil
import subprocess

PROGRAMS = ["dbus-daemon", "dbus-monitor", "gdbus", "gnome-keyring-daemon"]

# Nothing can be started on this bus: no prompter, and no other keyring.
CONFIGURATION = """<busconfig>
  <type>session</type>
  <listen>unix:dir={directory}</listen>
  <policy context="default">
    <allow send_destination="*" eavesdrop="true"/>
    <allow eavesdrop="true"/>
    <allow own="*"/>
  </policy>
</busconfig>
"""


def missing():
    """The programs that are not installed."""
    return [program for program in PROGRAMS if shutil.which(program) is None]


class PrivateKeyring:
    """Runs while its `with` block does."""

    def __init__(self, directory):
        os.mkdir(directory, 0o700)
        self.directory = directory
        self.processes = []

    def __enter__(self):
        configuration = f"{self.directory}/bus.conf"
        with open(configuration, "w") as file:
            file.write(CONFIGURATION.format(directory=self.directory))
        self.environment = {
            "PATH": os.environ["PATH"], "HOME": self.directory, "XDG_RUNTIME_DIR": self.directory,
            **{f"XDG_{kind.upper()}_HOME": f"{self.directory}/{kind}" for kind in ("data", "cache", "config")}}
        bus = self.start("dbus-daemon", f"--config-file={configuration}", "--nofork", "--print-address=1")
        self.environment["DBUS_SESSION_BUS_ADDRESS"] = bus.stdout.readline().strip()
        keyring = self.start("gnome-keyring-daemon", "--unlock", "--components=secrets", "--foreground")
        keyring.stdin.write("password of the keyring")
        keyring.stdin.close()
        subprocess.run(
            ["gdbus", "wait", "--session", "--timeout", "20", "org.freedesktop.secrets"], env=self.environment, check=True)
        return self

    def __exit__(self, *_):
        for process in reversed(self.processes):
            process.kill()
            process.wait()

    def start(self, *command):
        process = subprocess.Popen(
            command, env=self.environment, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        self.processes.append(process)
        return process

    def monitor(self):
        """Yields (type, path) of every message from now on, as dbus-monitor names types: mc, mr, err, sig."""
        output = self.start("dbus-monitor", "--profile", "--address", self.environment["DBUS_SESSION_BUS_ADDRESS"]).stdout
        while "NameLost" not in output.readline():
            pass  # it loses its name when it begins to see everything

        def messages():
            for line in output:
                fields = line.split("\t")
                yield fields[0], fields[5] if len(fields) > 5 else ""

        return messages()
