"""An authorization server on loopback, in a directory of its own."""
import os
import socket
import subprocess
import sys
import urllib.error
import urllib.parse
import urllib.request

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "Support"))
from listening import free_ports  # noqa: E402: its folder must be on the path first
from patience import PATIENCE, wait_until  # noqa: E402


class Missing(Exception):
    """What the server needs cannot be had."""


def request(url, data=None, headers=None, method=None):
    """The status and the body of the answer."""
    asked = urllib.request.Request(url, data, headers or {}, method=method)
    try:
        with urllib.request.urlopen(asked, timeout=PATIENCE) as answer:
            return answer.status, answer.read()
    except urllib.error.HTTPError as error:
        return error.code, error.read()


def free_port():
    return free_ports(1)[0]


class LoopbackServer:
    """Runs while its `with` block does."""

    # The arguments of curl for the client, its id and secret, and the paths of the endpoints.
    client = client_id = secret = token_path = revoke_path = None
    # The clients of sign-ins by browser and by device, and the paths of the issuer and of the endpoint for devices.
    browser_client = device_client = issuer_path = device_path = None
    # The redirect address that the server knows; None for any port. What a browser adds to the address of a sign-in.
    redirect, address_suffix = None, ""

    def enter(self, jar):
        """Signs the user of a cookie jar in, if the server's pages do not."""

    def __init__(self, directory):
        self.directory = directory
        os.mkdir(directory)
        self.port = free_port()
        self.address = f"http://127.0.0.1:{self.port}"
        self.log = directory + "/log"
        self.process = None

    def command(self):
        """The arguments and the environment of the server's program."""
        raise NotImplementedError

    def __exit__(self, *_):
        self.stop()

    def start(self):
        arguments, environment = self.command()
        with open(self.log, "a", encoding="utf-8") as log:
            self.process = subprocess.Popen(arguments, env=environment, stdout=log, stderr=log)
        wait_until(lambda: self.process.poll() is not None or self.is_reachable(), "the server")
        assert self.process.poll() is None, open(self.log, encoding="utf-8").read()

    def is_reachable(self):
        try:
            socket.create_connection(("127.0.0.1", self.port), PATIENCE).close()
        except OSError:
            return False
        return True

    def stop(self):
        self.process.kill()
        self.process.wait()

    def post(self, path, headers=None, **fields):
        """The status and the body of the answer to a form."""
        return request(self.address + path, urllib.parse.urlencode(fields).encode(), headers)
