"""A user's desktop for tests of the agent: two buses of its own, a false login1, false screensavers, and the agent.

Runs as a user whose kernel keyring belongs to the tests (run.sh)."""
import ctypes
import os
import shutil
import signal
import socket
import struct
import subprocess
import tempfile

import dbus
import dbus.bus
import dbusmock

from patience import PATIENCE, wait_until
from still_clock import StillClock

HOLDS, PUBLISHED, LOCKED, PROVED = 1, 2, 4, 8
STATUS, HOLD, LOCK, DROP = 1, 2, 3, 4
MANAGER = "org.freedesktop.login1.Manager"
SESSION = "org.freedesktop.login1.Session"

libc = ctypes.CDLL(None, use_errno=True)
ADD_KEY, KEYCTL = 248, 250  # x86_64
USER_KEYRING = ctypes.c_long(-4)
USER_ONLY = 0x003B0000
REVOKE, SETPERM, UNLINK, READ, SEARCH, SET_TIMEOUT = 3, 5, 9, 11, 10, 15


def keyctl(operation, *arguments):
    result = libc.syscall(KEYCTL, operation, *arguments)
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result


def read_serial(serial):
    buffer = ctypes.create_string_buffer(64)
    length = keyctl(READ, ctypes.c_long(serial), buffer, ctypes.c_long(64))
    return buffer.raw[:length]


def publish(description, payload):
    """Puts a key into the user's keyring as an unlock without an agent does. Returns its serial number."""
    serial = libc.syscall(
        ADD_KEY, b"user", description.encode(), payload, ctypes.c_long(len(payload)), ctypes.c_long(-1))
    keyctl(SETPERM, serial, USER_ONLY)
    keyctl(8, serial, USER_KEYRING)
    keyctl(UNLINK, serial, ctypes.c_long(-1))
    return serial


def search(description):
    return keyctl(SEARCH, USER_KEYRING, b"user", description.encode(), ctypes.c_long(0))


def kernel_keys(prefix):
    """The rows of /proc/keys of this user: (serial, state flags, time left, payload length)."""
    rows = []
    with open("/proc/keys", encoding="utf-8") as keys:
        for line in keys:
            fields = line.split(None, 8)
            if int(fields[5]) == os.geteuid() and fields[7] == "user" and fields[8].startswith(prefix):
                rows.append((int(fields[0], 16), fields[1], fields[3], int(fields[8].rsplit(": ", 1)[1])))
    return rows


class Key:
    """A class key as an unlock gives it to the agent."""

    def __init__(self, purpose=1, vault=None):
        self.vault = vault or os.urandom(16)
        self.purpose = purpose
        self.id = os.urandom(8)
        self.bytes = os.urandom(32)

    @property
    def description(self):
        return f"tokenkeep:{self.vault.hex()}:{self.purpose}:{self.id.hex()}"

    def request(self):
        return b"TKA1" + bytes([HOLD]) + self.vault + bytes([self.purpose]) + self.id + self.bytes

    def read(self):
        """What a program of the user reads: the agent's key by its number, or None."""
        try:
            pointer = search(self.description)
            number = read_serial(pointer)
            return read_serial(struct.unpack(">I", number)[0]) if len(number) == 4 else number
        except OSError:
            return None

    def is_readable(self):
        """Whether any key of the user's in the kernel has the key's bytes."""
        for serial, _, _, length in kernel_keys(self.description):
            try:
                if length == 32 and read_serial(serial) == self.bytes:
                    return True
            except OSError:
                pass
        return False


class Reply:
    def __init__(self, message):
        assert message[:4] == b"TKA1", message
        self.status, self.bits = struct.unpack(">IB", message[4:9])
        self.word = message[9:].decode()

    def __getattr__(self, name):
        bits = {"holds": HOLDS, "published": PUBLISHED, "locked": LOCKED, "proved": PROVED}
        if name not in bits:
            raise AttributeError(name)
        return bool(self.bits & bits[name])


