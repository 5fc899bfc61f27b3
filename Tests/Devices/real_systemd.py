#!/usr/bin/python3
"""The provider systemd against a real io.systemd.Credentials, of Debian 13 (systemd 257), with a software TPM.

Usage: real_systemd.py PREFIX, as root. The first run fetches 60 MB by mmdebstrap, into the directory of Tests/Providers/roots.py.
The service runs in a mount namespace; files in place of /sys say that there is a TPM.
"""
import json
import os
import shutil
import signal
import subprocess
import sys

import device_world
from device_world import Stage, wait_until

sys.path.insert(0, os.path.join(device_world.TESTS, "Providers"))
import roots  # noqa: E402

PACKAGES = ("systemd", "libtss2-esys-3.0.2-0t64", "libtss2-rc0t64", "libtss2-tcti-swtpm0t64")
UID, PASSWORD = 61000 + os.getpid() % 4000, "horse"
SIGNS_OF_A_TPM = ("sys/class/tpmrm/tpmrm0", "sys/firmware/acpi/tables/TPM2", "sys/firmware/efi")
START = """
mount -t proc proc "$1/proc" && mount --bind /dev "$1/dev" && mount --bind "$2" "$1/mnt" || exit 1
exec chroot "$1" systemd-socket-activate --accept --fdname=varlink -E SYSTEMD_TPM2_DEVICE=swtpm:path=/mnt/tpm \
    -l /mnt/credentials systemd-creds
"""


def root():
    path = os.path.join(roots.directory(), "trixie-systemd")
    if not os.path.isdir(path):
        os.makedirs(roots.directory(), exist_ok=True)
        shutil.rmtree(path + ".unfinished", ignore_errors=True)
        subprocess.run(
            ["mmdebstrap", "--variant=minbase", "--aptopt=APT::Install-Recommends \"false\"", f"--include={','.join(PACKAGES)}",
             "trixie", path + ".unfinished", roots.mirror()], check=True, capture_output=True)
        os.rename(path + ".unfinished", path)
    return path


class Debian:
    """A copy of the root with a user and a TPM of its own, and the service."""

    def __init__(self, stage, source):
        self.path = os.path.join(stage.directory, "root")
        subprocess.run(["cp", "-a", "--reflink=auto", source, self.path], check=True)
        with open(f"{self.path}/etc/passwd", "a", encoding="ascii") as file:
            file.write(f"tester:x:{UID}:{UID}::/:/bin/sh\n")
        with open(f"{self.path}/etc/machine-id", "w", encoding="ascii") as file:
            file.write(os.urandom(16).hex() + "\n")
        self.stage, self.machine = stage, stage.machine("here")
        self.socket = self.machine.tpm.directory + "/credentials"
        self.vault = stage.folder("home", UID) + "/vault"
        self.process = None

    def start(self, has_tpm):
        for name in SIGNS_OF_A_TPM:
            if has_tpm:
                os.makedirs(f"{self.path}/{name}", exist_ok=True)
        self.process = subprocess.Popen(
            ["unshare", "--mount", "sh", "-c", START, "-", self.path, self.machine.tpm.directory], stderr=subprocess.DEVNULL)
        wait_until(lambda: os.path.exists(self.socket), "the socket of systemd-creds")
        os.chmod(self.socket, 0o666)
        os.chmod(self.machine.tpm.directory, 0o755)

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        self.process.wait()
        os.unlink(self.socket)

    def run(self, *arguments, given=PASSWORD):
        environment = {"TOKENKEEP_SYSTEMD_SOCKET": self.socket, "TOKENKEEP_TPM2_SOCKET": "/nonexistent"}
        result = self.machine.run(UID, *arguments, vault=self.vault, given=given, environment=environment)
        return result.returncode, result.stdout, result.stderr

    def done(self, *arguments, **options):
        code, output, errors = self.run(*arguments, **options)
        assert code == 0, (arguments, errors)
        return output + errors

    def opens(self):
        """What is opened after a start of the machine: the reason of the unlock, and whether level 4 opens. Level 2 always does."""
        self.run("lock")
        self.stage.forget(UID, self.vault)
        told = self.done("unlock", "--stdin")
        assert self.run("load", "example.com", "two")[1] == "two"
        return told, self.run("load", "example.com", "four")[1] == "four"

    def save(self):
        self.done("save", "example.com", "two", given="two")
        self.done("save", "example.com", "four", "--level", "after-first-unlock-this-device-only", given="four")


def play(debian):
    debian.start(has_tpm=False)
    code, _, errors = debian.run("device", "choose", "systemd")
    assert code == 4 and "systemd encrypts without a TPM 2.0 on this machine" in errors, errors
    assert "systemd" not in json.loads(debian.done("device", "show", "--json"))["available"]
    debian.stop()
    print("the credential that needs the host's key alone is refused")

    debian.start(has_tpm=True)
    debian.done("password", "set", "--stdin")
    told = debian.done("device", "choose", "systemd", "--stdin")
    assert "the vault is bound to this device (systemd)" in told and "PCR 7" in told, told
    debian.save()
    assert debian.opens() == ("", True)
    print("the credential that needs host and TPM 2.0 opens")

    debian.machine.tpm.restart()
    assert debian.opens() == ("", True)
    debian.machine.tpm.tool("tpm2_pcrextend", "7:sha256=" + "11" * 32)
    told, is_open = debian.opens()
    assert not is_open and "another state of the firmware" in told, told
    debian.machine.tpm.restart()
    assert debian.opens() == ("", True)
    print("another value of PCR 7 locks the level, and the former one opens it")

    debian.machine.tpm.tool("tpm2_clear")
    told, is_open = debian.opens()
    assert not is_open and "the TPM does not open systemd's credential" in told, told
    debian.done("device", "re-bind", "systemd", "--stdin", "--destroy-items")
    debian.save()
    assert debian.opens() == ("", True)
    print("a cleared TPM locks the level; the vault is bound anew")

    with open(f"{debian.path}/etc/machine-id", "w", encoding="ascii") as file:
        file.write(os.urandom(16).hex() + "\n")
    told, is_open = debian.opens()
    assert not is_open and "stay locked" in told, told
    print("another machine id locks the level")
    debian.run("lock")
    debian.stage.forget(UID, debian.vault)
    debian.stop()


def main():
    try:
        source = root()
    except (roots.Unavailable, OSError, subprocess.CalledProcessError) as reason:
        print(f"skipped: {reason}")
        return 0
    stage = Stage(sys.argv[1])
    debian = None
    try:
        debian = Debian(stage, source)
        play(debian)
    finally:
        if debian is not None and debian.process is not None and debian.process.poll() is None:
            debian.process.kill()
        stage.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
