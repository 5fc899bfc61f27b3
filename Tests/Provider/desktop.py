"""Programs of a desktop against the provider: Seahorse in a window, GNOME Online Accounts' daemon, Evolution's library. A part
of `make verify-provider`.

Installs their packages by apt if root runs it without them. PICTURE=FILE keeps the picture of Seahorse's window.
"""
import os
import re
import shutil
import subprocess
import tempfile
import unittest

from client import ITEM
from compared import Compared
from patience import wait_until
from test_interface import Case

HERE = os.path.dirname(os.path.abspath(__file__))
ACCOUNTS = "/usr/libexec/goa-daemon"


def need(programs, packages, is_there=shutil.which):
    if all(is_there(program) for program in programs):
        return
    if os.geteuid() != 0:
        raise unittest.SkipTest(f"not all of {', '.join(packages)} are installed")
    subprocess.run(["apt-get", "install", "-y", "-qq", "--no-install-recommends", *packages], check=True,
                   env={**os.environ, "DEBIAN_FRONTEND": "noninteractive"}, stdout=subprocess.DEVNULL)


class Desktop(Case):
    def start(self, *command, **options):
        """Starts a program, which lives by the real clock."""
        environment = {name: value for name, value in self.world.environment.items() if name != "LD_PRELOAD"}
        environment.update(options.pop("environment", {}))
        process = subprocess.Popen(
            command, env=environment, stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL, **options)
        self.world.processes.append(process)
        return process


class Seahorse(Desktop):
    @classmethod
    def setUpClass(cls):
        need(["seahorse", "Xvfb", "xdotool", "import"], ["seahorse", "xvfb", "xdotool", "imagemagick"])

    def screen(self):
        reading, writing = os.pipe()
        self.start("Xvfb", "-displayfd", str(writing), "-screen", "0", "900x560x24", "-nolisten", "tcp", pass_fds=[writing])
        os.close(writing)
        with os.fdopen(reading) as file:
            return f":{file.readline().strip()}"

    def test_seahorse_shows_the_items(self):
        path = self.client.create({"service": "example.com", "username": "ann"}, b"s3cr3t", label="Token of Ann")
        display = {"DISPLAY": self.screen(), "GDK_BACKEND": "x11", "GSETTINGS_BACKEND": "memory", "NO_AT_BRIDGE": "1"}
        calls = os.path.join(self.world.home, "calls")
        with open(calls, "w", encoding="utf-8") as file:
            self.start("dbus-monitor", "--profile", f"path={path}", stdout=file)
        seahorse = self.start("seahorse", environment=display, stdout=subprocess.DEVNULL)
        find = ("xdotool", "search", "--onlyvisible", "--class", "seahorse")
        wait_until(lambda: self.world.run(*find, check=False, environment=display).stdout.strip(), "Seahorse's window")

        def asked():
            with open(calls, encoding="utf-8") as file:
                return re.search(r"GetAll", file.read())
        wait_until(asked, "Seahorse's question for the item")
        window = self.world.run(*find, environment=display).stdout.split()[-1]
        # Wide enough for the list at the side, whose first row is our collection.
        self.world.run("xdotool", "windowmove", window, "0", "0", "windowsize", window, "900", "400", environment=display)

        def shown():
            """The window's picture, once two in a row are alike."""
            def settled():
                first, second = (self.world.run("import", "-window", window, "ppm:-", text=False, environment=display).stdout
                                 for _ in range(2))
                return first == second and first
            return wait_until(settled, "a window that stays as it is")
        shown()
        self.world.run("xdotool", "mousemove", "60", "100", "click", "1", environment=display)
        with_item = shown()
        if "PICTURE" in os.environ:
            self.world.run("convert", "ppm:-", os.environ["PICTURE"], text=False, input=with_item)
        self.client.call(path, ITEM, "Delete")
        wait_until(lambda: shown() != with_item, "a window without the item")
        self.assertIsNone(seahorse.poll())


class Accounts(Desktop):
    """A mail account, whose password the daemon of GNOME Online Accounts keeps in the keyring."""

    NAME = "org.gnome.OnlineAccounts"

    @classmethod
    def setUpClass(cls):
        need([ACCOUNTS, "gdbus"], ["gnome-online-accounts", "libglib2.0-bin"])

    def daemon(self):
        process = self.start(
            ACCOUNTS, stdout=subprocess.DEVNULL, environment={"GSETTINGS_BACKEND": "memory", "GIO_USE_VFS": "local"})
        wait_until(lambda: self.world.owner(self.NAME) == process.pid, "the daemon's name")
        return process

    def call(self, path, method, *arguments, check=True):
        return self.world.run(
            "gdbus", "call", "--session", "--dest", self.NAME, "--object-path", path, "--method", f"{self.NAME}.{method}",
            *arguments, check=check)

    def test_an_accounts_password_survives_restarts_of_daemon_and_provider(self):
        daemon = self.daemon()
        account = self.call(
            "/org/gnome/OnlineAccounts/Manager", "Manager.AddAccount", "imap_smtp", "ann@example.com", "ann@example.com",
            "{'imap-password': <'p\u00e4ss'>, 'smtp-password': <'other'>}",
            "{'Enabled': 'true', 'EmailAddress': 'ann@example.com', 'Name': 'Ann', 'ImapHost': 'localhost', 'ImapUserName': 'ann',"
            " 'ImapUseSsl': 'false', 'ImapUseTls': 'false', 'ImapAcceptSslErrors': 'false', 'SmtpHost': 'localhost',"
            " 'SmtpUseAuth': 'false', 'SmtpUseSsl': 'false', 'SmtpUseTls': 'false', 'SmtpAcceptSslErrors': 'false'}").stdout
        path = re.search(r"'(/org[^']*)'", account).group(1)
        self.assertEqual(len(self.client.search({"xdg:schema": "org.gnome.OnlineAccounts"})[0]), 1)
        self.world.stop(daemon)
        self.world.stop(self.provider)
        self.provider = self.world.provider()
        daemon = self.daemon()
        asking = path, "PasswordBased.GetPassword", "imap-password"
        wait_until(lambda: self.call(*asking, check=False).returncode == 0, "the account")
        self.assertIn("p\u00e4ss", self.call(*asking).stdout)
        self.call(path, "Account.Remove")
        wait_until(lambda: not self.client.search({"xdg:schema": "org.gnome.OnlineAccounts"})[0], "the item's end")


class Evolution(Compared):
    """The calls by which Evolution and its daemons keep passwords, beside gnome-keyring."""

    def test_passwords_of_an_account(self):
        header = "/usr/include/evolution-data-server/libedataserver/libedataserver.h"
        need([header], ["libedataserver1.2-dev", "gcc", "pkg-config"], os.path.exists)
        flags = subprocess.run(
            ["pkg-config", "--cflags", "--libs", "libedataserver-1.2"], stdout=subprocess.PIPE, text=True, check=True)
        with tempfile.TemporaryDirectory() as folder:
            program = os.path.join(folder, "evolution")
            environment = {name: value for name, value in os.environ.items() if name != "LD_PRELOAD"}
            source = os.path.join(HERE, "evolution.c")
            subprocess.run(["gcc", "-Wno-deprecated-declarations", source, "-o", program, *flags.stdout.split()], check=True,
                           env=environment)
            found = self.compare(program)
        self.assertEqual(found, "store 1 \nstore 1 \nsecond \u00e4\n lookup 1 \ndelete 1 \n(none) lookup 1 \n" * 2)


if __name__ == "__main__":
    unittest.main()
