"""Real programs that sign in, in a mount namespace with a PAM configuration of its own: su, login, sshd, pamtester and
Debian's pam-auth-update."""

import os, pathlib, pty, select, shutil, socket, subprocess

from world import LONGEST, PASSWORD, PATIENCE, Failure, case, check, run, wait_until  # its path has the next
from listening import free_ports

SSHD = pathlib.Path("/usr/sbin/sshd")


class OwnPAM:
    """A copy of /etc/pam.d and of what pam-auth-update reads; commands run with it in the places of the real ones."""

    def __init__(self, world, name):
        self.base = world.base / name
        self.pam = self.base / "pam.d"
        self.mounts = []
        for place, path in (("pam.d", "/etc/pam.d"), ("pam-configs", "/usr/share/pam-configs"), ("pam", "/var/lib/pam"),
                            ("debconf", "/var/cache/debconf")):
            if os.path.isdir(path):
                shutil.copytree(path, self.base / place, symlinks=True)
                self.mounts.append(f"mount --bind {self.base / place} {path}")

    def command(self, *words):
        return ["unshare", "-m", "sh", "-c", " && ".join(["set -e", *self.mounts, 'exec "$@"']), "sh",
                *[str(word) for word in words]]

    def add_module(self, service, module):
        """Puts the module at the end of a service's auth and session lines."""
        with open(self.pam / service, "a") as file:
            file.write(f"\nauth optional {module} timeout={LONGEST}\nsession optional {module} timeout={LONGEST}\n")


def accepts(port):
    try:
        socket.create_connection(("127.0.0.1", port), PATIENCE).close()
    except OSError:
        return False
    return True


def converse(words, answers, needed="assword:"):
    """Runs a program on a terminal, and answers each question for a password. Returns its output and exit code."""
    process, terminal = pty.fork()
    if process == 0:
        os.execvp(words[0], words)
    output, asked = b"", 0
    while True:
        ready, _, _ = select.select([terminal], [], [], PATIENCE)
        try:
            got = os.read(terminal, 4096) if ready else None
        except OSError:
            got = b""
        if got is None:
            os.kill(process, 9)
            raise Failure(f"{words[0]} waits for ever: {output!r}")
        if not got:
            break
        output += got
        if output.count(needed.encode()) > asked and asked < len(answers):
            os.write(terminal, answers[asked].encode() + b"\n")
            asked += 1
    os.close(terminal)
    return output.decode(errors="replace"), os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])


@case
def su_unlocks_the_vault(world):
    world.make_vault()
    own = OwnPAM(world, "su")
    own.add_module("su-l", world.module)
    # As another user, because root is asked for no password.
    words = own.command("setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups", "su", "-", world.user, "-c",
                        f"{world.program} load example.com ann --stack 'any required vault'")
    output, code = converse(words, [PASSWORD])
    check(code == 0 and "secret" in output, f"{output} {code} {world.note()}")
    check(world.key_times().get(2) == "perm", f"{world.key_times()}")


@case
def login_unlocks_the_vault(world):
    world.make_vault()
    own = OwnPAM(world, "login")
    own.add_module("login", world.module)
    profile = world.home / ".profile"
    profile.write_text(f"{world.program} load example.com ann --stack 'any required vault'\nexit\n")
    try:
        output, _ = converse(own.command("login", world.user), [PASSWORD])
    finally:
        profile.unlink()
    check("secret" in output, f"{output} {world.note()}")
    check(world.key_times().get(2) == "perm", f"{world.key_times()}")


