"""Clients that exist. What is the standard's runs on gnome-keyring in the same test, with the same results."""
import json
import os
import signal
import subprocess
import tempfile
import unittest

from compared import Compared
from patience import PATIENCE, wait_until
from world import World

HERE = os.path.dirname(os.path.abspath(__file__))

SECRETSTORAGE = """
import contextlib, sys, secretstorage
connection = secretstorage.dbus_init()
collection = secretstorage.get_default_collection(connection)
print(collection.is_locked(), secretstorage.check_service_availability(connection))
item = collection.create_item('label', {'a': '1', 'b': '2'}, b'pass\\nword', True)
print(item.get_label(), item.get_secret(), sorted(item.get_attributes().items())[:2], item.is_locked())
item.set_secret(b'newer', content_type='text/plain; charset=utf8')
item.set_label('other')
item.set_attributes({'a': '3'})
print(item.get_secret(), item.get_label(), [i == item for i in collection.search_items({'a': '3'})])
print([i.get_secret() for i in secretstorage.search_items(connection, {'a': '3'})])
other = collection.create_item('x', {'a': '3'}, b'replaced', True)
print(other == item, len(list(collection.get_all_items())))
item.delete()
print(list(collection.search_items({'a': '3'})))
"""

KEYRING = """
import keyring, keyring.backends.SecretService, keyring.errors
ring = keyring.backends.SecretService.Keyring()
print(ring.priority, ring.get_password('s', 'u'))
ring.set_password('s', 'u', 'first')
ring.set_password('s', 'u', 'second')
ring.set_password('s', 'other', 'third')
print(ring.get_password('s', 'u'), ring.get_credential('s', 'other').password)
ring.delete_password('s', 'u')
print(ring.get_password('s', 'u'))
try:
    ring.delete_password('s', 'u')
except keyring.errors.PasswordDeleteError:
    print('deleted already')
"""

SECRET_TOOL = """
printf 'a secret' | secret-tool store --label='My label' a 1 b 2; echo $?
secret-tool lookup a 1; echo " $?"
printf 'newer' | secret-tool store --label='My label' a 1 b 2; echo $?
secret-tool lookup b 2; echo " $?"
secret-tool search --all a 1 2> /dev/null | grep -E '^(label|secret)'
secret-tool clear a 1; echo $?
secret-tool lookup a 1; echo $?
"""

# Takes the name from an owner that allows it: ALLOW_REPLACEMENT, REPLACE_EXISTING, DO_NOT_QUEUE.
OTHER_OWNER = r"""
import ctypes, os, sys
from jeepney import message_bus
from jeepney.io.blocking import open_dbus_connection
ctypes.CDLL(None).prctl(15, b'oo"7\\', 0, 0, 0)
connection = open_dbus_connection()
print(connection.send_and_get_reply(message_bus.RequestName("org.freedesktop.secrets", 7)).body[0], flush=True)
sys.stdin.read()
"""


class Clients(Compared):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp()
        cls.addClassCleanup(subprocess.run, ["rm", "-r", cls.folder], check=True)
        flags = subprocess.run(["pkg-config", "--cflags", "--libs", "libsecret-1"], stdout=subprocess.PIPE, text=True, check=True)
        cls.program = os.path.join(cls.folder, "libsecret")
        subprocess.run(
            ["gcc", "-Wall", "-Wextra", "-Werror", os.path.join(HERE, "libsecret.c"), "-o", cls.program,
             *flags.stdout.split()], check=True)

    def test_secret_tool(self):
        self.assertEqual(
            self.compare("sh", "-c", SECRET_TOOL).split(),
            "0 a secret 0 0 newer 0 label = My label secret = newer 0 1".split())

    def test_secretstorage(self):
        self.assertIn("b'newer' other [True]", self.compare("/usr/bin/python3", "-c", SECRETSTORAGE))

    def test_python_keyring(self):
        self.assertIn("second third", self.compare("/usr/bin/python3", "-c", KEYRING))

    def test_libsecret(self):
        self.assertIn("done", self.compare(self.program))

    def test_libsecrets_collections_aliases_and_locks(self):
        """gnome-keyring asks before it makes a collection."""
        world = self.world()
        world.provider()
        refused = "org.freedesktop.DBus.Error.NotSupported"
        locked = "org.freedesktop.Secret.Error.IsLocked"
        self.assertEqual(world.run(self.program, "collections").stdout.splitlines(), [
            f"another collection: {refused}", f"another alias: {refused}", "unknown alias: (nil), again: 0, label Login",
            "all: 1, of the collection: 1", "locked: 1 1", f"secret of a locked item: {locked}", f"deletion of a locked item: {locked}",
            "unlocked: 1 1", "label: Renamed", "left: 0"])

    def test_many_sessions_of_libsecret_agree_on_a_key(self):
        world = self.world()
        world.provider()
        # libsecret never closes a session, of which a client has at most 64.
        for _ in range(5):
            self.assertEqual(world.run(self.program, "sessions", "60").stdout, "60 sessions\n")


