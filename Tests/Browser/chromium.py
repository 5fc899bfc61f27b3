"""A Chromium with a profile of its own, driven over two pipes by its DevTools protocol."""
import base64
import fcntl
import json
import os
import select
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "Support"))
from patience import PATIENCE, wait_until  # noqa: E402


class Unavailable(Exception):
    """Why there is no Chromium here."""


def installed():
    """Chromium's path. Installs the package if root runs the tests (300 MB)."""
    if not shutil.which("chromium"):
        if os.geteuid() != 0:
            raise Unavailable("chromium is not installed")
        subprocess.run(["apt-get", "update", "-qq"], check=False)
        subprocess.run(["apt-get", "install", "-y", "-qq", "--no-install-recommends", "chromium"], check=False,
                       env={**os.environ, "DEBIAN_FRONTEND": "noninteractive"}, stdout=subprocess.DEVNULL)
    path = shutil.which("chromium")
    if not path:
        raise Unavailable("chromium is not installed, and apt does not install it")
    return path


class Chromium:
    """One page of a browser. Its profile is complete once `close` returns."""

    def __init__(self, profile, *options, environment=None):
        """Without options it has no window."""
        self.profile, self.number, self.events, self.unread = profile, 0, [], b""
        (reads, self.commands), (self.answers, writes) = os.pipe(), os.pipe()
        # Chromium reads commands from descriptor 3 and writes to 4. Its own sandbox does not start as root.
        to_browser, from_browser = (fcntl.fcntl(end, fcntl.F_DUPFD, 10) for end in (reads, writes))
        command = ["bash", "-c", f'exec "$@" 3<&{to_browser} 4>&{from_browser}', "bash", installed(),
                   *(options or ["--headless=new"]), "--no-sandbox", "--disable-gpu", "--no-first-run", "--ignore-certificate-errors",
                   "--disable-background-networking", "--remote-debugging-pipe", f"--user-data-dir={profile}", "about:blank"]
        self.process = subprocess.Popen(command, pass_fds=(to_browser, from_browser), stdout=subprocess.DEVNULL,
                                        stderr=subprocess.DEVNULL, env=environment or {**os.environ, "HOME": profile})
        for end in (reads, writes, to_browser, from_browser):
            os.close(end)
        self.session = None
        page = next(target for target in self.call("Target.getTargets")["targetInfos"] if target["type"] == "page")
        self.session = self.call("Target.attachToTarget", targetId=page["targetId"], flatten=True)["sessionId"]
        for domain in ("Page", "Network", "Log"):
            self.call(f"{domain}.enable")

    def receive(self):
        while b"\0" not in self.unread:
            ready, _, _ = select.select([self.answers], [], [], PATIENCE)
            assert ready, "Chromium does not answer"
            part = os.read(self.answers, 65536)
            if not part:
                raise EOFError
            self.unread += part
        message, self.unread = self.unread.split(b"\0", 1)
        return json.loads(message)

    def call(self, method, **parameters):
        self.number += 1
        message = {"id": self.number, "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.commands, json.dumps(message).encode() + b"\0")
        while True:
            answer = self.receive()
            if answer.get("id") == self.number:
                assert "error" not in answer, answer
                return answer["result"]
            self.events.append(answer)

    def evaluate(self, expression):
        return self.call("Runtime.evaluate", expression=expression, returnByValue=True)["result"].get("value")

    def wait_for(self, expression):
        """Waits until a condition holds on the page."""
        wait_until(lambda: self.evaluate(expression), lambda: f"{expression} at {self.evaluate('location.href')}")

    def show(self, scheme, width, height=420):
        """Shows the page in a window of a size to a user who likes light or dark."""
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)

    def picture(self, path):
        with open(path, "wb") as file:
            file.write(base64.b64decode(self.call("Page.captureScreenshot", format="png")["data"]))

    def requests(self):
        """The addresses that the page has asked for."""
        return [event["params"]["request"]["url"] for event in self.events
                if event["method"] == "Network.requestWillBeSent"]

    def complaints(self, origin):
        """What the browser says against pages of an origin, as for a violated policy."""
        entries = [event["params"]["entry"] for event in self.events if event["method"] == "Log.entryAdded"]
        return [entry["text"] for entry in entries if entry.get("url", origin).startswith(origin)]

    def close(self):
        self.session = None
        try:
            self.call("Browser.close")
        except EOFError:
            pass
        self.process.wait(PATIENCE)
        os.close(self.commands)
        os.close(self.answers)
