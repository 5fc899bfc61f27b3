"""A proxy between tokenkeep-tpm2 and swtpm: it sees each message, and may delay, drop, repeat or replace it."""
import contextlib
import os
import shutil
import socket
import struct
import tempfile
import threading

CREATE_PRIMARY, READ_PUBLIC, CREATE, LOAD, UNSEAL, START_SESSION, FLUSH, GET_CAPABILITY = (
    0x131, 0x173, 0x153, 0x157, 0x15E, 0x176, 0x165, 0x17A)
NV_DEFINE, NV_UNDEFINE, NV_WRITE, NV_WRITE_LOCK, NV_READ, NV_READ_PUBLIC = 0x12A, 0x122, 0x137, 0x138, 0x14E, 0x169


def code_of(command):
    """The command code of a command."""
    return struct.unpack(">I", command[6:10])[0]


def answer_with(code):
    """A response that is nothing but a response code."""
    return struct.pack(">HII", 0x8001, 10, code)


class Cut(Exception):
    """Raised by a hook: closes the connection."""


class Proxy:
    """Hooks are called with the number of the message within its connection: `on_command(number, command, forward)` returns the
    response, None for silence; `forward(command)` sends one to the TPM and returns the response."""

    def __init__(self, tpm):
        self.tpm = tpm
        self.directory = tempfile.mkdtemp(prefix="proxy-", dir="/tmp")
        self.path = os.path.join(self.directory, "tpm")
        self.record = []  # (command, response)
        self.on_command = lambda number, command, forward: forward(command)
        self.is_open = True
        self.listeners = [self.listen(self.path, self.relay_messages), self.listen(self.path + ".ctrl", self.relay_control)]

    @property
    def tcti(self):
        return f"swtpm:path={self.path}"

    def listen(self, path, serve):
        listener = socket.socket(socket.AF_UNIX)
        listener.bind(path)
        listener.listen(64)

        def loop():
            while self.is_open:
                with contextlib.suppress(OSError):
                    client, _ = listener.accept()
                    threading.Thread(target=self.guard, args=(serve, client), daemon=True).start()

        threading.Thread(target=loop, daemon=True).start()
        return listener

    def guard(self, serve, client):
        with client, contextlib.suppress(OSError, Cut):
            serve(client)

    def relay_messages(self, client):
        with socket.socket(socket.AF_UNIX) as server:
            server.connect(self.tpm.path)

            def forward(command):
                server.sendall(command)
                response = receive(server)
                self.record.append((command, response))
                return response

            for number in range(1 << 20):
                response = self.on_command(number, receive(client), forward)
                if response is None:
                    # Until the client gives up.
                    client.recv(1)
                    return
                client.sendall(response)

    def relay_control(self, client):
        with socket.socket(socket.AF_UNIX) as server:
            server.connect(self.tpm.path + ".ctrl")
            while data := client.recv(4096):
                server.sendall(data)
                client.sendall(server.recv(4096))

    def recorded(self):
        """All bytes that passed."""
        return b"".join(command + response for command, response in self.record)

    def commands(self):
        return [code_of(command) for command, _ in self.record]

    def close(self):
        self.is_open = False
        for listener in self.listeners:
            with contextlib.suppress(OSError):
                listener.shutdown(socket.SHUT_RDWR)
            listener.close()
        shutil.rmtree(self.directory)


def receive(connection):
    """One message of the TPM, by the length in its head."""
    head = read_exactly(connection, 10)
    return head + read_exactly(connection, max(struct.unpack(">I", head[2:6])[0], 10) - 10)


def read_exactly(connection, length):
    data = b""
    while len(data) < length:
        more = connection.recv(length - len(data))
        if not more:
            raise Cut
        data += more
    return data
