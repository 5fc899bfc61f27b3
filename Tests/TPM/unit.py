#!/usr/bin/env python3
"""tokenkeep-tpm2.socket and its instances under a systemd of their own, as installed but for the TPM: a software TPM takes the place
of the device, and a device node like /dev/null that of /dev/tpmrm0, whose locks count requests.

Usage: unit.py PROGRAM [CASE…]"""
import importlib.util
import pathlib
import re
import shutil
import subprocess
import sys
import traceback

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "Systems"), str(HERE.parent / "Login")]
from machine import Machine, Skipped, enter_own_namespace, wait_until  # noqa: E402
from world import PATIENCE, Failure, case, check, die_on_signals, run  # noqa: E402


def messages_of_the_tests():
    """This folder's world, beside that of the sign-ins."""
    specification = importlib.util.spec_from_file_location("tpm_world", HERE / "world.py")
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


forget_refusals = messages_of_the_tests().forget_refusals

PROGRAM = "/usr/libexec/tokenkeep/tokenkeep-tpm2"
STATE = "/var/lib/tpm-test"
OVERRIDE = f"""[Service]
ExecStart=
ExecStart={PROGRAM} --connection --locks /dev/tpmrm0 --tcti swtpm:path={STATE}/tpm
"""
ANN, BOB = 61003, 61004
# Runs in the machine, as one of its users.
CLIENT = "import sys; sys.path.insert(0, '/opt/tpm-test')\nfrom world import *\nc = Client('/run/tokenkeep/tpm2')\nk = Key()\n"
SEAL = CLIENT + "c.learn(); print(c.name.hex(), k.auth.hex(), c.seal(k).payload.hex())\n"
UNSEAL = CLIENT + ("c.name, k.auth, blob = (bytes.fromhex(w) for w in sys.argv[1:])\n"
                   "r = c.unseal(k, blob)\nprint(r.word, len(r.payload))\n")
PEER = CLIENT + "print(struct.unpack('3i', c.connect().getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))[1])"
HOLD = CLIENT + ("held = [c.connect() for _ in range(int(sys.argv[1]))]\nprint('held', flush=True)\nsys.stdin.read()\n"
                 "print([receive_reply(s) for s in held])\n")


