"""A message bus and the programs on it, in a root directory of their own; the clients run outside of it."""
import os
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "Support"))
from patience import PATIENCE, wait_until  # noqa: E402

CONFIGURATION = """<busconfig>
  <type>session</type>
  <listen>unix:path={directory}/bus</listen>
  <policy context="default">
    <allow send_destination="*" eavesdrop="true"/>
    <allow eavesdrop="true"/>
    <allow own="*"/>
  </policy>
</busconfig>
"""

# What is mounted lasts as long as the program.
ENTER = 'mount --rbind /proc "$1/proc" && mount --rbind /dev "$1/dev" && exec chroot "$@"'


class Surroundings:
    """Runs while its `with` block does. Nothing can be started on the bus by a message."""

    def __init__(self, root="/"):
        self.root = root.rstrip("/")
        self.outside = tempfile.mkdtemp(prefix="tk-", dir=f"{self.root}/tmp")
        self.inside = self.outside[len(self.root):]
        self.processes = []
        self.address = f"unix:path={self.outside}/bus"

    def __enter__(self):
        self.write("bus.conf", CONFIGURATION.format(directory=self.inside))
        for name in ["data", "cache", "config"]:
            os.makedirs(f"{self.outside}/{name}", exist_ok=True)
        bus = self.start(["dbus-daemon", f"--config-file={self.inside}/bus.conf", "--nofork", "--print-address=1"])
        bus.stdout.readline()  # it listens now
        return self

    def __exit__(self, *_):
        for process in reversed(self.processes):
            self.stop(process)
        shutil.rmtree(self.outside, ignore_errors=True)

    def write(self, name, text):
        os.makedirs(os.path.dirname(f"{self.outside}/{name}"), exist_ok=True)
        with open(f"{self.outside}/{name}", "w") as file:
            file.write(text)

    def environment(self, directory, address, **more):
        return {
            "PATH": os.environ["PATH"] + ":/usr/bin:/bin", "HOME": directory, "XDG_RUNTIME_DIR": directory, "LC_ALL": "C.UTF-8",
            **{f"XDG_{kind.upper()}_HOME": f"{directory}/{kind}" for kind in ["data", "cache", "config"]},
            "DBUS_SESSION_BUS_ADDRESS": address, **{"QT_QPA_PLATFORM": "offscreen", **more}}

    def start(self, command, text="", descriptors=(), **more):
        """Starts a program in the root. Its standard input is `text`."""
        if self.root:
            command = ["unshare", "--mount", "sh", "-c", ENTER, "enter", self.root, *command]
        process = subprocess.Popen(
            command, env=self.environment(self.inside, f"unix:path={self.inside}/bus", **more), text=True, cwd="/",
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=open(f"{self.outside}/errors", "a"), pass_fds=descriptors)
        process.stdin.write(text)
        process.stdin.close()
        self.processes.append(process)
        return process

    def stop(self, process):
        process.kill()
        process.wait()
        if process in self.processes:
            self.processes.remove(process)

    def run(self, command, text=b"", limit=PATIENCE):
        """Runs a client on the bus, outside of the root: its exit code, its output and its error output."""
        client = f"{self.outside}/client"
        os.makedirs(client, mode=0o700, exist_ok=True)
        done = subprocess.run(
            command, env=self.environment(client, self.address), input=text, capture_output=True, timeout=limit, cwd="/")
        return done.returncode, done.stdout, done.stderr.decode(errors="replace").strip()

    def call(self, path, method, *arguments, to="org.freedesktop.secrets"):
        """Calls a method on the bus; what gdbus prints, or None."""
        code, output, _ = self.run(
            ["gdbus", "call", "--session", "--dest", to, "--object-path", path, "--method", method, *arguments])
        return output.decode() if code == 0 else None

    def wait_for_collection(self, locked=False):
        """Waits until the default collection is there and in this state: a service has its name before that."""
        def is_so():
            answer = self.call(
                "/org/freedesktop/secrets/aliases/default", "org.freedesktop.DBus.Properties.Get",
                "org.freedesktop.Secret.Collection", "Locked")
            return answer and f"<{str(locked).lower()}>" in answer

        wait_until(is_so, lambda: f"a default collection that is {'locked' if locked else 'open'} ({self.last_errors()})")

    def wait_for_name(self, name):
        """Waits until a program on the bus has this name."""
        if self.run(["gdbus", "wait", "--session", "--timeout", str(PATIENCE), name], limit=2 * PATIENCE)[0] != 0:
            raise RuntimeError(f"{name} does not appear: {self.last_errors()}")

    def last_errors(self):
        with open(f"{self.outside}/errors") as file:
            return " / ".join(file.read().split("\n")[-4:])
