#!/usr/bin/env python3
"""tokenkeep-tpm2.socket under systemd, with a software TPM in place of /dev/tpmrm0. Usage: devices.py BUILD [NAME…]

BUILD is what `cmake --install` installs. NAMEs choose cases."""

import json, sys

from machine import PASSWORD, Machine, case, check, run, run_cases, wait_until

TPM = "/run/test-tpm"
SERVICE = "/etc/systemd/system/tokenkeep-tpm2@.service.d/test.conf"
VAULT = "/var/lib/test-vault"
LEVELS = {"two": "after-first-unlock", "four": "after-first-unlock-this-device-only", "five": "when-passcode-set-this-device-only"}
# Connections without a request, more at a time than MaxConnections.
FLOOD = """
import socket
for _ in range(10):
    open_ones = []
    for _ in range(50):
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        connection.setblocking(False)
        try:
            connection.connect("/run/tokenkeep/tpm2")
        except OSError:
            pass
        open_ones.append(connection)
"""


def set_up(machine):
    """A TPM of the machine, which the tests' user cannot open, and the command of docs/device.md."""
    machine.must("mkdir", "-p", f"{TPM}/state")
    # A device that opens; the helper locks it, and speaks to the software TPM.
    machine.must("mknod", "-m", "660", "/dev/tpmrm0", "c", 1, 3)
    machine.write(SERVICE, f"""[Service]
ExecStart=
ExecStart=/usr/libexec/tokenkeep/tokenkeep-tpm2 --connection --locks /dev/tpmrm0 --tcti swtpm:path={TPM}/tpm
""")
    machine.must("systemctl", "daemon-reload")
    start_tpm(machine)
    machine.must("systemctl", "enable", "--now", "tokenkeep-tpm2.socket")
    machine.must("install", "-d", "-m", "700", "-o", machine.user, "-g", machine.user, VAULT)


def start_tpm(machine):
    machine.must("systemd-run", "--quiet", "--collect", "--unit=test-tpm", "swtpm", "socket", "--tpm2", "--tpmstate", f"dir={TPM}/state",
                 "--server", f"type=unixio,path={TPM}/tpm", "--ctrl", f"type=unixio,path={TPM}/tpm.ctrl",
                 "--flags", "not-need-init,startup-clear")
    wait_for_tpm(machine)


def wait_for_tpm(machine):
    wait_until(lambda: machine.run("sh", "-c", f"ss -xl | grep -q '{TPM}/tpm.ctrl '").returncode == 0, "the software TPM")


def tokenkeep(machine, *words, vault="vault", given=PASSWORD, **options):
    return machine.tokenkeep(*words, input=f"{given}\n".encode(), environment={"TOKENKEEP_VAULT": f"{VAULT}/{vault}"}, **options)


def done(machine, *words, **options):
    ran = tokenkeep(machine, *words, **options)
    check(ran.returncode == 0, f"{words}: {ran.stdout.decode()}{ran.stderr.decode()}")
    return ran.stdout.decode() + ran.stderr.decode()


def opened(machine, **options):
    """Unlocks as after a start of the machine. Returns what the unlock says, and the items that open."""
    tokenkeep(machine, "lock", **options)
    told = done(machine, "unlock", "--stdin", **options)
    return told, [name for name in LEVELS if tokenkeep(machine, "load", "example.com", name, **options).returncode == 0]


def bind(machine, vault):
    done(machine, "password", "set", "--stdin", vault=vault)
    told = done(machine, "device", "choose", "--stdin", vault=vault)
    for name, level in LEVELS.items():
        done(machine, "save", "example.com", name, "--level", level, vault=vault, given=name)
    return told


def failed_services(machine):
    return machine.must("systemctl", "list-units", "--all", "--plain", "--no-legend", "--state=failed", "tokenkeep-tpm2*").strip()


