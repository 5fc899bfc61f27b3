#!/usr/bin/env python3
"""Signs a user in on a machine with systemd, and ends the session in every way. Usage: sessions.py BUILD [NAME…]

BUILD is what `cmake --install` installs. NAMEs choose cases."""

import contextlib, json, os, pathlib, pty, select, signal, sys

from machine import HERE, LOGIN, PASSWORD, PATIENCE, Failure, Machine, Session, Skipped, case, check, run, run_cases, \
    wait_until

VAULT = ("--stack", "any required vault")
SERVICE = "tokenkeep-test"
SECRET = "a token"


def quick_start():
    """The commands of docs/login.md for Debian."""
    text = (HERE.parent.parent / "docs/login.md").read_text().split("## On Debian\n\n")[1].split("\n\n")[0]
    return [line.split("  #")[0].strip() for line in text.splitlines()]


def set_up(machine):
    """The commands of docs/login.md, as a newcomer types them. The machine is one where the first has run."""
    machine.compile(LOGIN / "host.c", "-lpam", "-lpthread")
    install, *commands, password, status = quick_start()
    check(install == "make library PREFIX=/usr && sudo make install PREFIX=/usr" and password == "tokenkeep password set"
          and status == "tokenkeep login status", f"{quick_start()}")
    for command in commands:
        check(command.startswith("sudo "), command)
        machine.must(*command.split()[1:], environment={"DEBIAN_FRONTEND": "noninteractive"})
    machine.write(f"/etc/pam.d/{SERVICE}", "".join(
        f"@include common-{kind}\n" for kind in ("auth", "account", "session", "password")))
    session = Session(machine, SERVICE)
    output, code = converse(
        machine.inside("setpriv", "--reuid", machine.uid, "--regid", machine.gid, "--init-groups", *password.split(),
                       service="pty", environment=machine.user_environment()),
        [("password of", PASSWORD), ("once more:", PASSWORD)])
    check(code == 0, f"{output} {code}")
    for level in ("after-first-unlock", "when-unlocked"):
        saved = machine.tokenkeep("save", "example.com", level, "--level", level, *VAULT, input=SECRET.encode())
        check(saved.returncode == 0, saved.stderr.decode())
    end(machine, session)
    check(machine.keys() == [], f"the first session left keys: {machine.keys()}")


def end(machine, session):
    session.close()
    wait_until(machine.manager_is_gone, "the end of the user's manager")


def load(machine, level):
    """The secret, or the exit code."""
    loaded = machine.tokenkeep("load", "example.com", level, *VAULT)
    return loaded.stdout.decode() if loaded.returncode == 0 else loaded.returncode


def both(machine):
    return load(machine, "after-first-unlock"), load(machine, "when-unlocked")


def converse(words, answers):
    """Runs a program on a terminal, and gives each answer when its question is there. Returns its output and exit code."""
    process, terminal = pty.fork()
    if process == 0:
        os.execvp(words[0], words)
    output = b""
    while True:
        ready, _, _ = select.select([terminal], [], [], PATIENCE)
        check(ready, f"{words} waits for ever: {output!r}")
        try:
            output += os.read(terminal, 4096)
        except OSError:
            break
        if answers and answers[0][0].encode() in output.rsplit(b"\n", 1)[-1]:
            os.write(terminal, answers.pop(0)[1].encode() + b"\n")
            output += b"\n"
    os.close(terminal)
    return output.decode(errors="replace"), os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])


def screen_axis(machine):
    levels = json.loads(machine.must("tokenkeep", "protection", "--json", *VAULT, as_user=True))["levels"]
    return next(row for row in levels if row["level"] == "when-unlocked")["axes"]["screen-lock"]["strength"]


def set_hint(machine, is_locked):
    session = machine.must("loginctl", "show-user", machine.user, "--property=Display", "--value").strip()
    check(session, "there is no graphical session")
    machine.must("busctl", "call", "org.freedesktop.login1", f"/org/freedesktop/login1/session/{session}",
                 "org.freedesktop.login1.Session", "SetLockedHint", "b", str(is_locked).lower(), as_user=True)


