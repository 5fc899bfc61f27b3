#!/usr/bin/env python3
"""git's helper with the git of Debian 13 (2.47), which knows `authtype` and `state[]`, in a root that mmdebstrap makes.

Usage: newer_git.py BIN [ROOT]      as root; BIN as for run.py. ROOT, by default in /var/cache, is made by the first run
"""
import os
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from servers import git_server  # noqa: E402: its folder must be on the path first
from world import has, same  # noqa: E402: the same

PACKAGES = "git,ca-certificates,libsodium23,libargon2-1,libjansson4"
HOST = "protocol=https\nhost=example.com\n"
KNOWS = "capability[]=authtype\ncapability[]=state\n"


def make(root):
    """The root, complete or not there at all."""
    if os.path.isdir(root):
        return
    if shutil.which("mmdebstrap") is None:
        subprocess.run(["apt-get", "install", "-y", "-qq", "mmdebstrap"], check=True, stdout=subprocess.DEVNULL)
    made = tempfile.mkdtemp(prefix="tokenkeep-git-", dir=os.path.dirname(root))
    subprocess.run(["mmdebstrap", "--quiet", "--variant=minbase", f"--include={PACKAGES}", "trixie", made], check=True)
    os.rename(made, root)


class Machine:
    """A home in the root, with the helper as git's only one."""

    def __init__(self, root, bin_folder):
        self.root = root
        self.home = tempfile.mkdtemp(prefix="home-", dir=f"{root}/tmp").removeprefix(root)
        os.makedirs(f"{root}{self.home}/bin")
        shutil.copy(os.path.join(bin_folder, "tokenkeep-credential"), f"{root}{self.home}/bin/git-credential-tokenkeep")
        stacks = f"{root}{self.home}/.config/tokenkeep/stack.d"
        os.makedirs(stacks)
        with open(f"{stacks}/default.conf", "w", encoding="ascii") as file:
            file.write("any required vault\n")
        with open(f"{root}{self.home}/.gitconfig", "w", encoding="ascii") as file:
            file.write("[credential]\n\thelper = tokenkeep\n")

    def git(self, *words, text="", code=0):
        environment = {
            "PATH": f"{self.home}/bin:/usr/bin:/bin:/usr/sbin", "HOME": self.home, "XDG_CONFIG_HOME": f"{self.home}/.config",
            "TOKENKEEP_VAULT": f"{self.home}/vault", "GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C.UTF-8"}
        ended = subprocess.run(["chroot", self.root, "git", *words], input=text, env=environment, capture_output=True,
                               text=True, check=False)
        assert ended.returncode == code, f"{words}: {ended.returncode}: {ended.stdout}{ended.stderr}"
        return ended.stdout


def types_are_kept_and_answered(machine):
    bearer = KNOWS + HOST + "authtype=Bearer\ncredential=abc\n\n"
    machine.git("credential", "approve", text=bearer)
    filled = machine.git("credential", "fill", text=KNOWS + HOST + "\n")
    has(filled, "authtype=Bearer\n", "credential=abc\n", "state[]=tokenkeep:")
    # A program that does not know types gets nothing it would misunderstand.
    machine.git("credential", "fill", text=HOST + "\n", code=128)
    machine.git("credential", "reject", text=filled.replace("credential=abc", "credential=other") + "\n")
    has(machine.git("credential", "fill", text=KNOWS + HOST + "\n"), "credential=abc\n")
    machine.git("credential", "reject", text=filled + "\n")
    machine.git("credential", "fill", text=KNOWS + HOST + "\n", code=128)


def expiry_and_refresh_token_come_back(machine):
    stored = HOST + "username=ann\npassword=p\npassword_expiry_utc=32503680000\noauth_refresh_token=r\n"
    machine.git("credential", "approve", text=stored + "\n")
    filled = machine.git("credential", "fill", text=HOST + "\n")
    has(filled, "password=p\n", "password_expiry_utc=32503680000\n", "oauth_refresh_token=r\n")
    machine.git("credential", "reject", text=filled + "\n")


def a_server_gets_the_bearer_token(machine):
    served = f"{machine.root}{machine.home}/served"
    subprocess.run(["git", "init", "-q", "--bare", f"{served}/repo.git"], check=True)
    with git_server(served) as server:
        server.tokens.add("abc")
        place = f"protocol=http\nhost=127.0.0.1:{server.port}\n"
        machine.git("credential", "approve", text=KNOWS + place + "authtype=Bearer\ncredential=abc\n\n")
        machine.git("ls-remote", f"{server.address}/repo.git")
        same(server.refused, [])


def main():
    bin_folder, *rest = sys.argv[1:]
    root = rest[0] if rest else "/var/cache/tokenkeep-git-13"
    make(root)
    version = subprocess.run(["chroot", root, "git", "--version"], check=True, capture_output=True, text=True).stdout
    print(version.strip())
    for case in (types_are_kept_and_answered, expiry_and_refresh_token_come_back, a_server_gets_the_bearer_token):
        machine = Machine(root, bin_folder)
        try:
            case(machine)
        finally:
            shutil.rmtree(root + machine.home)
        print("ok   " + case.__name__.replace("_", " "))


if __name__ == "__main__":
    main()
