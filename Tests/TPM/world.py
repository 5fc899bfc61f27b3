"""A software TPM of its own for each test, the program tokenkeep-tpm2, and the messages between them and us.

The bytes of messages are those of docs/device-helper.md, written here a second time."""
import contextlib
import ctypes
import os
import secrets
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "Support"))

import tests_clock  # noqa: E402
from listening import listens  # noqa: E402
from patience import PATIENCE, wait_until  # noqa: E402

INFO, SEAL, UNSEAL, MAKE, READ, DESTROY, WRITE, LIST = range(1, 9)
DEVICE_BYTES, ANCHOR = 1, 2
WORDS = ("", "absent", "silent", "busy", "owner-password", "other", "auth", "uid", "blob", "altered", "no-index", "no-space",
         "limit", "request", "lockout", "refused", "failed")
STATUS = {"": 0, "silent": 4, "auth": 6, "uid": 6, "blob": 11, "altered": 14, "no-index": 1, "limit": 15, "request": 12}
UNAVAILABLE = 3
libc = ctypes.CDLL(None)
KEYCTL, SEARCH, UNLINK_KEY, USER_KEYRING = 250, 10, 9, ctypes.c_long(-4)  # x86_64


class Reply:
    def __init__(self, message):
        signature, self.status, number, self.code = struct.unpack(">4sIBI", message[:13])
        assert signature == b"TKT1", message
        self.word, self.payload = WORDS[number], message[13:]
        assert self.status == STATUS.get(self.word, UNAVAILABLE), (self.status, self.word)

    def __repr__(self):
        return f"{self.word or 'done'} {self.code:#x} {self.payload.hex()}"


def request(operation, *fields, budget=5000):
    return b"TKT1" + struct.pack(">BH", operation, budget) + b"".join(
        field if isinstance(field, bytes) else struct.pack(">I", field) for field in fields)


class Key:
    """An authValue, a secret and a vault's tag."""

    def __init__(self):
        self.auth, self.secret, self.tag = secrets.token_bytes(32), secrets.token_bytes(32), secrets.token_bytes(16)


class SoftwareTPM:
    """swtpm with a state and sockets of its own. `path`: of its socket."""

    def __init__(self):
        self.directory = tempfile.mkdtemp(prefix="tpm-", dir="/tmp")
        self.path = os.path.join(self.directory, "tpm")
        self.process = None
        self.start()

    def start(self):
        for path in (self.path, self.path + ".ctrl"):
            if os.path.exists(path):
                os.unlink(path)
        self.process = subprocess.Popen(
            ["swtpm", "socket", "--tpm2", "--tpmstate", f"dir={self.directory}", "--server", f"type=unixio,path={self.path}",
             "--ctrl", f"type=unixio,path={self.path}.ctrl", "--flags", "not-need-init,startup-clear",
             "--log", f"file={self.directory}/log"], stdin=subprocess.DEVNULL)
        wait_until(lambda: listens(self.path) and listens(self.path + ".ctrl"), "the start of swtpm")

    def kill(self):
        self.process.kill()
        self.process.wait()

    def restart(self):
        """As a reboot of the machine."""
        self.kill()
        self.start()

    def close(self):
        self.process.send_signal(signal.SIGCONT)
        self.kill()
        shutil.rmtree(self.directory)

    @property
    def tcti(self):
        return f"swtpm:path={self.path}"

    def tool(self, *arguments, check=True):
        """Runs one of tpm2-tools."""
        return subprocess.run(arguments, env={**os.environ, "TPM2TOOLS_TCTI": self.tcti}, check=check, cwd=self.directory,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=PATIENCE).stdout.decode()

    def make_srk(self, *options, attributes="fixedtpm|fixedparent|sensitivedataorigin|userwithauth|noda|restricted|decrypt"):
        """Makes a primary persistent at the SRK's handle."""
        self.tool("tpm2_createprimary", "-Q", "-C", "o", "-c", "srk.ctx", "-a", attributes, *options)
        self.tool("tpm2_evictcontrol", "-Q", "-C", "o", "-c", "srk.ctx", "0x81000001")
        self.tool("tpm2_flushcontext", "-t")

    def fill(self):
        """Leaves no room for another index."""
        number = 0x01500000
        for size in ("2048", "16"):
            while self.tool("tpm2_nvdefine", hex(number), "-s", size, check=False):
                number += 1
        assert number > 0x01500000

    def handles(self):
        """What is loaded into the TPM: transient objects and sessions."""
        return [line for kind in ("handles-transient", "handles-loaded-session")
                for line in self.tool("tpm2_getcap", kind).splitlines() if line.strip()]