class Names(unittest.TestCase):
    def setUp(self):
        self.world = World()
        self.addCleanup(self.world.close)

    def test_a_second_provider_ends_with_the_owners_name(self):
        first = self.world.provider()
        second = self.world.provider(waits=False)
        self.assertEqual(second.wait(PATIENCE), 4)
        self.assertIn(
            f"org.freedesktop.secrets has another owner: tokenkeep-secre (pid {first.pid}) (this program never takes the "
            "name from another keyring)", self.world.logged())

    def test_a_gnome_keyring_that_starts_later_gets_the_name(self):
        first = self.world.provider()
        process = subprocess.Popen(
            ["gnome-keyring-daemon", "--foreground", "--unlock", "--components=secrets"], env=self.world.environment,
            stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        process.stdin.write(b"pw")
        process.stdin.close()
        self.world.processes.append(process)
        self.assertEqual(first.wait(PATIENCE), 0)
        self.assertIn("waits for org.freedesktop.secrets: the name is given back", self.world.logged())
        wait_until(lambda: self.world.owner() == process.pid, "the other keyring")

    def test_a_keyring_that_replaces_the_owner_gets_the_name(self):
        """As `oo7-daemon --replace`: gnome-keyring never asks so."""
        process = self.world.provider()
        with subprocess.Popen(["/usr/bin/python3", "-c", OTHER_OWNER], env=self.world.environment, stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE, text=True) as other:
            self.assertEqual(other.stdout.readline(), "1\n")
            self.assertEqual(process.wait(PATIENCE), 0)
            self.assertEqual(self.world.owner(), other.pid)
            done = self.world.tokenkeep("secret-service", "status", "--json", check=False)
            self.assertEqual(json.loads(done.stdout), {"enabled": False, "serves": False, "owner": 'oo"7\\', "pid": other.pid})

    def test_a_bus_of_nobody_is_named(self):
        done = self.world.run(os.environ["PROVIDER"], check=False, environment={"DBUS_SESSION_BUS_ADDRESS": "unix:path=/x"})
        self.assertEqual(done.returncode, 4)
        self.assertIn("there is no message bus: No such file or directory (set DBUS_SESSION_BUS_ADDRESS", done.stderr)

    @unittest.skipUnless(os.geteuid() == 0, "another user's bus needs root")
    def test_a_bus_of_another_user_is_refused(self):
        runtime = self.world.environment["XDG_RUNTIME_DIR"]
        folder = os.path.join(self.world.home, "other")
        os.mkdir(folder)
        for path in (self.world.home, folder, runtime):
            os.chmod(path, 0o755)
        os.chown(folder, 65534, 65534)
        bus = subprocess.Popen(
            ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "dbus-daemon", "--nofork", "--config-file",
             os.path.join(self.world.home, "bus.conf"), f"--address=unix:path={folder}/bus"], env=self.world.environment,
            stderr=subprocess.DEVNULL)
        self.world.processes.append(bus)
        wait_until(lambda: os.path.exists(f"{folder}/bus"), "the bus")
        for environment, variable in (
                ({"DBUS_SESSION_BUS_ADDRESS": f"unix:path={folder}/bus"}, "DBUS_SESSION_BUS_ADDRESS"),
                ({"XDG_RUNTIME_DIR": folder}, "XDG_RUNTIME_DIR")):
            names = {name: value for name, value in self.world.environment.items() if name != "DBUS_SESSION_BUS_ADDRESS"}
            done = subprocess.run([os.environ["PROVIDER"]], env={**names, **environment}, stderr=subprocess.PIPE, text=True,
                                  check=False, timeout=PATIENCE)
            self.assertIn(f"the message bus belongs to the user 65534, not to 0 ({variable} is another user's: unset it)",
                          done.stderr)
            self.assertEqual(done.returncode, 5)

    def test_a_signal_ends_the_program(self):
        self.assertEqual(self.world.stop(self.world.provider()), 0)


