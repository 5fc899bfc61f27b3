"""A world with a real gnome-keyring, and git's helper for it."""
import os
import subprocess
import unittest

from patience import wait_until
from world import World

# Git's contributed helper, whose source comes with Debian's git.
GIT_HELPER = "/usr/share/doc/git/contrib/credential/libsecret/git-credential-libsecret.c"


def git_libsecret(folder):
    """Compiles git-credential-libsecret, and returns its path."""
    flags = subprocess.run(["pkg-config", "--cflags", "--libs", "libsecret-1"], stdout=subprocess.PIPE, text=True, check=True)
    helper = os.path.join(folder, "git-credential-libsecret")
    subprocess.run(["gcc", GIT_HELPER, "-o", helper, *flags.stdout.split()], check=True)
    return helper


class WithKeyring(unittest.TestCase):
    def setUp(self):
        self.world = World()
        self.addCleanup(self.world.close)

    def gnome_keyring(self, unlocks=True):
        """Starts gnome-keyring; its login collection has the password "pw"."""
        process = subprocess.Popen(
            ["gnome-keyring-daemon", "--foreground", "--components=secrets", *(["--unlock"] if unlocks else [])],
            env=self.world.environment, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        if unlocks:
            process.stdin.write(b"pw")
        process.stdin.close()
        self.world.processes.append(process)
        wait_until(self.world.owner, "gnome-keyring")
        return process

    def locked_keyring(self):
        """Starts gnome-keyring anew, as after a login without its password."""
        self.world.stop(self.world.processes[-1])
        return self.gnome_keyring(unlocks=False)