@case
def sshd_unlocks_the_vault_after_a_mistyped_password(world):
    if not SSHD.exists():
        raise Failure("sshd is not installed (openssh-server)")
    world.make_vault()
    own = OwnPAM(world, "sshd")
    own.add_module("sshd", world.module)
    key, known = own.base / "key", own.base / "known"
    run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", key)
    os.makedirs("/run/sshd", exist_ok=True)
    for method in ("PasswordAuthentication", "KbdInteractiveAuthentication"):
        port, = free_ports(1)
        config = own.base / "config"
        other = {"PasswordAuthentication": "Kbd", "KbdInteractiveAuthentication": "Password"}[method]
        config.write_text(f"Port {port}\nListenAddress 127.0.0.1\nHostKey {key}\nUsePAM yes\nPidFile none\n{method} yes\n"
                          + ("KbdInteractiveAuthentication no\n" if other == "Kbd" else "PasswordAuthentication no\n"))
        world.lock()
        (world.vault / "login").unlink(missing_ok=True)
        log = open(own.base / f"log-{method}", "w")
        with subprocess.Popen(own.command(SSHD, "-D", "-e", "-f", config), stderr=log) as server:
            try:
                wait_until(lambda: server.poll() is not None or accepts(port), "sshd")
                check(server.poll() is None, f"sshd ended: {open(log.name).read()}")
                words = ["ssh", "-F", "none", "-p", str(port), "-o", f"UserKnownHostsFile={known}", "-o",
                         "StrictHostKeyChecking=no", "-o", "PubkeyAuthentication=no", f"{world.user}@127.0.0.1",
                         f"{world.program} load example.com ann --stack 'any required vault'"]
                output, code = converse(words, ["mistyped", PASSWORD])
            finally:
                server.terminate()
        known.unlink(missing_ok=True)
        check(code == 0 and "secret" in output, f"{method}: {output} {code} {open(log.name).read()}")
        check(world.key_times().get(2) == "perm" and world.note() == "unlocked", f"{method}: {world.key_times()}")


@case
def pamtester_signs_in(world):
    world.make_vault()
    ran = run("pamtester", "-v", world.service(""), world.user, "authenticate", "acct_mgmt", "open_session",
              "close_session", input=PASSWORD.encode() + b"\n")
    check(ran.returncode == 0 and world.load() == "secret", f"{ran}")


@case
def pam_auth_update_puts_the_lines_after_those_they_need(world):
    if shutil.which("pam-auth-update") is None:
        raise Failure("pam-auth-update is not installed")
    own = OwnPAM(world, "profiles")
    shutil.copy(world.stage / "share/pam-configs/tokenkeep", own.base / "pam-configs/tokenkeep")
    environment = dict(os.environ, DEBIAN_FRONTEND="noninteractive")
    ran = run(*own.command("pam-auth-update", "--package", "--force", "--enable", "tokenkeep"), env=environment)
    check(ran.returncode == 0, f"{ran}")

    def modules(name):
        lines = [line.split("#")[0] for line in (own.pam / name).read_text().splitlines()]
        return [word.rsplit("/", 1)[-1] for line in lines for word in line.split() if word.endswith(".so")]

    for name, before in (("common-auth", ["pam_unix.so", "pam_deny.so", "pam_permit.so"]),
                         ("common-session", ["pam_unix.so", "pam_systemd.so"]), ("common-password", ["pam_unix.so"])):
        found = modules(name)
        check("pam_tokenkeep.so" in found, f"{name}: {found}")
        place = found.index("pam_tokenkeep.so")
        for module in before:
            check(module not in found or found.index(module) < place, f"{name}: {found}")
    check("pam_tokenkeep.so" not in modules("common-session-noninteractive"), "in non-interactive sessions")
    text = (own.pam / "common-auth").read_text()
    check(f"{world.stage}/lib/security/pam_tokenkeep.so" in text, f"the prefix is not in {text}")


@case
def valgrind_finds_neither_leak_nor_error(world):
    if shutil.which("valgrind") is None:
        raise Failure("valgrind is not installed")
    script = "#!/bin/sh\ncat > /dev/null\nexit 1\n"
    service = world.service(f"helper={world.fake_program(script)} timeout={LONGEST}")
    ran = run("valgrind", "--leak-check=full", "--errors-for-leak-kinds=definite", "--error-exitcode=9",
              "--child-silent-after-fork=yes", world.host, service, world.user, PASSWORD.encode().hex(), "--",
              "auth", "session", "passwd", "auth")
    check(b"ERROR SUMMARY: 0 errors" in ran.stderr and b"auth 0" in ran.stdout, ran.stderr.decode())