# Runs a command to which the kernel's calls for keys are forbidden, as by Docker's filter.
WITHOUT_KEYS = """
import ctypes, os, platform, struct, sys
PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP, SECCOMP_MODE_FILTER = 38, 22, 2
LOAD, EQUALS, RETURN, ALLOW, FORBID = 0x20, 0x15, 0x06, 0x7FFF0000, 0x00050001
calls = (248, 249, 250) if platform.machine() == "x86_64" else (217, 218, 219)
steps = [(LOAD, 0, 0, 0)]
steps += [(EQUALS, len(calls) - place, 0, call) for place, call in enumerate(calls)]
steps += [(RETURN, 0, 0, ALLOW), (RETURN, 0, 0, FORBID)]
filter = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *step) for step in steps))
program = ctypes.create_string_buffer(struct.pack("HxxxxxxP", len(steps), ctypes.addressof(filter)))
libc = ctypes.CDLL(None, use_errno=True)
for words in ((PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), (PR_SET_SECCOMP, SECCOMP_MODE_FILTER, program, 0, 0)):
    if libc.prctl(*words) != 0:
        raise OSError(ctypes.get_errno(), "prctl")
assert libc.syscall(calls[2], 0, -3, 0) == -1 and ctypes.get_errno() == 1, "keyctl is not forbidden"
os.execvp(sys.argv[1], sys.argv[1:])
"""


