"""Real lockers, run by `tokenkeep lock --screen`, in a session of the machine: a wrong password, the right one, a kill."""

import contextlib, signal

from machine import PASSWORD, PATIENCE, Failure, Session, Waited, case, check, wait_until
from sessions import SECRET, SERVICE, both, load

LOCK = ("tokenkeep", "lock", "--screen", "--")


def type_in_x(run, text):
    check(run("xdotool", "type", "--delay", "20", text).returncode == 0, "xdotool")
    check(run("xdotool", "key", "Return").returncode == 0, "xdotool")


class XDesktop:
    """A session with an X server without a screen."""

    kind, display = "x11", ":7"
    environment = {"DISPLAY": display}

    def __init__(self, machine):
        self.machine = machine
        self.session = Session(machine, SERVICE, kind=self.kind, desktop=type(self).__name__)
        self.processes = []
        self.begin()

    def begin(self):
        self.start("Xvfb", self.display, "-screen", "0", "800x600x24")
        wait_until(lambda: self.run("xdpyinfo").returncode == 0, "the X server")

    def type(self, text):
        type_in_x(self.run, text)

    def start(self, *words):
        process = self.session.start(*words, environment=self.environment)
        self.processes.append(process)
        return process

    def run(self, *words):
        return self.session.run(*words, environment=self.environment)

    def close(self):
        self.session.terminate()
        for process in self.processes:
            process.wait()


class SwayDesktop(XDesktop):
    """A session with sway, whose screen and keyboard are in memory."""

    kind = "wayland"
    environment = {"WLR_BACKENDS": "headless", "WLR_RENDERER": "pixman", "WLR_LIBINPUT_NO_DEVICES": "1",
                   "WAYLAND_DISPLAY": "wayland-1"}
    configuration = "output HEADLESS-1 resolution 640x480\n"

    def begin(self):
        self.machine.write("/etc/tokenkeep-test-sway", self.configuration)
        environment = {name: value for name, value in self.environment.items() if name != "WAYLAND_DISPLAY"}
        self.processes.append(self.session.start("sway", "--config", "/etc/tokenkeep-test-sway", environment=environment))
        socket = f"/run/user/{self.machine.uid}/wayland-1"
        wait_until(lambda: self.machine.run("test", "-S", socket).returncode == 0, "sway's socket")

    def type(self, text):
        check(self.run("wtype", "-d", "20", text, "-k", "Return").returncode == 0, "wtype")


@contextlib.contextmanager
def desktop_of(kind, machine):
    desktop = kind(machine)
    try:
        check(both(machine) == (SECRET, SECRET), f"{both(machine)}")
        yield desktop
    finally:
        desktop.close()


def wait_for_lock(desktop):
    wait_until(desktop.session.is_locked, "the hint")
    wait_until(lambda: not desktop.machine.keys(1), "the end of the keys")
    check(both(desktop.machine) == (SECRET, 3), f"{both(desktop.machine)}")


def refusals(machine):
    """The number of passwords that pam_unix has refused."""
    return machine.run("journalctl", "--quiet", "--no-pager").stdout.count(b"authentication failure")


def type_until(type_text, text, condition, what):
    """Types a password until a program, which may not have its keyboard yet, has taken it."""
    for _ in range(PATIENCE // 6):
        type_text(text)
        with contextlib.suppress(Waited):
            return wait_until(condition, what, patience=6)
    raise Failure(f"{what} did not come")


def lock_and_unlock(desktop, words):
    """Runs a locker: a wrong password leaves all locked, the right one opens the screen and the level."""
    machine = desktop.machine
    locker = desktop.start(*LOCK, *words)
    wait_for_lock(desktop)
    before = refusals(machine)
    type_until(desktop.type, "mistyped", lambda: refusals(machine) > before, "the refusal of a wrong password")
    check(locker.poll() is None and desktop.session.is_locked(), "a wrong password opened the screen")
    check(both(machine) == (SECRET, 3), f"{both(machine)}")
    type_until(desktop.type, PASSWORD, lambda: locker.poll() is not None, "the end of the locker")
    check(locker.returncode == 0, f"{locker.returncode}")
    check(not desktop.session.is_locked(), "the hint stays")
    wait_until(lambda: load(machine, "when-unlocked") == SECRET, "level 1")


def lock_and_kill(desktop, words):
    """A locker that is killed leaves all locked."""
    locker = desktop.start(*LOCK, *words)
    wait_for_lock(desktop)
    wait_until(lambda: desktop.machine.run("pkill", "--uid", desktop.machine.user, "--signal", "KILL", "--exact",
                                           words[0]).returncode == 0, words[0])
    wait_until(lambda: locker.poll() is not None, "the end of the wrapper")
    check(locker.returncode == 128 + signal.SIGKILL, f"{locker.returncode}")
    check(desktop.session.is_locked() and both(desktop.machine) == (SECRET, 3), f"{both(desktop.machine)}")


@case
def xsecurelock_opens_level_1_with_the_screen(machine):
    with desktop_of(XDesktop, machine) as desktop:
        lock_and_unlock(desktop, ["xsecurelock"])
        lock_and_kill(desktop, ["xsecurelock"])


@case
def i3lock_opens_level_1_with_the_screen(machine):
    with desktop_of(XDesktop, machine) as desktop:
        lock_and_unlock(desktop, ["i3lock", "-n"])
        lock_and_kill(desktop, ["i3lock", "-n"])


@case
def swaylock_opens_level_1_with_the_screen(machine):
    with desktop_of(SwayDesktop, machine) as desktop:
        lock_and_unlock(desktop, ["swaylock"])
        lock_and_kill(desktop, ["swaylock"])


def trial(desktop):
    """Locks the screen by `agent test-lock`, and opens it by the password."""
    ran = desktop.run("tokenkeep", "agent", "test-lock")
    check(ran.returncode == 0 and b"LockedHint" in ran.stdout, f"{ran}")
    wait_for_lock(desktop)
    type_until(desktop.type, PASSWORD, lambda: not desktop.session.is_locked(), "the end of the lock")
    wait_until(lambda: load(desktop.machine, "when-unlocked") == SECRET, "level 1")
    status = desktop.run("tokenkeep", "agent", "status").stdout.decode()
    check("proved: yes" in status, status)


@case
def the_line_of_swayidle_is_seen_by_test_lock(machine):
    with desktop_of(SwayDesktop, machine) as desktop:
        desktop.start("swayidle", "-w", "lock", "tokenkeep lock --screen -- swaylock")
        wait_until(lambda: desktop.run("pidof", "swayidle").returncode == 0, "swayidle")
        trial(desktop)


@case
def the_line_of_xss_lock_is_seen_by_test_lock(machine):
    with desktop_of(XDesktop, machine) as desktop:
        desktop.start("xss-lock", "--", "tokenkeep", "lock", "--screen", "--", "i3lock", "-n")
        wait_until(lambda: desktop.run("pidof", "xss-lock").returncode == 0, "xss-lock")
        trial(desktop)