class Caller:
    """Asks for operations; subclasses send a message and receive a reply."""

    name = bytes(34)

    def ask(self, message):
        raise NotImplementedError

    def info(self, name=b"", **options):
        return self.ask(request(INFO, name, **options))

    def learn(self):
        """Takes the name of the primary as the caller records it."""
        reply = self.info()
        assert reply.status == 0, reply
        self.name = reply.payload[1:35]
        return self

    def seal(self, key, **options):
        return self.ask(request(SEAL, self.name, key.auth, key.secret, **options))

    def unseal(self, key, blob, **options):
        return self.ask(request(UNSEAL, self.name, key.auth, blob, **options))

    def make(self, key, kind=DEVICE_BYTES, data=None, **options):
        return self.ask(request(MAKE, self.name, key.auth, bytes([kind]), key.tag, data or key.secret, **options))

    def read(self, key, index, kind=DEVICE_BYTES, **options):
        return self.ask(request(READ, self.name, key.auth, bytes([kind]), key.tag, index, **options))

    def write(self, key, index, data, **options):
        return self.ask(request(WRITE, self.name, key.auth, bytes([ANCHOR]), key.tag, index, data, **options))

    def destroy(self, key, index, kind=DEVICE_BYTES, **options):
        return self.ask(request(DESTROY, self.name, bytes([kind]), key.tag, index, **options))

    def list(self):
        """(index, kind, bits, tag) of each index of the uid."""
        reply = self.ask(request(LIST))
        assert reply.status == 0 and len(reply.payload) % 22 == 0, reply
        return [struct.unpack(">IBB16s", reply.payload[at:at + 22]) for at in range(0, len(reply.payload), 22)]


class Once(Caller):
    """The program as its user runs it."""

    def __init__(self, program, tcti, uid=None):
        self.program, self.tcti, self.uid = program, tcti, uid
        self.process = None

    def start(self, message):
        process = subprocess.Popen([self.program, "--once", "--tcti", self.tcti], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, user=self.uid)
        self.process = process
        # The program reads no more of a message that is too long.
        with contextlib.suppress(BrokenPipeError), process.stdin:
            process.stdin.write(message)
        process.stdin = None
        return process

    def end(self, process):
        try:
            output, errors = process.communicate(timeout=PATIENCE)
        finally:
            process.kill()
        assert (process.returncode, errors) == (0, b""), (process.returncode, errors)
        return Reply(output)

    def ask(self, message):
        return self.end(self.start(message))

    def end_budget(self):
        """Ends the time that the last request has, by the signal of its timer."""
        self.process.send_signal(signal.SIGALRM)


class Client(Caller):
    """A client of root's helper, of any uid."""

    def __init__(self, path, uid=0):
        self.path, self.uid = path, uid

    def connect(self):
        """The kernel takes the uid of the peer at the connection."""
        if self.uid:
            os.seteuid(self.uid)
        try:
            connection = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            # Blocks while the queue of the listener is full; with a timeout it would fail instead.
            connection.connect(self.path)
        except OSError:
            connection.close()
            raise
        finally:
            if self.uid:
                os.seteuid(0)
        connection.settimeout(PATIENCE)
        return connection

    def ask(self, message):
        with self.connect() as connection:
            # A refusal does not wait for the request.
            with contextlib.suppress(BrokenPipeError):
                connection.send(message)
            return Reply(receive_reply(connection))


def receive_reply(connection):
    """A helper that did not read all that was sent resets the connection: the error comes once, before the reply."""
    with contextlib.suppress(ConnectionResetError):
        return connection.recv(4096)
    return connection.recv(4096)


def forget_refusals(*uids):
    """Removes the kernel's keys by which an instance of the unit knows a uid that was logged."""
    for uid in uids:
        name = f"tokenkeep-tpm2:refused:{uid}".encode()
        key = libc.syscall(KEYCTL, SEARCH, USER_KEYRING, b"user", name, ctypes.c_long(0))
        if key > 0:
            libc.syscall(KEYCTL, UNLINK_KEY, ctypes.c_long(key), USER_KEYRING)


class Helper:
    """tokenkeep-tpm2 --socket; with the lines `subuids` as /etc/subuid."""

    def __init__(self, program, tcti, subuids=""):
        self.program, self.tcti = program, tcti
        self.directory = tempfile.mkdtemp(prefix="helper-", dir="/tmp")
        os.chmod(self.directory, 0o755)
        self.path = os.path.join(self.directory, "tpm2")
        self.log = open(os.path.join(self.directory, "log"), "w+b")
        self.process = None
        self.subuids = os.path.join(self.directory, "subuid")
        with open(self.subuids, "w", encoding="ascii") as file:
            file.write(subuids)
        self.start()

    def start(self):
        # A machine without the file has no subordinate uids, and needs no other file in its place.
        mount = 'mount --bind "$0" /etc/subuid && exec "$@"' if os.path.exists("/etc/subuid") else 'exec "$@"'
        self.process = subprocess.Popen(
            ["/usr/bin/unshare", "--mount", "/bin/sh", "-c", mount, self.subuids, self.program, "--socket", self.path, "--tcti",
             self.tcti], stderr=self.log)
        wait_until(self.is_listening, "the start of the helper")

    def is_listening(self):
        try:
            Client(self.path).connect().close()
        except OSError:
            return False
        return True

    def children(self):
        with open(f"/proc/{self.process.pid}/task/{self.process.pid}/children", encoding="ascii") as file:
            return [int(word) for word in file.read().split()]

    def leave_the_silent(self):
        """Passes the limits of the children, which wait for requests."""
        for child in self.children():
            tests_clock.pass_limit(child)

    def logged(self):
        with open(self.log.name, encoding="utf-8") as file:
            return file.read().splitlines()

    def client(self, uid=0):
        return Client(self.path, uid)

    def kill(self):
        self.process.kill()
        self.process.wait()

    def close(self):
        self.process.terminate()
        self.process.wait(PATIENCE)
        self.log.close()
        shutil.rmtree(self.directory)
