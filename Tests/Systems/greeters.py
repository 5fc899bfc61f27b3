"""Display managers that sign the machine's user in: a mistyped password, the right one, the session and its end."""

import contextlib

from machine import HERE, PASSWORD, Waited, case, check, wait_until
from lockers import refusals, type_in_x, type_until
from sessions import SECRET

# The session that every display manager starts: it loads a token, and ends once it may.
SESSION = """#!/bin/sh
cd
tokenkeep load example.com when-unlocked --stack 'any required vault' > loaded.tmp 2>&1
mv loaded.tmp loaded
while [ ! -e end ]; do sleep 0.1; done
"""
# X servers are called with the number of a terminal and a seat, which Xvfb does not know.
SERVER = """#!/bin/sh
for word; do
    case $word in :*) display=$word ;; esac
    case $before in -auth) authority=$word ;; esac
    before=$word
done
exec Xvfb "$display" ${authority:+-auth "$authority"} -screen 0 1024x768x24 -nolisten tcp
"""


def program(machine, name, text):
    machine.write(f"/usr/local/bin/{name}", text)
    (machine.root / "usr/local/bin" / name).chmod(0o755)


@contextlib.contextmanager
def running(machine, unit):
    for name in ("loaded", "end"):
        (machine.root / f"home/{machine.user}/{name}").unlink(missing_ok=True)
    program(machine, "tokenkeep-test-session", SESSION)
    program(machine, "tokenkeep-test-server", SERVER)
    machine.must("systemctl", "start", unit)
    try:
        yield
    finally:
        machine.run("systemctl", "stop", unit)


def check_session(machine, service):
    """The session has the token, the service is noted, and the end of the session leaves no key."""
    home = machine.root / f"home/{machine.user}"
    wait_until((home / "loaded").exists, "the session")
    status = machine.must("tokenkeep", "login", "status", as_user=True)
    check((home / "loaded").read_text() == SECRET, f"{(home / 'loaded').read_text()} {status}")
    check(f"({service}, " in status and "opened the vault" in status, status)
    (home / "end").touch()
    wait_until(machine.manager_is_gone, "the end of the user's manager")
    check(machine.keys() == [], f"{machine.keys()}")


@case
def greetd_opens_the_vault(machine):
    machine.write("/etc/greetd/config.toml", "[terminal]\nvt = \"none\"\n\n[default_session]\nuser = \"_greetd\"\n"
                  f"command = \"python3 /usr/local/bin/greeter {machine.user} '{PASSWORD}'\"\n")
    program(machine, "greeter", (HERE / "greeter.py").read_text())
    with running(machine, "greetd.service"):
        check_session(machine, "greetd")


@case
def lightdm_opens_the_vault(machine):
    # The machine has no terminal for a server of lightdm's own.
    machine.write("/etc/lightdm/lightdm.conf", "[LightDM]\nlogind-check-graphical=false\n[Seat:seat0]\ntype=xremote\n"
                  "xserver-hostname=127.0.0.1\nxserver-display-number=9\ngreeter-session=lightdm-gtk-greeter\n"
                  "user-session=tokenkeep-test\nsession-wrapper=/usr/bin/env\n")
    machine.write("/usr/share/xsessions/tokenkeep-test.desktop",
                  "[Desktop Entry]\nName=test\nExec=/usr/local/bin/tokenkeep-test-session\nType=Application\n")
    environment = {"DISPLAY": "127.0.0.1:9"}
    x = lambda *words: machine.run(*words, environment=environment)

    def type_text(password):
        """Types the name of the user, and the password once PAM has asked for it."""
        asked = log().count("Prompt greeter")
        type_in_x(x, machine.user)
        with contextlib.suppress(Waited):
            wait_until(lambda: log().count("Prompt greeter") > asked, "the question for the password", patience=3)
        type_in_x(x, password)

    log = (machine.root / "var/log/lightdm/lightdm.log").read_text
    machine.must("systemd-run", "--unit=tokenkeep-test-server", "Xvfb", ":9", "-ac", "-listen", "tcp", "-screen", "0", "800x600x24")
    wait_until(lambda: x("xdpyinfo").returncode == 0, "the X server")
    try:
        with running(machine, "lightdm.service"):
            wait_until(lambda: x("xdotool", "search", "--onlyvisible", "--class", "lightdm-gtk-greeter").stdout, "the greeter")
            before = refusals(machine)
            type_until(type_text, "mistyped", lambda: refusals(machine) > before, "the refusal of a wrong password")
            type_until(type_text, PASSWORD, (machine.root / f"home/{machine.user}/loaded").exists, "the session")
            check_session(machine, "lightdm")
    finally:
        machine.run("systemctl", "stop", "tokenkeep-test-server")


@case
def xrdp_opens_the_vault(machine):
    # Names are looked up only for kinds of addresses that the machine has beside its loopback's.
    machine.must("ip", "address", "add", "2001:db8::1/128", "dev", "lo")
    machine.write("/etc/hosts", "127.0.0.1 localhost\n::1 localhost\n")
    machine.write("/etc/xrdp/startwm.sh", "#!/bin/sh\nexec /usr/local/bin/tokenkeep-test-session\n")
    file = machine.root / "etc/xrdp/sesman.ini"
    file.write_text(file.read_text().replace("param=/usr/lib/xorg/Xorg\n", "param=/usr/local/bin/tokenkeep-test-server\n"))
    with running(machine, "xrdp-sesman.service"):
        wait_until(lambda: machine.run("sh", "-c", "ss -ltn | grep -q 3350").returncode == 0, "sesman")
        for password in ("mistyped", PASSWORD):
            machine.run("xrdp-sesrun", "-t", "Xorg", "-p", password, machine.user)
        check_session(machine, "xrdp-sesman")
