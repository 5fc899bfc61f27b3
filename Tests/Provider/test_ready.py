"""`tokenkeep ready`: whether items can be loaded or saved, told at once."""
import os
import subprocess
import unittest

import tests_clock
from world import TOKENKEEP, World


class Ready(unittest.TestCase):
    def setUp(self):
        self.world = World()
        self.addCleanup(self.world.close)

    def ready(self, code, *arguments, **options):
        done = self.world.tokenkeep("ready", *arguments, check=False, **options)
        self.assertEqual(done.returncode, code, done.stderr)
        return done.stderr

    def both(self, code):
        self.ready(code)
        self.ready(code, "--save")

    def test_a_vault_alone(self):
        self.both(0)
        self.world.tokenkeep("save", "s", "u", input="x")
        self.world.set_password()
        self.both(0)
        self.world.lock()
        self.assertEqual(self.ready(3), "tokenkeep: vault: the vault is locked\nhint: tokenkeep unlock\n")
        self.ready(3, "--save")
        self.ready(0, "--save", "--password-file", self.world.password_file())

    def test_a_machine_that_derives_keys_slowly(self):
        self.world.tokenkeep("save", "s", "u", input="x")
        self.world.set_password()
        self.world.lock()
        command = [TOKENKEEP, "ready", "--save", "--stack", "any required vault", "--timeout", "3600s",
                   "--password-file", self.world.password_file()]
        # Each moment of the derivation lasts longer than a module may take to answer.
        with subprocess.Popen(command, env=self.world.environment) as process:
            while process.poll() is None:
                tests_clock.advance(3)
        self.assertEqual(process.returncode, 0)

    def test_a_vault_behind_the_bus(self):
        self.world.tokenkeep("save", "s", "u", input="x")
        self.world.set_password()
        self.world.provider()
        self.both(0)
        self.world.lock()
        self.both(3)

    def test_a_keyring_that_was_used_and_is_gone(self):
        provider = self.world.provider(TOKENKEEP_VAULT=os.path.join(self.world.home, "other"))
        self.world.tokenkeep("save", "s", "u", input="x")
        self.both(0)
        self.world.stop(provider)
        self.ready(4)
        # The vault keeps what the keyring misses.
        self.ready(0, "--save")

    def test_a_sign_in_is_not_begun_if_its_tokens_cannot_be_kept(self):
        folder = os.path.join(self.world.home, "config/tokenkeep/providers.d")
        os.makedirs(folder, mode=0o700)
        # A server that is not there: who asks it is told so.
        with open(os.path.join(folder, "here.conf"), "w", encoding="utf-8") as file:
            file.write("issuer = http://127.0.0.1:9\nclient_id = me\n")
        self.world.tokenkeep("save", "s", "u", input="x")
        self.world.set_password()
        self.world.lock()
        login = ["session", "login", "api", "ann", "--provider", "here", "--no-open"]
        done = self.world.tokenkeep(*login, check=False)
        self.assertEqual((done.returncode, done.stderr), (3, "tokenkeep: vault: the vault is locked\nhint: tokenkeep unlock\n"))
        self.world.unlock()
        done = self.world.tokenkeep(*login, check=False)
        self.assertEqual(done.returncode, 4)
        self.assertIn("Failed to connect to 127.0.0.1 port 9", done.stderr)

    def test_a_stack_without_a_module_that_is_there(self):
        folder = os.path.join(self.world.home, "config/tokenkeep/stack.d")
        os.makedirs(folder, mode=0o700)
        with open(os.path.join(folder, "only.conf"), "w", encoding="utf-8", opener=lambda p, f: os.open(p, f, 0o600)) as file:
            file.write("any required secret-service\n")
        self.assertIn("no module of the stack keeps items now", self.ready(4, "--stack", "only"))


if __name__ == "__main__":
    unittest.main()
