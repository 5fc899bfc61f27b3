"""Chromium in a window keeps its cookies by a key behind org.freedesktop.secrets: a part of `make verify-provider`.

Installs Chromium and Xvfb by apt if root runs it without them.
"""
import http.server
import os
import shutil
import sqlite3
import subprocess
import sys
import threading
import unittest

from patience import PATIENCE, let_pass, wait_until
from test_locks import Locked

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "Browser"))
import chromium  # noqa: E402

# Longer than any limit of a client that is known; Chromium has none.
SLOW_ANSWER = 45


class Site(http.server.BaseHTTPRequestHandler):
    """Sets a cookie that outlives the browser at /set, and notes the cookies of each visit."""

    def do_GET(self):  # noqa: N802
        if self.path != "/favicon.ico":
            self.server.cookies.append(self.headers.get("Cookie"))
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        if self.path == "/set":
            self.send_header("Set-Cookie", "kept=token; Max-Age=86400; Path=/")
        self.end_headers()
        self.wfile.write(b"<title>site</title>")

    def log_message(self, *_):
        pass


class Window(Locked):
    @classmethod
    def setUpClass(cls):
        try:
            chromium.installed()
        except chromium.Unavailable as reason:
            raise unittest.SkipTest(str(reason)) from reason
        if not shutil.which("Xvfb"):
            if os.geteuid() != 0:
                raise unittest.SkipTest("Xvfb is not installed")
            subprocess.run(["apt-get", "install", "-y", "-qq", "--no-install-recommends", "xvfb"], check=True,
                           env={**os.environ, "DEBIAN_FRONTEND": "noninteractive"}, stdout=subprocess.DEVNULL)
        reading, writing = os.pipe()
        cls.screen = subprocess.Popen(["Xvfb", "-displayfd", str(writing), "-nolisten", "tcp"], pass_fds=[writing],
                                      stderr=subprocess.DEVNULL, env={"PATH": os.environ["PATH"]})
        cls.addClassCleanup(cls.screen.wait, PATIENCE)
        cls.addClassCleanup(cls.screen.terminate)
        os.close(writing)
        with os.fdopen(reading) as file:
            cls.display = f":{file.readline().strip()}"

    def setUp(self):
        super().setUp()
        self.site = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Site)
        self.site.cookies = []
        thread = threading.Thread(target=self.site.serve_forever)
        thread.start()
        self.addCleanup(thread.join)
        self.addCleanup(self.site.server_close)
        self.addCleanup(self.site.shutdown)

    def visit(self, path="/"):
        """Starts the browser, visits a page and ends the browser. Returns the cookies that it sent."""
        # The clock of the tests is the provider's alone.
        environment = {name: value for name, value in self.world.environment.items() if name != "LD_PRELOAD"}
        browser = chromium.Chromium(
            os.path.join(self.world.home, "profile"), "--password-store=gnome-libsecret",
            environment={**environment, "DISPLAY": self.display})
        self.addCleanup(browser.process.kill)
        seen = len(self.site.cookies)
        browser.call("Page.navigate", url=f"http://127.0.0.1:{self.site.server_port}{path}")
        browser.close()
        (cookies,) = self.site.cookies[seen:]
        return cookies

    def visiting(self):
        """The same beside the test. Returns the thread, and a list that gets the cookies."""
        found = []
        thread = threading.Thread(target=lambda: found.append(self.visit()), daemon=True)
        thread.start()
        return thread, found

    def rows(self):
        """The first bytes of each stored cookie: v11 stands for a keyring's key, v10 for a key that everybody knows."""
        path = os.path.join(self.world.home, "profile", "Default", "Cookies")
        connection = sqlite3.connect(path)
        found = [bytes(value[:3]) for (value,) in connection.execute("select encrypted_value from cookies")]
        connection.close()
        return found

    def test_a_cookie_survives_restarts_of_browser_provider_and_vault(self):
        self.begin(locked=False)
        self.assertIsNone(self.visit("/set"))
        self.assertEqual(self.rows(), [b"v11"])
        self.assertEqual(self.visit(), "kept=token")
        self.world.stop(self.provider)
        self.begin(locked=False)
        self.assertEqual(self.visit(), "kept=token")
        self.world.lock()
        self.world.unlock()
        self.assertEqual(self.visit(), "kept=token")

    def test_a_locked_start_waits_for_a_slow_answer(self):
        self.begin(locked=False)
        self.visit("/set")
        self.world.stop(self.provider)
        self.begin("--pinentry", self.pinentry("hold"))
        visiting, found = self.visiting()
        wait_until(lambda: "GETPIN" in self.asked(), "the question")
        let_pass(SLOW_ANSWER)
        self.assertEqual(found, [])
        self.answer("pw")
        visiting.join(PATIENCE)
        self.assertEqual(found, ["kept=token"])

    def test_a_locked_start_without_a_pinentry_waits_for_an_unlock(self):
        self.begin(locked=False)
        self.visit("/set")
        self.world.stop(self.provider)
        self.begin("--pinentry", "/none")
        visiting, found = self.visiting()
        wait_until(lambda: "pinentry is missing or has no display: run tokenkeep unlock" in self.world.logged(), "the log line")
        self.world.unlock()
        visiting.join(PATIENCE)
        self.assertEqual(found, ["kept=token"])

    def test_a_cookie_survives_an_import_from_gnome_keyring(self):
        keyring = subprocess.Popen(
            ["gnome-keyring-daemon", "--foreground", "--unlock", "--components=secrets"], env=self.world.environment,
            stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        keyring.stdin.write(b"pw")
        keyring.stdin.close()
        self.world.processes.append(keyring)
        wait_until(self.world.owner, "gnome-keyring")
        self.visit("/set")
        self.world.tokenkeep("import", "--from", "secret-service", "--verbatim", "--password-file", self.world.password_file())
        self.world.stop(keyring)
        self.begin(locked=False)
        self.assertEqual(self.visit(), "kept=token")


if __name__ == "__main__":
    unittest.main()