@case
def a_login_opens_both_levels_and_its_end_purges_the_keys(machine):
    session = Session(machine, SERVICE)
    check(both(machine) == (SECRET, SECRET), f"{both(machine)} {machine.must('cat', vault_file(machine, 'login'))}")
    check((2, "perm", 32) in machine.keys(), f"{machine.keys()}")
    check(machine.is_active("tokenkeep-agent.service"), "the agent's socket did not start it")
    wait_until(lambda: machine.is_active("tokenkeep-unlocked.target"), "tokenkeep-unlocked.target")
    check(machine.is_active("tokenkeep-session.service"), "nothing locks the vault at the end")
    status = machine.must("tokenkeep", "login", "status", as_user=True)
    check("vault: unlocked" in status and "opened the vault" in status, status)
    end(machine, session)
    check(machine.keys() == [], f"{machine.keys()}")


@case
def login_on_a_terminal_is_such_a_login(machine):
    machine.write(f"/home/{machine.user}/.profile",
                  "tokenkeep load example.com when-unlocked --stack 'any required vault'\nexit\n")
    try:
        output, _ = converse(machine.inside("login", machine.user, service="pty"), [("assword:", PASSWORD)])
    finally:
        (machine.root / f"home/{machine.user}/.profile").unlink()
    check(SECRET in output, output)
    wait_until(machine.manager_is_gone, "the end of the user's manager")
    check(machine.keys() == [], f"{machine.keys()}")


@case
def a_second_session_keeps_the_vault_open(machine):
    first, second = Session(machine, SERVICE), Session(machine, SERVICE)
    first.close()
    check(load(machine, "after-first-unlock") == SECRET, "locked with the first of two sessions")
    end(machine, second)
    check(machine.keys() == [], f"{machine.keys()}")


@case
def a_killed_manager_leaves_no_key(machine):
    session = Session(machine, SERVICE)
    check(both(machine) == (SECRET, SECRET), f"{both(machine)}")
    machine.must("systemctl", "kill", "--signal=KILL", "--kill-who=all", f"user@{machine.uid}.service")
    wait_until(lambda: not machine.keys(1), "the end of the agent's keys")
    end(machine, session)
    check(machine.keys() == [], f"{machine.keys()}")


@case
def lingering_keeps_level_2_alone(machine):
    machine.must("loginctl", "enable-linger", machine.user)
    session = Session(machine, SERVICE)
    session.close()
    wait_until(lambda: machine.must("loginctl", "show-user", machine.user, "--property=Sessions", "--value").strip() == "",
               "the end of the session")
    check(load(machine, "after-first-unlock") == SECRET, "lingering does not keep level 2")
    # Without a graphical session the kernel ends the key of level 1.
    check(all(time != "perm" for _, time, _ in machine.keys(1)), f"{machine.keys()}")
    machine.must("loginctl", "disable-linger", machine.user)
    wait_until(machine.manager_is_gone, "the end of the user's manager")
    check(machine.keys() == [], f"{machine.keys()}")


@case
def the_lock_of_the_screen_ends_level_1(machine):
    session = Session(machine, SERVICE, kind="wayland", desktop="test")
    check(screen_axis(machine) == "advisory", "enforced before the lock was seen")
    set_hint(machine, True)
    wait_until(lambda: not machine.keys(1), "the end of the keys")
    check(both(machine) == (SECRET, 3), f"{both(machine)}")
    set_hint(machine, False)
    # A locker asks PAM, which unlocks.
    machine.must("tokenkeep", "unlock", "--stdin", as_user=True, input=PASSWORD.encode() + b"\n")
    check(both(machine) == (SECRET, SECRET) and screen_axis(machine) == "enforced", f"{both(machine)} {screen_axis(machine)}")
    machine.must("systemctl", "--user", "kill", "--signal=KILL", "tokenkeep-agent.service", as_user=True)
    wait_until(lambda: not machine.keys(1), "the end of the keys")
    check(load(machine, "when-unlocked") == 3, "open after the agent was killed")
    end(machine, session)
    check(machine.keys() == [], f"{machine.keys()}")


