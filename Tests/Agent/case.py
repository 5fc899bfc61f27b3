"""A test with a desktop and the agent."""
import os
import struct
import unittest

from patience import wait_until
from world import Desktop, Key, read_serial, search

# The agent as installed, and the same sources under AddressSanitizer (run.sh).
INSTALLED, CHECKED = os.environ["INSTALLED"], os.environ["CHECKED"]


class Case(unittest.TestCase):
    program = CHECKED
    # The tests of a class share the desktop, if none of them breaks it; each has an agent of its own.
    is_shared = True

    @classmethod
    def setUpClass(cls):
        if cls.is_shared:
            cls.world = Desktop(cls.program)
            cls.addClassCleanup(cls.world.close)

    def setUp(self):
        if not self.is_shared:
            self.world = Desktop(self.program)
            self.addCleanup(self.world.close)
        elif self.world.agent is not None:
            self.world.reset()
        self.world.start_agent()
        self.world.wait_for(word="none")

    def unlock(self, **given):
        key = Key(**given)
        reply = self.world.hold(key)
        self.assertEqual((reply.status, reply.published), (0, True))
        self.assertEqual(key.read(), key.bytes)
        return key

    def expect_gone(self, key):
        wait_until(lambda: not key.is_readable(), "the end of the key")
        self.assertIsNone(key.read())

    def serials_of(self, key):
        """The key of the user's keyring, and the agent's key."""
        pointer = search(key.description)
        return [pointer, struct.unpack(">I", read_serial(pointer))[0]]

    def timeouts_of(self, key):
        """The seconds that the agent last asked the kernel for."""
        timeouts = self.world.clock.timeouts()
        return [timeouts[serial] for serial in self.serials_of(key)]