class TPMMachine(Machine):
    def install(self, build):
        program = self.root / PROGRAM.lstrip("/")
        program.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(build, program)
        program.chmod(0o755)
        units = HERE.parents[1] / "data" / "systemd"
        self.write("/etc/systemd/system/tokenkeep-tpm2.socket", (units / "tokenkeep-tpm2.socket").read_text())
        self.write("/etc/systemd/system/tokenkeep-tpm2@.service",
                   (units / "tokenkeep-tpm2@.service.in").read_text().replace("@libexecdir@", "/usr/libexec"))
        self.write("/etc/systemd/system/tokenkeep-tpm2@.service.d/test.conf", OVERRIDE)
        self.write("/etc/systemd/system/tokenkeep-test.target",
                   "[Unit]\nRequires=sysinit.target dbus.socket\nAfter=sysinit.target dbus.socket\n")
        self.write("/opt/tpm-test/world.py", (HERE / "world.py").read_text())
        for name in ("listening.py", "patience.py", "tests_clock.py"):
            self.write(f"/opt/Support/{name}", (HERE.parent / "Support" / name).read_text())

    def make_user(self):
        """Users are numbers here."""
        self.tpm = None

    def close(self):
        if self.tpm is not None:
            self.tpm.kill()
            self.tpm.wait()
        self.nspawn.kill()
        self.nspawn.wait()
        run("umount", "--recursive", "--lazy", self.base)
        self.base.rmdir()

    def start_tpm(self):
        self.must("mkdir", "-p", STATE)
        self.must("mknod", "-m", "660", "/dev/tpmrm0", "c", "1", "3")
        self.must("chgrp", "tss", "/dev/tpmrm0")
        # The machine's processes end with it.
        self.tpm = subprocess.Popen(self.inside(
            "setpriv", "--pdeathsig", "KILL", "swtpm", "socket", "--tpm2", "--tpmstate", f"dir={STATE}", "--server", f"type=unixio,path={STATE}/tpm", "--ctrl",
            f"type=unixio,path={STATE}/tpm.ctrl", "--flags", "not-need-init,startup-clear",
            "--log", f"file={STATE}/log"), stdin=subprocess.DEVNULL)
        wait_until(lambda: self.run("test", "-S", f"{STATE}/tpm.ctrl").returncode == 0, "the start of swtpm")
        self.must("systemctl", "start", "tokenkeep-tpm2.socket")

    def words_of(self, uid, script, *words):
        return ["setpriv", f"--reuid={uid}", f"--regid={uid}", "--clear-groups", "/usr/bin/python3", "-c", script, *words]

    def client(self, uid, script, *words):
        return self.must(*self.words_of(uid, script, *words)).strip()

    def hold(self, uid, count):
        """Connections that send nothing. The process ends with its standard input, and prints what was received."""
        process = subprocess.Popen(self.inside(*self.words_of(uid, HOLD, str(count))), stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        check(process.stdout.readline() == b"held\n", "the connections are not held")
        return process

    def instances(self):
        listed = self.must("systemctl", "list-units", "--no-legend", "--plain", "--state=running", "tokenkeep-tpm2@*")
        return [line.split()[0] for line in listed.splitlines()]

    def processes(self):
        """The processes of instances that systemd has started to the end."""
        numbers = [self.property_of(unit, "MainPID") for unit in self.instances()]
        names = {number: self.run("cat", f"/proc/{number}/comm").stdout.decode().strip() for number in numbers}
        return [number for number, name in names.items() if name == "tokenkeep-tpm2"]

    def places(self):
        """The requests that are counted, by the locks of the device."""
        major, minor, inode = self.must("stat", "-c", "%Hd %Ld %i", "/dev/tpmrm0").split()
        return sum(f" {int(major):02x}:{int(minor):02x}:{inode} " in line for line in self.must("cat", "/proc/locks").splitlines())

    def property_of(self, unit, name):
        return self.must("systemctl", "show", "-P", name, unit).strip()

    def refusals(self, uid):
        self.must("journalctl", "--sync")
        log = self.must("journalctl", "--no-pager", "-o", "cat")
        return [line for line in log.splitlines() if re.search(rf"refused to uid {uid}:", line)]


def received(process):
    answers, _ = process.communicate(b"", timeout=PATIENCE)
    return eval(answers.decode())  # noqa: S307: printed by the test's own script


@case
def each_user_opens_what_he_sealed_alone(machine):
    sealed = machine.client(ANN, SEAL).split()
    check(len(sealed) == 3, f"{sealed}")
    check(machine.client(ANN, UNSEAL, *sealed) == "32", "Ann does not open it")
    check(machine.client(BOB, UNSEAL, *sealed) == "uid 0", "Bob is not refused")
    check(machine.client(0, UNSEAL, *sealed) == "uid 0", "root is not refused")
    check(machine.refusals(BOB) == [
        f"tokenkeep-tpm2: refused to uid {BOB}: what another user sealed (logged once)"], f"{machine.refusals(BOB)}")


@case
def an_instance_has_no_capability_and_no_network(machine):
    held = machine.hold(ANN, 1)
    process = wait_until(machine.processes, "an instance")[0]
    status = dict(line.split(":\t", 1) for line in machine.must("cat", f"/proc/{process}/status").splitlines() if ":\t" in line)
    check({status[name] for name in ("CapEff", "CapPrm", "CapBnd", "CapInh")} == {"0" * 16}, f"{status}")
    check(status["NoNewPrivs"] == "1" and status["Seccomp"] == "2", f"{status}")
    tss = machine.must("getent", "group", "tss").split(":")[2]
    check(tss in status["Groups"].split(), f"{status['Groups']} lacks {tss}")
    networks = {machine.must("readlink", f"/proc/{number}/ns/net") for number in (process, "1")}
    check(len(networks) == 2, f"{networks}")
    received(held)


@case
def the_fifth_request_of_a_uid_is_refused_and_logged_once(machine):
    held = machine.hold(ANN, 4)
    wait_until(lambda: machine.places() == 4, "four requests")
    for _ in range(3):
        check(machine.client(ANN, CLIENT + "print(c.info().word)") == "limit", "a fifth request is answered")
    check(machine.client(BOB, SEAL).count(" ") == 2, "Bob is not served")
    check(len(machine.refusals(ANN)) == 1, f"{machine.refusals(ANN)}")
    received(held)
    wait_until(lambda: not machine.instances(), "the end of the silent")
    check(machine.client(ANN, SEAL).count(" ") == 2, "Ann is not served")


@case
def a_flood_of_connections_does_not_end_the_socket(machine):
    for _ in range(3):
        received(machine.hold(ANN, 300))
    wait_until(lambda: not machine.instances(), "the end of the silent")
    check(machine.property_of("tokenkeep-tpm2.socket", "ActiveState") == "active", "the socket is gone")
    check(machine.client(BOB, SEAL).count(" ") == 2, "Bob is not served")


@case
def a_killed_instance_ends_its_request_alone(machine):
    held = machine.hold(ANN, 2)
    wait_until(lambda: len(machine.instances()) == 2, "two instances")
    machine.must("systemctl", "kill", "-s", "KILL", *machine.instances())
    check(received(held) == [b"", b""], "a reply came")
    check(machine.client(ANN, SEAL).count(" ") == 2, "Ann is not served")
    wait_until(lambda: not machine.must("systemctl", "list-units", "--all", "--no-legend", "--plain", "tokenkeep-tpm2@*").strip(),
               "the end of all instances")


@case
def the_peer_of_the_socket_is_root(machine):
    peer = machine.client(ANN, PEER)
    check(peer == "0", peer)
    check(machine.must("stat", "-c", "%a %U", "/run/tokenkeep/tpm2", "/run/tokenkeep") == "666 root\n755 root\n", "other modes")


def main():
    program, *names = sys.argv[1:]
    enter_own_namespace()
    die_on_signals()
    try:
        machine = TPMMachine(program)
    except Skipped as reason:
        print(f"skip the unit ({reason})\n0 passed, 0 failed, 1 skipped")
        return 0
    passed = failed = 0
    try:
        machine.start_tpm()
        for name, body in [(name, body) for name, body in globals().items() if getattr(body, "is_case", False)]:
            if names and name not in names:
                continue
            try:
                body(machine)
                passed += 1
                print(f"ok   {name}", flush=True)
            except Exception as error:
                failed += 1
                print(f"FAIL {name}: {error}", flush=True)
                if not isinstance(error, Failure):
                    traceback.print_exc()
    finally:
        machine.close()
        forget_refusals(ANN, BOB, 0)
    print(f"{passed} passed, {failed} failed")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