@contextlib.contextmanager
def memory_group(bytes):
    """A control group whose processes may have so much memory: its directory, and the file that counts the kernel's kills."""
    unified, legacy = pathlib.Path("/sys/fs/cgroup"), pathlib.Path("/sys/fs/cgroup/memory")
    if (unified / "cgroup.controllers").exists() and "memory" in (unified / "cgroup.subtree_control").read_text():
        group, limit, events = unified, "memory.max", "memory.events"
    elif (legacy / "memory.limit_in_bytes").exists():
        group, limit, events = legacy, "memory.limit_in_bytes", "memory.oom_control"
    else:
        raise Skipped("no control groups of memory")
    group /= f"tokenkeep-test-{os.getpid()}"
    group.mkdir()
    try:
        (group / limit).write_text(str(bytes))
        yield group, group / events
    finally:
        for process in (group / "cgroup.procs").read_text().split():
            os.kill(int(process), signal.SIGKILL)
        wait_until(lambda: not (group / "cgroup.procs").read_text(), "the end of the group's processes")
        group.rmdir()


# Two processes that take more memory than the group has, each less than would make it the kernel's first choice.
TWO_EATERS = """
import os, signal
ready, done = os.pipe()
child = os.fork()
if child == 0:
    eaten = bytearray(20 << 20)
    os.write(done, b"x")
    signal.pause()
os.read(ready, 1)
eaten = bytearray(20 << 20)
os.kill(child, signal.SIGKILL)
"""


def agent_of(machine):
    """The number of the agent's process, as this machine counts."""
    for entry in pathlib.Path("/proc").iterdir():
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            if entry.name.isdigit() and entry.stat().st_uid == machine.uid and \
                    (entry / "cmdline").read_bytes().startswith(b"/usr/libexec/tokenkeep/tokenkeep-agent"):
                return entry.name
    raise Failure("no agent runs")


@case
def an_agent_that_the_kernel_kills_for_memory_leaves_no_key(machine):
    session = Session(machine, SERVICE, kind="wayland", desktop="test")
    wait_until(lambda: machine.keys(1), "the key")
    agent = pathlib.Path("/proc") / agent_of(machine)
    with memory_group(32 << 20) as (group, events):
        (group / "cgroup.procs").write_text(agent.name)
        (agent / "oom_score_adj").write_text("1000")
        run("sh", "-c", f"echo $$ > {group}/cgroup.procs; exec python3 -c \"$0\"", TWO_EATERS)
        check("oom_kill 0" not in events.read_text(), events.read_text())
    wait_until(lambda: not agent.exists(), "the end of the agent by the kernel")
    wait_until(lambda: not machine.keys(1), "the end of the keys")
    check(load(machine, "when-unlocked") == 3, "open without the agent")
    end(machine, session)


@case
def a_change_of_the_password_is_followed(machine):
    session = Session(machine, SERVICE)
    new = "a wholly other 1"
    try:
        output, code = converse(
            machine.inside("setpriv", "--reuid", machine.uid, "--regid", machine.gid, "--init-groups", "passwd", service="pty"),
            [("urrent", PASSWORD), ("ew password:", new), ("new password:", new)])
        check(code == 0 and "TokenKeep" not in output, f"{output} {code}")
        end(machine, session)
        session = Session(machine, SERVICE, password=new)
        check(both(machine) == (SECRET, SECRET), f"{both(machine)}")
        machine.must("tokenkeep", "password", "change", "--stdin", as_user=True, input=f"{new}\n{PASSWORD}\n".encode())
    finally:
        machine.set_login_password(PASSWORD)
        end(machine, session)
    session = Session(machine, SERVICE)
    check(both(machine) == (SECRET, SECRET), f"{both(machine)}")
    end(machine, session)