class World:
    def __init__(self, agent):
        self.program = agent
        self.directory = tempfile.mkdtemp(prefix="tokenkeep-agent-")
        self.runtime = os.path.join(self.directory, "run")
        os.mkdir(self.runtime, 0o700)
        self.socket = os.path.join(self.runtime, "tokenkeep", "agent")
        self.processes = []
        self.sessions = []
        self.agent = self.login1 = None
        self.connection = self.session_connection = None
        self.savers = {}
        self.environment = {
            "PATH": "/usr/bin:/bin",
            "HOME": self.directory,
            "XDG_RUNTIME_DIR": self.runtime,
            "XDG_STATE_HOME": os.path.join(self.directory, "state"),
            "DBUS_SYSTEM_BUS_ADDRESS": f"unix:path={self.directory}/system-bus",
            "DBUS_SESSION_BUS_ADDRESS": f"unix:path={self.directory}/session-bus",
            "ASAN_OPTIONS": "detect_leaks=0:abort_on_error=1:verify_asan_link_order=0",
            "UBSAN_OPTIONS": "halt_on_error=1",
        }
        # Without the library the agent has the real clock (Tests/Devices).
        library = os.environ.get("STILL_CLOCK")
        self.clock = StillClock(os.path.join(self.directory, "clock")) if library else None
        self.clock_environment = {"LD_PRELOAD": library, "TOKENKEEP_AGENT_CLOCK": self.clock.path} if library else {}

    # Processes

    def start_bus(self, name):
        configuration = os.path.join(self.directory, name + ".conf")
        with open(configuration, "w", encoding="utf-8") as file:
            file.write(
                f"""<busconfig><type>session</type><listen>unix:path={self.directory}/{name}-bus</listen>
                <auth>EXTERNAL</auth><policy context="default"><allow user="*"/><allow send_destination="*" eavesdrop="true"/>
                <allow eavesdrop="true"/><allow own="*"/></policy></busconfig>"""
            )
        bus = subprocess.Popen(
            ["/usr/bin/dbus-daemon", f"--config-file={configuration}", "--nofork", "--print-address=1"],
            stdout=subprocess.PIPE, env=self.environment,
        )
        bus.stdout.readline()
        self.processes.append(bus)
        return bus

    def start_mock(self, *arguments):
        mock = subprocess.Popen(
            ["/usr/bin/python3", "-m", "dbusmock", *arguments], env=self.environment, stdout=subprocess.DEVNULL
        )
        self.processes.append(mock)
        return mock

    def system_bus(self):
        if self.connection is None:
            self.connection = dbus.bus.BusConnection(self.environment["DBUS_SYSTEM_BUS_ADDRESS"])
            self.connection.set_exit_on_disconnect(False)
        return self.connection

    def start_login1(self):
        self.sessions.clear()
        self.login1 = self.start_mock("--system", "--template", "logind")
        wait_until(lambda: self.system_bus().name_has_owner("org.freedesktop.login1"), "login1")

    def start_session_bus(self):
        self.session_daemon = self.start_bus("session")
        self.session_connection = dbus.bus.BusConnection(self.environment["DBUS_SESSION_BUS_ADDRESS"])
        self.session_connection.set_exit_on_disconnect(False)

    def start_saver(self, name):
        path = "/" + name.replace(".", "/")
        process = self.start_mock("--session", name, path, name)
        wait_until(lambda: self.session_connection.name_has_owner(name), name)
        mock = dbus.Interface(self.session_connection.get_object(name, path), dbusmock.MOCK_IFACE)
        mock.AddMethod("", "GetActive", "", "b", "ret = False")
        self.savers[name] = (process, mock)

    def start_manager(self, sync="pass"):
        """Starts a false service manager, which runs a Python statement for tokenkeep-sync.service."""
        name, path = "org.freedesktop.systemd1", "/org/freedesktop/systemd1"
        self.start_mock("--session", name, path, name + ".Manager")
        wait_until(lambda: self.session_connection.name_has_owner(name), name)
        self.manager_mock = dbus.Interface(self.session_connection.get_object(name, path), dbusmock.MOCK_IFACE)
        self.manager_mock.AddMethod(
            "", "StartUnit", "ss", "o", f"if args[0] == 'tokenkeep-sync.service': {sync}\nret = '/job'")

    def started_units(self):
        return [str(call[2][0]) for call in self.manager_mock.GetCalls() if call[1] == "StartUnit"]

    def set_active(self, name, is_active):
        # The agent may ask only now, and gets the answer after the signal.
        self.savers[name][1].AddMethod("", "GetActive", "", "b", f"ret = {bool(is_active)}")
        self.savers[name][1].EmitSignal("", "ActiveChanged", "b", [is_active])

    def start_agent(self, **options):
        self.run_agent([self.program], **options)
        wait_until(self.is_listening, "the agent's socket")
        if self.clock:
            self.clock.wait_for_rest()

    def run_agent(self, command, **options):
        """Starts a command that becomes the agent."""
        self.agent = subprocess.Popen(command, env={**self.environment, **self.clock_environment}, **options)
        if self.clock:
            self.clock.process = self.agent

    def is_listening(self):
        assert self.agent.poll() is None, "the agent ended"
        try:
            self.connect().close()
            return True
        except OSError:
            return False

    def stop_agent(self, number=signal.SIGTERM):
        self.agent.send_signal(number)
        self.agent.wait(PATIENCE)

    def close(self):
        if self.agent is not None and self.agent.poll() is None:
            self.agent.send_signal(signal.SIGCONT)
            self.stop_agent()
        for connection in (self.connection, self.session_connection):
            if connection is not None:
                connection.close()
        for process in reversed(self.processes):
            process.kill()
            process.wait()
            if process.stdout:
                process.stdout.close()
        shutil.rmtree(self.directory)

    # login1

    def manager(self):
        return self.system_bus().get_object("org.freedesktop.login1", "/org/freedesktop/login1")

    def session(self, name="c1"):
        return self.system_bus().get_object("org.freedesktop.login1", f"/org/freedesktop/login1/session/{name}")

    def add_session(self, name="c1", uid=None, kind="wayland", desktop="test"):
        self.sessions.append(name)
        self.manager().AddSession(
            name, "seat0", dbus.UInt32(os.geteuid() if uid is None else uid), "tester", True,
            dbus_interface=dbusmock.MOCK_IFACE,
        )
        self.set_property("Type", kind, name)
        self.session(name).AddProperty(SESSION, "Desktop", desktop, dbus_interface=dbusmock.MOCK_IFACE)
        self.tell_sessions("SessionNew", name)

    def remove_session(self, name="c1"):
        self.sessions.remove(name)
        self.manager().RemoveObject(f"/org/freedesktop/login1/session/{name}", dbus_interface=dbusmock.MOCK_IFACE)
        self.tell_sessions("SessionRemoved", name)

    def tell_sessions(self, signal_name, name):
        path = dbus.ObjectPath(f"/org/freedesktop/login1/session/{name}")
        self.manager().EmitSignal(MANAGER, signal_name, "so", [name, path], dbus_interface=dbusmock.MOCK_IFACE)

    def set_property(self, name, value, session="c1"):
        self.session(session).UpdateProperties("", {name: value}, dbus_interface=dbusmock.MOCK_IFACE)

    def set_hint(self, is_locked, session="c1"):
        self.session(session).SetLockedHint(is_locked, dbus_interface=SESSION)

    def lock_signal(self, session="c1"):
        self.session(session).Lock(dbus_interface=SESSION)

    def sleep_signal(self, is_starting):
        self.manager().EmitSignal(
            MANAGER, "PrepareForSleep", "b", [is_starting], dbus_interface=dbusmock.MOCK_IFACE
        )

    def inhibitors(self):
        return self.manager().ListInhibitors(dbus_interface=MANAGER)

    # The agent

    def connect(self):
        client = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        # Not settimeout(): a connection that has to wait for its place would fail at once.
        for option in (socket.SO_SNDTIMEO, socket.SO_RCVTIMEO):
            client.setsockopt(socket.SOL_SOCKET, option, struct.pack("ll", PATIENCE, 0))
        try:
            client.connect(self.socket)
        except OSError:
            client.close()
            raise
        return client

    def send(self, message):
        """The reply to a message; None if the connection is closed without one."""
        with self.connect() as client:
            try:
                client.send(message)
                reply = client.recv(256)
            except (ConnectionResetError, BrokenPipeError):
                return None
        return Reply(reply) if reply else None

    def status(self):
        return self.send(b"TKA1" + bytes([STATUS]))

    def hold(self, key):
        return self.send(key.request())

    def lock(self):
        return self.send(b"TKA1" + bytes([LOCK]))

    def drop(self, key):
        return self.send(b"TKA1" + bytes([DROP]) + key.vault)

    def wait_for(self, **expected):
        """Waits for bits, or for the word, of the status."""
        def is_met():
            status = self.status()
            return all(getattr(status, name) == value for name, value in expected.items())

        wait_until(is_met, f"a status with {expected}")


class Desktop(World):
    """A world with both buses, login1, a screensaver and one graphical session."""

    def __init__(self, agent):
        super().__init__(agent)
        try:
            self.start_bus("system")
            self.start_session_bus()
            self.start_login1()
            self.add_session()
        except BaseException:
            self.close()
            raise

    def reset(self):
        """The desktop as at its beginning, without an agent."""
        if self.agent.poll() is None:
            self.agent.send_signal(signal.SIGCONT)
            self.stop_agent()
        shutil.rmtree(os.path.join(self.directory, "state"), ignore_errors=True)
        for name in list(self.sessions):
            self.remove_session(name)
        self.add_session()
