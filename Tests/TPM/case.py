"""What each test has: software TPMs, callers and a program, all closed at its end."""
import os
import struct
import sys
import unittest

from proxy import Proxy
from world import Helper, Key, Once, SoftwareTPM, tests_clock

PROGRAM = sys.argv[1]


class Case(unittest.TestCase):
    def setUp(self):
        self.tpm = self.make_tpm()
        self.key = Key()

    def make_tpm(self):
        tpm = SoftwareTPM()
        self.addCleanup(tpm.close)
        return tpm

    def make_proxy(self, tpm=None):
        proxy = Proxy(tpm or self.tpm)
        self.addCleanup(proxy.close)
        return proxy

    def make_helper(self, tcti=None):
        helper = Helper(PROGRAM, tcti or self.tpm.tcti)
        self.addCleanup(helper.close)
        return helper

    def once(self, tcti=None, **options):
        return Once(PROGRAM, tcti or self.tpm.tcti, **options)

    def done(self, reply):
        self.assertEqual((reply.word, reply.status), ("", 0), reply)
        return reply.payload

    def refused(self, reply, *words):
        self.assertIn(reply.word, words, reply)
        self.assertEqual(reply.payload, b"")
        return reply

    def index(self, reply):
        return struct.unpack(">I", self.done(reply))[0]

    def sealed(self, caller, key=None):
        return self.done(caller.seal(key or self.key))

    def opens(self, caller, blob, key=None):
        key = key or self.key
        self.assertEqual(self.done(caller.unseal(key, blob)), key.secret)

    def nothing_is_loaded(self, tpm=None):
        self.assertEqual((tpm or self.tpm).handles(), [])


def main():
    tests_clock.require()
    if os.geteuid() != 0:
        sys.exit("the tests of the TPM run as root: they are several users")
    unittest.main(argv=[sys.argv[0]] + sys.argv[2:])