@case
def the_preset_enables_the_units_of_a_login_alone(machine):
    units = ["tokenkeep-agent.socket", "tokenkeep-session.service", "tokenkeep-keep.service", "tokenkeep-ssh-add.service",
             "tokenkeep-sync.service"]
    machine.must("systemctl", "--global", "preset", *units)
    states = machine.run("systemctl", "--global", "is-enabled", *units).stdout.decode().split()
    check(states == ["enabled", "enabled", "disabled", "disabled", "disabled"], f"{states}")


@contextlib.contextmanager
def keyring(machine):
    """A gnome-keyring with an open collection on the user's bus."""
    machine.must("systemd-run", "--user", "--quiet", "--collect", "--unit=test-keyring", "sh", "-c",
                 f"printf %s '{PASSWORD}' | exec gnome-keyring-daemon --unlock --components=secrets --foreground", as_user=True)
    owner = lambda: machine.as_user("busctl", "--user", "status", "org.freedesktop.secrets").returncode == 0
    wait_until(owner, "the keyring")
    yield
    machine.must("systemctl", "--user", "stop", "test-keyring.service", as_user=True)
    wait_until(lambda: not owner(), "the end of the keyring")


def save(machine, secret):
    """Saves by the default stack: in the keyring and in the vault."""
    saved = machine.tokenkeep("save", "example.org", "ann", input=secret.encode())
    check(saved.returncode == 0, saved.stderr.decode())


def kept_by_the_keyring(machine):
    return machine.as_user("secret-tool", "lookup", "service", "example.org", "username", "ann").stdout.decode()


def runs_of_sync(machine):
    return machine.must("systemctl", "--user", "show", "tokenkeep-sync.service", "--property=InvocationID,ActiveState", as_user=True)


@case
def an_unlock_drains_what_the_keyring_missed_though_the_target_is_active(machine):
    if run("sh", "-c", "command -v gnome-keyring-daemon && command -v secret-tool").returncode != 0:
        raise Skipped("gnome-keyring and secret-tool are not installed")
    # Nothing but the case starts a keyring.
    (machine.root / "usr/share/dbus-1/services/org.freedesktop.secrets.service").unlink(missing_ok=True)
    machine.must("systemctl", "--global", "mask", "gnome-keyring-daemon.socket", "gnome-keyring-daemon.service")
    session = Session(machine, SERVICE)
    wait_until(lambda: machine.is_active("tokenkeep-unlocked.target"), "tokenkeep-unlocked.target")
    before = wait_until(lambda: (runs := runs_of_sync(machine)).count("ActiveState=inactive") and runs, "the first sync")
    with keyring(machine):
        # The agent has it drained once in five minutes.
        wait_until(lambda: runs_of_sync(machine) != before, "the sync for the keyring that appeared")
        save(machine, "before")
        check(kept_by_the_keyring(machine) == "before", "the keyring did not get the first save")
    save(machine, "after")
    second = Session(machine, SERVICE)
    with keyring(machine):
        status = machine.must("tokenkeep", "status", as_user=True)
        check("pending" in status, status)
        machine.must("tokenkeep", "unlock", "--stdin", as_user=True, input=PASSWORD.encode() + b"\n")
        wait_until(lambda: kept_by_the_keyring(machine) == "after", "the drained change")
    second.close()
    end(machine, session)


def vault_file(machine, name):
    return f"/home/{machine.user}/.local/share/tokenkeep/{name}"


def main():
    build, *names = sys.argv[1:]
    cases = [(name, body) for name, body in globals().items() if getattr(body, "is_case", False)]
    return run_cases("systemd", cases, names, lambda: Machine(build), set_up)


if __name__ == "__main__":
    sys.exit(main())