class Commands(unittest.TestCase):
    def setUp(self):
        self.world = World()
        self.addCleanup(self.world.close)
        # Nothing of the machine's keyrings.
        self.world.environment.update(XDG_DATA_DIRS="/nonexistent", XDG_CONFIG_DIRS="/nonexistent")
        self.path = os.path.join(self.world.home, "data/dbus-1/services/org.freedesktop.secrets.service")

    def command(self, *arguments, code=0, **options):
        done = self.world.tokenkeep("secret-service", *arguments, check=False, **options)
        self.assertEqual(done.returncode, code, done.stderr)
        return done

    def test_run_gives_a_command_a_keyring_and_leaves_nothing(self):
        text = ("printf token | secret-tool store --label=x service s username u && secret-tool lookup service s username u"
                " && echo && echo $DBUS_SESSION_BUS_PID && exit 7")
        value, process = self.command("run", "--", "sh", "-c", text, code=7).stdout.split()
        self.assertEqual(value, "token")
        self.assertFalse(os.path.exists(f"/proc/{process}"))
        self.assertEqual(self.world.tokenkeep("load", "s", "u").stdout.strip(), "token")

    def test_run_opens_a_vault_with_its_password_for_the_command_alone(self):
        self.world.tokenkeep("save", "s", "u", input="token")
        self.world.set_password()
        self.world.lock()
        self.assertEqual(self.command(
            "run", "--password-file", self.world.password_file(), "--", "secret-tool", "lookup", "service", "s", "username",
            "u").stdout, "token")

    def test_without_a_kernel_keyring_the_provider_keeps_the_keys(self):
        """In a user namespace, as in an unprivileged container: lock and unlock reach the provider."""
        self.world.tokenkeep("save", "s", "u", input="token")
        self.world.set_password()
        self.world.lock()
        if self.world.run("unshare", "--user", "--map-current-user", "true", check=False).returncode != 0:
            self.skipTest("no user namespaces here")
        password = self.world.password_file()
        lookup = "secret-tool lookup service s username u; echo \" $?\""
        text = f"{lookup}; $TOKENKEEP lock; {lookup}; $TOKENKEEP unlock --password-file {password}; {lookup}"
        done = self.world.run(
            "unshare", "--user", "--map-current-user", "setpriv", "--bounding-set=-all", os.environ["TOKENKEEP"],
            "secret-service", "run", "--password-file", password, "--", "sh", "-c", text,
            environment={"TOKENKEEP": os.environ["TOKENKEEP"]})
        self.assertEqual(done.stdout, "token 0\n 1\ntoken 0\n", done.stderr)

    def test_run_in_an_unprivileged_container(self):
        """As Docker's: root of a user namespace, without capabilities, without calls for keys, with little locked memory."""
        if self.world.run("unshare", "--user", "--map-root-user", "true", check=False).returncode != 0:
            self.skipTest("no user namespaces here")
        self.world.tokenkeep("save", "s", "u", input="token")
        self.world.set_password()
        self.world.lock()
        password = self.world.password_file()
        lookup = "secret-tool lookup service s username u; echo \" $?\""
        text = (f"{lookup}; printf new | secret-tool store --label=x service s username v; $TOKENKEEP lock; {lookup};"
                f" $TOKENKEEP unlock --password-file {password}; secret-tool lookup service s username v; exit 7")
        done = self.world.run(
            "prlimit", "--memlock=65536:65536", "unshare", "--user", "--map-root-user", "setpriv", "--bounding-set=-all",
            "--inh-caps=-all", "/usr/bin/python3", "-c", WITHOUT_KEYS, os.environ["TOKENKEEP"], "secret-service", "run",
            "--password-file", password, "--", "sh", "-c", text, check=False, environment={"TOKENKEEP": os.environ["TOKENKEEP"]})
        self.assertEqual((done.stdout, done.returncode), ("token 0\n 1\nnew", 7), done.stderr)

    def test_status_inside_run_names_the_provider(self):
        shown = self.command("run", "--", os.environ["TOKENKEEP"], "secret-service", "status").stdout
        self.assertIn("the provider serves: tokenkeep-secre (pid ", shown)

    def test_run_starts_no_keyring_that_is_installed_later(self):
        self.command("enable", code=4)
        self.other("/bin/true")
        text = "printf token | secret-tool store --label=x a b && secret-tool lookup a b"
        self.assertEqual(self.command("run", "--", "sh", "-c", text).stdout, "token")
        self.assertTrue(os.path.exists(self.path))

    def test_a_signal_ends_run_while_the_provider_waits_for_its_password(self):
        reading, writing = os.pipe()
        self.addCleanup(os.close, writing)
        process = subprocess.Popen(
            [os.environ["TOKENKEEP"], "secret-service", "run", "--password-fd", str(reading), "--", "true"],
            env=self.world.environment, pass_fds=[reading], stderr=subprocess.PIPE, text=True)
        os.close(reading)
        children = lambda: subprocess.run(  # noqa: E731
            ["pgrep", "-P", str(process.pid)], stdout=subprocess.PIPE, text=True, check=False).stdout.split()
        wait_until(lambda: len(children()) == 2, "the bus and the provider")
        started = children()
        process.send_signal(signal.SIGTERM)
        _, said = process.communicate(timeout=PATIENCE)
        self.assertEqual(process.returncode, 5, said)
        self.assertIn("a signal ended the start of the provider", said)
        for child in started:
            self.assertFalse(is_running(int(child)))

    def test_run_without_dbus_daemon(self):
        done = self.command("run", "--", "/bin/true", code=4, environment={"PATH": "/nonexistent"})
        self.assertIn("dbus-daemon is missing (install the package dbus-daemon, in older systems dbus)", done.stderr)

    def test_run_ends_with_its_parent(self):
        process = subprocess.Popen(
            [os.environ["TOKENKEEP"], "secret-service", "run", "--", "sh", "-c", "echo $$ $DBUS_SESSION_BUS_PID; read x"],
            env=self.world.environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        started = [int(word) for word in process.stdout.readline().split()]
        children = subprocess.run(
            ["pgrep", "-P", str(process.pid)], stdout=subprocess.PIPE, text=True, check=True).stdout.split()
        self.assertEqual(len(children), 3)
        process.send_signal(signal.SIGKILL)
        process.wait(PATIENCE)
        for child in [*started, *map(int, children)]:
            wait_until(lambda child=child: not is_running(child), "the end of all programs")
        process.stdin.close()
        process.stdout.close()

    def test_enable_and_disable(self):
        self.assertIn("not enabled\nno program serves org.freedesktop.secrets", self.command("status", code=4).stdout)
        nowhere = {"DBUS_SESSION_BUS_ADDRESS": "unix:path=/nonexistent"}
        self.assertIn("not enabled\nthere is no message bus\n", self.command("status", code=4, environment=nowhere).stdout)
        # The test's bus reads no directory of services.
        done = self.command("enable", code=4)
        self.assertIn("the message bus does not read", done.stderr)
        with open(self.path, encoding="utf-8") as file:
            self.assertIn(f"Name=org.freedesktop.secrets\nExec={os.environ['PROVIDER']}\n", file.read())
        self.assertIn("enabled: " + self.path, self.command("status").stdout)
        self.assertIn('"enabled":true,"serves":false', self.command("status", "--json").stdout)
        self.assertIn("disabled", self.command("disable").stdout)
        self.assertFalse(os.path.exists(self.path))

    def portal(self, version):
        """An xdg-desktop-portal of a version, as the bus would start it."""
        program = os.path.join(self.world.home, "xdg-desktop-portal")
        with open(program, "w", encoding="utf-8", opener=lambda p, f: os.open(p, f, 0o755)) as file:
            file.write(f"#!/bin/sh\necho xdg-desktop-portal {version}\n")
        folder = os.path.join(self.world.home, "portal/dbus-1/services")
        os.makedirs(folder, exist_ok=True)
        with open(os.path.join(folder, "org.freedesktop.portal.Desktop.service"), "w", encoding="utf-8") as file:
            file.write(f"[D-BUS Service]\nName=org.freedesktop.portal.Desktop\nExec={program}\n")
        self.world.environment["XDG_DATA_DIRS"] = os.path.join(self.world.home, "portal")

    def portals_conf(self, text=None, name="portals.conf"):
        path = os.path.join(self.world.home, "config/xdg-desktop-portal", name)
        if text is not None:
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
        if not os.path.exists(path):
            return None
        with open(path, encoding="utf-8") as file:
            return file.read()

    def test_the_portals_files_of_1_18(self):
        before = "[preferred]\ndefault=gtk\n"
        self.portal("1.18.4")
        written = os.path.join(self.world.home, "data/xdg-desktop-portal/portals/tokenkeep.portal")
        # Without a file of the user's none is made: it would hide the desktop's.
        self.assertIn("no portals.conf of yours names a backend", self.command("enable", code=4).stdout)
        self.assertEqual((self.portals_conf(), os.path.exists(written)), (None, False))
        self.portals_conf(before)
        self.assertIn("portals.conf names the provider\n", self.command("enable", code=4).stdout)
        self.assertEqual(self.portals_conf(), "[preferred]\norg.freedesktop.impl.portal.Secret=tokenkeep\ndefault=gtk\n")
        with open(written, encoding="utf-8") as file:
            self.assertEqual(file.read(), "[portal]\nDBusName=org.freedesktop.secrets\n"
                             "Interfaces=org.freedesktop.impl.portal.Secret\n")
        self.command("enable", code=4)
        self.command("disable")
        self.assertEqual((self.portals_conf(), os.path.exists(written)), (before, False))

    def test_the_portals_file_of_the_desktop_comes_first(self):
        self.portal("1.20.0")
        self.portals_conf("[preferred]\n", "sway-portals.conf")
        self.portals_conf("[preferred]\n")
        self.command("enable", code=4, environment={"XDG_CURRENT_DESKTOP": "Sway:wlroots"})
        self.assertEqual(self.portals_conf(), "[preferred]\n")
        self.assertIn("Secret=tokenkeep", self.portals_conf(name="sway-portals.conf"))

    def test_the_line_goes_from_the_files_of_every_desktop(self):
        self.portal("1.20.0")
        self.portals_conf("[preferred]\n", "sway-portals.conf")
        self.command("enable", code=4, environment={"XDG_CURRENT_DESKTOP": "Sway"})
        self.portals_conf("[preferred]\norg.freedesktop.impl.portal.Secret = tokenkeep \n", "gnome-portals.conf")
        self.portals_conf("org.freedesktop.impl.portal.Secret=tokenkeep\n", "notes")
        self.command("disable", environment={"XDG_CURRENT_DESKTOP": "KDE"})
        self.assertEqual([self.portals_conf(name=f"{name}-portals.conf") for name in ("sway", "gnome")], ["[preferred]\n"] * 2)
        self.assertIn("Secret=tokenkeep", self.portals_conf(name="notes"))

    def test_a_file_that_cannot_be_rewritten_stays(self):
        self.portal("1.18.0")
        path = os.path.join(self.world.home, "config/xdg-desktop-portal/portals.conf")
        self.portals_conf("")
        for content in (b"#" * 70000, b"[preferred]\n# \xff\n"):
            with open(path, "wb") as file:
                file.write(content)
            self.assertIn("portals.conf is too long or no text in UTF-8, and stays as it is", self.command("enable", code=4).stdout)
            with open(path, "rb") as file:
                self.assertEqual(file.read(), content)

    def test_another_backend_for_secrets_stays(self):
        self.portal("1.18.0")
        for equals in ("=", " = "):
            before = self.portals_conf(f"[preferred]\norg.freedesktop.impl.portal.Secret{equals}oo7-portal\n")
            self.assertIn("names another backend for secrets, which stays", self.command("enable", code=4).stdout)
            self.assertEqual(self.portals_conf(), before)

    def test_a_portal_before_1_18_gets_no_file(self):
        self.portal("1.16.0")
        before = self.portals_conf("[preferred]\ndefault=gtk\n")
        self.command("enable", code=4)
        self.assertEqual(self.portals_conf(), before)
        self.assertFalse(os.path.exists(os.path.join(self.world.home, "data/xdg-desktop-portal")))

    def other(self, program="/usr/bin/other-keyring"):
        folder = os.path.join(self.world.home, "system/dbus-1/services")
        os.makedirs(folder)
        with open(os.path.join(folder, os.path.basename(self.path)), "w", encoding="utf-8") as file:
            file.write(f"[D-BUS Service]\nName=org.freedesktop.secrets\nExec={program}\n")
        self.world.environment["XDG_DATA_DIRS"] = os.path.join(self.world.home, "system")

    def test_enable_leaves_another_keyrings_place_alone(self):
        self.other()
        self.assertIn("another keyring is here: the file ", self.command("enable", code=5).stderr)
        self.assertFalse(os.path.exists(self.path))
        self.command("enable", "--replace", code=4)
        self.assertTrue(os.path.exists(self.path))
        # It was replaced on purpose: the provider serves.
        self.world.provider()

    def test_a_keyring_that_has_a_unit_alone_is_left_alone(self):
        """oo7 has a unit with the name, and no activation file."""
        folder = os.path.join(self.world.home, ".config/systemd/user")
        os.makedirs(folder)
        with open(os.path.join(folder, "oo7-daemon.service"), "w", encoding="utf-8") as file:
            file.write("[Service]\nType=dbus\nBusName=org.freedesktop.secrets\nExecStart=/usr/libexec/oo7-daemon\n")
        self.assertIn(f"another keyring is here: the unit {folder}/oo7-daemon.service", self.command("enable", code=5).stderr)
        self.assertFalse(os.path.exists(self.path))

    def test_a_keyring_that_is_installed_later_is_started_instead(self):
        self.portal("1.18.4")
        self.portals_conf("[preferred]\n")
        self.command("enable", code=4)
        self.assertIn("Secret=tokenkeep", self.portals_conf())
        program = os.path.join(self.world.home, "other-keyring")
        with open(program, "w", encoding="utf-8", opener=lambda p, f: os.open(p, f, 0o755)) as file:
            file.write("#!/bin/sh\necho the other keyring >&2\n")
        self.other(program)
        self.assertEqual(self.world.provider(waits=False).wait(PATIENCE), 0)
        self.assertIn("another keyring was installed", self.world.logged())
        self.assertIn("the other keyring", self.world.logged())
        self.assertFalse(os.path.exists(self.path))
        self.assertEqual(self.portals_conf(), "[preferred]\n")
        self.assertFalse(os.path.exists(os.path.join(self.world.home, "data/xdg-desktop-portal/portals/tokenkeep.portal")))


def is_running(process):
    try:
        with open(f"/proc/{process}/stat", encoding="utf-8") as file:
            return file.read().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


if __name__ == "__main__":
    unittest.main()
