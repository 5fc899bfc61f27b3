"""A machine for tests: systemd boots, by systemd-nspawn, an overlay of this machine's root in which TokenKeep is installed.

Nothing is written to this machine's files: they are the lower layer, and a mount namespace of the tests has the overlay. The
kernel's keys are shared, so the machine's user has a uid of its own."""

import os, pathlib, pwd, shutil, subprocess, sys, tempfile

PASSWORD = "correct horse"
HERE = pathlib.Path(__file__).resolve().parent
LOGIN = HERE.parent / "Login"
sys.path.insert(0, str(LOGIN))
from world import (  # noqa: E402
    PATIENCE, Failure, Waited, Skipped, case, check, class_keys, die_on_signals, enter_own_namespace, play, run, wait_until)

# The machine starts what a login needs alone.
TARGET = """[Unit]
Requires=sysinit.target dbus.socket systemd-logind.service systemd-user-sessions.service
After=sysinit.target dbus.socket systemd-logind.service systemd-user-sessions.service
"""


def run_cases(what, cases, names, make, set_up):
    """Runs the cases, or those of the names, on one machine. Returns the exit code of the program."""
    if os.geteuid() != 0:
        print(f"skip {what} (needs root)\n0 passed, 0 failed, 1 skipped")
        return 0
    enter_own_namespace()
    die_on_signals()
    try:
        machine = make()
    except Skipped as reason:
        print(f"skip {what} ({reason})\n0 passed, 0 failed, 1 skipped")
        return 0
    try:
        set_up(machine)
        return play(cases, names, lambda body: body(machine), machine.end_all)
    finally:
        machine.close()