@case
def a_user_without_the_device_binds_his_vault(machine):
    check(machine.as_user("sh", "-c", "exec 3</dev/tpmrm0").returncode != 0, "the user can open the device")
    told = bind(machine, "vault")
    check("bound to this device (tpm2)" in told, told)
    report = json.loads(done(machine, "device", "show", "--json"))
    check((report["provider"], report["way"], report["state"]) == ("tpm2", "helper", "ready"), f"{report}")
    check(opened(machine) == ("", list(LEVELS)), f"{opened(machine)}")
    check(failed_services(machine) == "", failed_services(machine))
    accepted = machine.must("systemctl", "show", "--property=NAccepted", "--value", "tokenkeep-tpm2.socket")
    check(int(accepted) > 4, accepted)


@case
def another_uid_with_a_copy_gets_nothing(machine):
    machine.must("useradd", "--create-home", "tkm-other")
    machine.must("cp", "-a", f"{VAULT}/vault", "/home/tkm-other/vault")
    machine.must("chown", "-R", "tkm-other:tkm-other", "/home/tkm-other/vault")
    words = ["setpriv", "--reuid", "tkm-other", "--regid", "tkm-other", "--init-groups", "tokenkeep"]
    other = {"environment": {"HOME": "/home/tkm-other", "TOKENKEEP_VAULT": "/home/tkm-other/vault"}}
    unlocked = machine.run(*words, "unlock", "--stdin", input=f"{PASSWORD}\n".encode(), **other)
    check(unlocked.returncode == 0 and b"stay locked" in unlocked.stderr, unlocked.stderr.decode())
    loads = [machine.run(*words, "load", "example.com", name, **other).returncode for name in LEVELS]
    check(loads == [0, 3, 3], f"{loads}")
    machine.run(*words, "lock", **other)


@case
def a_flood_of_connections_does_not_end_the_socket(machine):
    machine.must("python3", "-c", FLOOD, as_user=True)
    check(machine.run("systemctl", "is-active", "tokenkeep-tpm2.socket").returncode == 0, "the socket ended")
    none_left = lambda: "tokenkeep-tpm2@" not in machine.must(
        "systemctl", "list-units", "--plain", "--no-legend", "--type=service")
    wait_until(none_left, "the end of the connections")
    check(opened(machine)[1] == list(LEVELS), f"{opened(machine)}")


@case
def a_stopped_helper_locks_its_levels_alone(machine):
    machine.must("systemctl", "stop", "tokenkeep-tpm2.socket")
    told, names = opened(machine)
    check(names == ["two"] and "stay locked" in told, f"{told} {names}")
    machine.must("systemctl", "start", "tokenkeep-tpm2.socket")
    check(opened(machine) == ("", list(LEVELS)), f"{opened(machine)}")


@case
def a_hung_tpm_locks_its_levels_alone_and_leaves_no_helper(machine):
    machine.must("systemctl", "kill", "--signal=STOP", "--kill-who=main", "test-tpm.service")
    told, names = opened(machine)
    check(names == ["two"] and "stay locked" in told, f"{told} {names}")
    running = lambda: machine.must("systemctl", "list-units", "--plain", "--no-legend", "--type=service", "tokenkeep-tpm2@*").strip()
    wait_until(lambda: not running(), "the end of the helper")
    machine.must("systemctl", "kill", "--signal=CONT", "--kill-who=main", "test-tpm.service")
    check(opened(machine) == ("", list(LEVELS)), f"{opened(machine)}")


@case
def a_restarted_tpm_opens_and_a_cleared_one_does_not(machine):
    machine.must("systemctl", "restart", "test-tpm.service")
    wait_for_tpm(machine)
    check(opened(machine) == ("", list(LEVELS)), f"{opened(machine)}")
    machine.must("tpm2_clear", environment={"TPM2TOOLS_TCTI": f"swtpm:path={TPM}/tpm"})
    told, names = opened(machine)
    check(names == ["two"] and "was cleared" in told, f"{told} {names}")


def main():
    build, *names = sys.argv[1:]
    if run("sh", "-c", "command -v swtpm && command -v tpm2_clear").returncode != 0:
        print("skip devices (swtpm and tpm2-tools are not installed)\n0 passed, 0 failed, 1 skipped")
        return 0
    cases = [(name, body) for name, body in globals().items() if getattr(body, "is_case", False)]
    return run_cases("devices", cases, names, lambda: Machine(build), set_up)


if __name__ == "__main__":
    sys.exit(main())
