#!/usr/bin/env python3
"""tokenkeep-tpm2.socket under systemd, with a software TPM in place of /dev/tpmrm0. Usage: devices.py BUILD [NAME…]

BUILD is what `cmake --install` installs. NAMEs choose cases."""

import json, pathlib, sys

from machine import PASSWORD, Machine, case, check, run, run_cases, wait_until

TPM = "/run/test-tpm"
SERVICE = "/etc/systemd/system/tokenkeep-tpm2@.service.d/test.conf"
VAULT = "/var/lib/test-vault"
LEVELS = ("after-first-unlock", "after-first-unlock-this-device-only", "when-passcode-set-this-device-only")
WITHOUT_DEVICE = LEVELS[:1]
HELPER = "/usr/libexec/tokenkeep/tokenkeep-tpm2"
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
ExecStart={HELPER} --connection --locks /dev/tpmrm0 --tcti swtpm:path={TPM}/tpm
""")
    machine.must("systemctl", "daemon-reload")
    start_tpm(machine)
    machine.must("systemctl", "enable", "--now", "tokenkeep-tpm2.socket")
    machine.must("install", "-d", "-m", "700", "-o", machine.user, "-g", machine.user, VAULT)
    check(machine.as_user("sh", "-c", "exec 3</dev/tpmrm0").returncode != 0, "the user can open the device")
    done(machine, "password", "set", "--stdin")
    told = done(machine, "device", "choose", "--stdin")
    check("bound to this device (tpm2)" in told, told)
    for level in LEVELS:
        done(machine, "save", "example.com", level, "--level", level, given=level)


def start_tpm(machine):
    machine.must("systemd-run", "--quiet", "--collect", "--unit=test-tpm", "swtpm", "socket", "--tpm2", "--tpmstate", f"dir={TPM}/state",
                 "--server", f"type=unixio,path={TPM}/tpm", "--ctrl", f"type=unixio,path={TPM}/tpm.ctrl",
                 "--flags", "not-need-init,startup-clear")
    wait_for_tpm(machine)


def wait_for_tpm(machine):
    wait_until(lambda: machine.run("sh", "-c", f"ss -xl | grep -q '{TPM}/tpm.ctrl '").returncode == 0, "the software TPM")


def tokenkeep(machine, *words, given=PASSWORD):
    return machine.tokenkeep(*words, input=f"{given}\n".encode(), environment={"TOKENKEEP_VAULT": f"{VAULT}/vault"})


def done(machine, *words, **options):
    ran = tokenkeep(machine, *words, **options)
    check(ran.returncode == 0, f"{words}: {ran.stdout.decode()}{ran.stderr.decode()}")
    return ran.stdout.decode() + ran.stderr.decode()


def check_opens(machine, levels, reason=""):
    """Unlocks as after a start of the machine: items of these levels open, and the unlock gives the reason why others do not."""
    tokenkeep(machine, "lock")
    told = done(machine, "unlock", "--stdin")
    open_ones = tuple(level for level in LEVELS if tokenkeep(machine, "load", "example.com", level).returncode == 0)
    check(open_ones == levels and (reason in told if reason else told == ""), f"{open_ones} {told}")


def running_services(machine):
    return machine.must("systemctl", "list-units", "--plain", "--no-legend", "--type=service", "tokenkeep-tpm2@*").strip()


def failed_services(machine):
    return machine.must("systemctl", "list-units", "--all", "--plain", "--no-legend", "--state=failed", "tokenkeep-tpm2*").strip()


@case
def a_user_without_the_device_opens_his_vault(machine):
    report = json.loads(done(machine, "device", "show", "--json"))
    check((report["provider"], report["way"], report["state"]) == ("tpm2", "helper", "ready"), f"{report}")
    check_opens(machine, LEVELS)
    check(failed_services(machine) == "", failed_services(machine))
    accepted = machine.must("systemctl", "show", "--property=NAccepted", "--value", "tokenkeep-tpm2.socket")
    check(int(accepted) > 4, accepted)


@case
def another_uid_with_a_copy_opens_no_item_of_the_device(machine):
    uid = next(uid for uid in range(machine.uid + 1, 60000) if machine.is_free(uid))
    home, copy = "/var/lib/test-other", "/var/lib/test-other/vault"
    machine.must("install", "-d", "-m", "700", home)
    machine.must("cp", "-a", f"{VAULT}/vault", copy)
    machine.must("chown", "-R", f"{uid}:{uid}", home)
    other = lambda *words, **options: machine.run(
        "setpriv", "--reuid", uid, "--regid", uid, "--clear-groups", "tokenkeep", *words,
        environment={"HOME": home, "TOKENKEEP_VAULT": copy}, **options)
    try:
        unlocked = other("unlock", "--stdin", input=f"{PASSWORD}\n".encode())
        check(unlocked.returncode == 0 and b"stay locked" in unlocked.stderr, unlocked.stderr.decode())
        loads = [other("load", "example.com", level).returncode for level in LEVELS]
        check(loads == [0, 3, 3], f"{loads}")
    finally:
        other("lock")


@case
def a_flood_of_connections_does_not_end_the_socket(machine):
    machine.must("python3", "-c", FLOOD, as_user=True)
    check(machine.run("systemctl", "is-active", "tokenkeep-tpm2.socket").returncode == 0, "the socket ended")
    wait_until(lambda: not running_services(machine), "the end of the connections")
    check_opens(machine, LEVELS)


@case
def a_stopped_helper_locks_its_levels_alone(machine):
    machine.must("systemctl", "stop", "tokenkeep-tpm2.socket")
    try:
        check_opens(machine, WITHOUT_DEVICE, "stay locked")
    finally:
        machine.must("systemctl", "start", "tokenkeep-tpm2.socket")
    check_opens(machine, LEVELS)


@case
def a_hung_tpm_locks_its_levels_alone_and_leaves_no_helper(machine):
    signal = lambda name: machine.must("systemctl", "kill", f"--signal={name}", "--kill-who=main", "test-tpm.service")
    signal("STOP")
    try:
        check_opens(machine, WITHOUT_DEVICE, "stay locked")
        wait_until(lambda: not running_services(machine), "the end of the helper")
    finally:
        signal("CONT")
    check_opens(machine, LEVELS)


@case
def a_restarted_tpm_opens(machine):
    machine.must("systemctl", "restart", "test-tpm.service")
    wait_for_tpm(machine)
    check_opens(machine, LEVELS)


@case
def a_cleared_tpm_does_not_open(machine):
    machine.must("tpm2_clear", environment={"TPM2TOOLS_TCTI": f"swtpm:path={TPM}/tpm"})
    check_opens(machine, WITHOUT_DEVICE, "was cleared")


def main():
    build, *names = sys.argv[1:]
    is_there = run("sh", "-c", "command -v swtpm && command -v tpm2_clear").returncode == 0
    if not is_there or not pathlib.Path(build, "tokenkeep-tpm2").exists():
        print("skip devices (needs swtpm, tpm2-tools and a build with tpm2-tss)\n0 passed, 0 failed, 1 skipped")
        return 0
    cases = [(name, body) for name, body in globals().items() if getattr(body, "is_case", False)]
    return run_cases("devices", cases, names, lambda: Machine(build), set_up)


if __name__ == "__main__":
    sys.exit(main())