class Machine:
    def __init__(self, build, layer=None):
        """build: the directory that `cmake --install` installs. layer: a directory with further files."""
        for program in ("systemd-nspawn", "unshare", "nsenter"):
            if shutil.which(program) is None:
                raise Skipped(f"{program} is not installed")
        self.base = pathlib.Path(tempfile.mkdtemp(prefix="tokenkeep-machine."))
        self.nspawn = self.leader = None
        try:
            self.mount(layer)
            self.install(build)
            self.user = "tkm-test"
            self.uid = self.gid = next(uid for uid in range(50000 + os.getpid() % 9000, 60000) if self.is_free(uid))
            self.boot()
            self.make_user()
        except BaseException:
            self.close()
            raise

    @staticmethod
    def is_free(uid):
        try:
            pwd.getpwuid(uid)
            return False
        except KeyError:
            return True

    # The files.

    def mount(self, layer):
        # An upper layer of an overlay cannot lie on an overlay, as a container's root may be.
        run("mount", "-t", "tmpfs", "tokenkeep-test", self.base)
        self.base.chmod(0o755)
        self.root = self.base / "root"
        for name in ("upper", "work", "root"):
            (self.base / name).mkdir()
        lower = "/"
        if layer is not None:
            # Two lower layers of which one lies in the other are refused; nothing is written to this one.
            lower = self.base / "lower"
            lower.mkdir()
            self.overlay("/", layer, pathlib.Path(layer).parent / "work", lower)
        self.overlay(lower, self.base / "upper", self.base / "work", self.root)

    @staticmethod
    def overlay(lower, upper, work, place):
        mounted = run("mount", "-t", "overlay", "overlay", "-o", f"lowerdir={lower},upperdir={upper},workdir={work}", place)
        if mounted.returncode != 0:
            raise Skipped(f"no overlay of {lower}: {mounted.stderr.decode().strip()}")

    def install(self, build):
        installed = run("cmake", "--install", build, "--prefix", "/usr", env=dict(os.environ, DESTDIR=str(self.root)))
        check(installed.returncode == 0, installed.stderr.decode())
        self.write("/etc/systemd/system/tokenkeep-test.target", TARGET)
        # A user's manager ends with his last session, not ten seconds later.
        self.write("/etc/systemd/logind.conf.d/test.conf", "[Login]\nUserStopDelaySec=0\n")

    def write(self, path, text):
        file = self.root / path.lstrip("/")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)

    def compile(self, source, *libraries):
        made = run("cc", "-Wall", "-Wextra", "-Werror", "-O1", "-o", self.root / "usr/local/bin" / pathlib.Path(source).stem,
                   source, *libraries)
        check(made.returncode == 0, made.stderr.decode())

    # The processes.

    def boot(self):
        log = open(self.base / "log", "wb")
        self.nspawn = subprocess.Popen(
            ["setpriv", "--pdeathsig", "KILL", "systemd-nspawn", "--quiet", "--directory", str(self.root), "--boot",
             "--register=no", "--keep-unit", "--link-journal=no", "--private-network", "--console=pipe", "--machine=tokenkeep-test",
             "--system-call-filter=add_key keyctl request_key @memlock", "systemd.unit=tokenkeep-test.target"],
            stdin=subprocess.DEVNULL, stdout=log, stderr=log,
            env=dict(os.environ, SYSTEMD_NSPAWN_UNIFIED_HIERARCHY="1"))
        try:
            wait_until(self.has_booted, "systemd")
        except Failure as failure:
            raise Skipped(f"{failure}: {(self.base / 'log').read_text(errors='replace').strip()[-300:]}") from failure

    def has_booted(self):
        check(self.nspawn.poll() is None, "systemd-nspawn ended")
        children = pathlib.Path(f"/proc/{self.nspawn.pid}/task/{self.nspawn.pid}/children").read_text().split()
        if not children:
            return False
        self.leader = int(children[0])
        return self.run("systemctl", "is-active", "tokenkeep-test.target").returncode == 0

    def inside(self, *words, service=False, environment=None):
        """The command that runs words in the machine, as root; in a service of its own if it shall sign in."""
        entering = ["nsenter", "--target", str(self.leader), "--mount", "--uts", "--ipc", "--net", "--pid", "--root", "--wd=/"]
        variables = {"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "TERM": "dumb", **(environment or {})}
        if service:
            settings = [f"--setenv={name}={value}" for name, value in variables.items()]
            kind = "--pty" if service == "pty" else "--pipe"
            words = ["systemd-run", "--quiet", "--collect", "--wait", kind, *settings, "--", *words]
        return [*entering, "env", "-i", *[f"{name}={value}" for name, value in variables.items()], *[str(word) for word in words]]

    def run(self, *words, **options):
        inside = {name: options.pop(name) for name in ("service", "environment") if name in options}
        return run(*self.inside(*words, **inside), **options)

    def as_user(self, *words, environment=None, **options):
        return self.run("setpriv", "--reuid", self.uid, "--regid", self.gid, "--init-groups", "--", *words,
                        environment={**self.user_environment(), **(environment or {})}, **options)

    def user_environment(self):
        runtime = f"/run/user/{self.uid}"
        return {"HOME": f"/home/{self.user}", "USER": self.user, "LOGNAME": self.user, "XDG_RUNTIME_DIR": runtime,
                "DBUS_SESSION_BUS_ADDRESS": f"unix:path={runtime}/bus"}

    def must(self, *words, as_user=False, **options):
        ran = (self.as_user if as_user else self.run)(*words, **options)
        check(ran.returncode == 0, f"{' '.join(str(word) for word in words)}: {ran.stdout.decode()}{ran.stderr.decode()}")
        return ran.stdout.decode()

    def tokenkeep(self, *words, **options):
        return self.as_user("tokenkeep", *words, **options)

    # The user.

    def make_user(self):
        self.must("groupadd", "--gid", self.gid, self.user)
        self.must("useradd", "--uid", self.uid, "--gid", self.gid, "--create-home", "--shell", "/bin/sh", self.user)
        self.set_login_password(PASSWORD)

    def set_login_password(self, password):
        hashed = run("openssl", "passwd", "-6", "-stdin", input=password.encode() + b"\n").stdout.decode().strip()
        self.must("usermod", "-p", hashed, self.user)

    def keys(self, purpose=None):
        """The user's class keys, and the pointers to them, that the kernel has. With a purpose: its keys alone."""
        found = run("setpriv", "--reuid", self.uid, "--regid", self.gid, "--clear-groups", "cat", "/proc/keys").stdout.decode()
        return [key for key in class_keys(found) if purpose is None or (key[0] == purpose and key[2] == 32)]

    def is_active(self, unit):
        return self.as_user("systemctl", "--user", "is-active", unit).stdout.decode().strip() == "active"

    def manager_is_gone(self):
        return self.run("systemctl", "is-active", f"user-runtime-dir@{self.uid}.service").stdout.decode().strip() == "inactive"

    def end_all(self):
        """Ends what a case that failed has left."""
        self.run("loginctl", "disable-linger", self.user)
        self.run("loginctl", "terminate-user", self.user)
        wait_until(self.manager_is_gone, "the end of the user's manager")
        self.tokenkeep("login", "purge")

    def close(self):
        if self.nspawn is not None:
            if self.leader is not None:
                self.tokenkeep("login", "purge")
            self.nspawn.kill()
            self.nspawn.wait()
        # With what lies below.
        run("umount", "--recursive", "--lazy", self.base)
        self.base.rmdir()


def make_layer(packages):
    """Makes, once, a directory with the files of packages over those of this machine, by the machine's apt.

    /var/cache/tokenkeep-machine. Remove the directory to have it made anew."""
    directory = pathlib.Path(os.environ.get("XDG_CACHE_HOME", "/var/cache")) / "tokenkeep-machine"
    stamp = directory / "packages"
    if stamp.exists() and stamp.read_text() == packages:
        return directory / "layer"
    shutil.rmtree(directory, ignore_errors=True)
    for name in ("layer", "work", "root"):
        (directory / name).mkdir(parents=True)
    Machine.overlay("/", directory / "layer", directory / "work", directory / "root")
    script = "export DEBIAN_FRONTEND=noninteractive; apt-get update -qq && " \
        f"apt-get install -y -qq --no-install-recommends {packages}"
    made = run("systemd-nspawn", "--quiet", "--directory", directory / "root", "--register=no", "--keep-unit", "--console=pipe",
               "sh", "-c", script, timeout=3 * PATIENCE)
    run("umount", directory / "root")
    if made.returncode != 0:
        raise Skipped(f"apt: {made.stdout.decode()[-500:]}")
    stamp.write_text(packages)
    return directory / "layer"


class Session:
    """A session of the machine's user, signed in through PAM by a program that keeps it open."""

    def __init__(self, machine, service="login", password=PASSWORD, kind=None, desktop="test"):
        environment = {} if kind is None else {"XDG_SESSION_TYPE": kind, "XDG_SESSION_DESKTOP": desktop}
        words = ["host", service, machine.user, password.encode().hex(), "--", "auth", "account", "setcred", "session", "wait",
                 "close"]
        self.process = subprocess.Popen(machine.inside(*words, service=True, environment=environment), stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE)
        lines = []
        # The login's messages have lines of every kind.
        while (line := self.process.stdout.readline().decode()) and not line.startswith("session "):
            lines.append(line)
        check(line == "session 0\n", f"{lines} {line}")
        self.machine = machine
        self.name = machine.must("loginctl", "show-user", machine.user, "--property=Sessions", "--value").split()[-1]

    def inside(self, *words, environment=None):
        """The command that runs words as the user, in the session."""
        machine = self.machine
        variables = {**machine.user_environment(), "XDG_SESSION_ID": self.name, **(environment or {})}
        group = machine.must("systemctl", "show", "--property=ControlGroup", "--value", f"session-{self.name}.scope").strip()
        script = f"echo $$ > /sys/fs/cgroup{group}/cgroup.procs && exec \"$@\""
        return machine.inside("sh", "-c", script, "sh", "setpriv", "--reuid", machine.uid, "--regid", machine.gid,
                              "--init-groups", "--", *words, environment=variables)

    def start(self, *words, **options):
        with open(self.machine.base / "programs", "ab") as log:
            return subprocess.Popen(self.inside(*words, **options), stdin=subprocess.DEVNULL, stdout=log, stderr=log)

    def run(self, *words, **options):
        return run(*self.inside(*words, **options))

    def is_locked(self):
        """login1's LockedHint."""
        return self.machine.must("loginctl", "show-session", self.name, "--property=LockedHint", "--value").strip() == "yes"

    def close(self):
        self.process.communicate(b"\n", timeout=PATIENCE)

    def terminate(self):
        """Ends the session with all its programs."""
        self.machine.must("loginctl", "terminate-session", self.name)
        self.process.communicate(timeout=PATIENCE)
        wait_until(self.machine.manager_is_gone, "the end of the user's manager")
