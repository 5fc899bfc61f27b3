"""Runs a client against the provider and against gnome-keyring, which must answer alike."""
import subprocess
import unittest

from patience import wait_until
from world import World


class Compared(unittest.TestCase):
    maxDiff = None

    def world(self):
        world = World()
        self.addCleanup(world.close)
        return world

    def provider(self):
        """A world with the provider."""
        world = self.world()
        world.provider()
        return world

    def gnome_keyring(self):
        """A world with gnome-keyring, whose login collection is open."""
        world = self.world()
        process = subprocess.Popen(
            ["gnome-keyring-daemon", "--foreground", "--unlock", "--components=secrets"], env=world.environment,
            stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        process.stdin.write(b"pw")
        process.stdin.close()
        world.processes.append(process)
        wait_until(world.owner, "gnome-keyring")
        return world

    def compare(self, *command, **options):
        """What a client prints is what it prints with gnome-keyring."""
        ours = self.provider().run(*command, check=False, **options)
        theirs = self.gnome_keyring().run(*command, check=False, **options)
        self.assertEqual((ours.stdout, ours.returncode), (theirs.stdout, theirs.returncode), ours.stderr + theirs.stderr)
        self.assertEqual(ours.returncode, 0, ours.stderr)
        return ours.stdout
