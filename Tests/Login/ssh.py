#!/usr/bin/env python3
"""ssh-askpass with the real ssh-keygen, ssh-agent and ssh-add. Usage: ssh.py STAGE [TEST…]"""

import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "Support"))
import tests_clock  # noqa: E402: its folder must be on the path first
from patience import PATIENCE, wait_until  # noqa: E402

tests_clock.require()
STAGE = pathlib.Path(sys.argv[1]).resolve()
ASKPASS = STAGE / "libexec/tokenkeep/ssh-askpass"
PROGRAM = STAGE / "bin/tokenkeep"
PASSPHRASE = "horse 'battery' $staple"


class Case(unittest.TestCase):
    def setUp(self):
        self.directory = tempfile.mkdtemp(prefix="tokenkeep-ssh.")
        self.addCleanup(shutil.rmtree, self.directory)
        configuration = pathlib.Path(self.directory, "config/tokenkeep/stack.d")
        configuration.mkdir(parents=True)
        (configuration / "default.conf").write_text("any required vault\n")
        self.environment = {
            "PATH": "/usr/bin:/bin",
            **tests_clock.environment(),
            "HOME": self.directory,
            "XDG_CONFIG_HOME": self.directory + "/config",
            "TOKENKEEP_VAULT": self.directory + "/vault",
            "SSH_ASKPASS": str(ASKPASS),
            "SSH_ASKPASS_REQUIRE": "force",
            "SSH_AUTH_SOCK": self.directory + "/agent",
        }
        self.agent_log = pathlib.Path(self.directory, "agent.log")
        with self.agent_log.open("wb") as log:
            agent = subprocess.Popen(
                ["ssh-agent", "-D", "-a", self.directory + "/agent"], env=self.environment, stdout=subprocess.PIPE,
                stderr=log)
        self.addCleanup(agent.stdout.close)
        self.addCleanup(agent.wait)
        self.addCleanup(agent.send_signal, signal.SIGTERM)
        agent.stdout.readline()

    def run_program(self, *words, input=b"", **variables):
        return subprocess.run(
            words, input=input, env={**self.environment, **variables}, capture_output=True, timeout=PATIENCE)

    def tokenkeep(self, *words, input=b""):
        result = self.run_program(str(PROGRAM), *words, input=input)
        self.assertEqual(result.returncode, 0, result.stderr)

    def make_key(self, name):
        """Makes a key with a passphrase. Returns its path, in bytes."""
        path = os.path.join(os.fsencode(self.directory), name)
        made = self.run_program("ssh-keygen", "-q", "-t", "ed25519", "-C", "test", "-N", PASSPHRASE, "-f", path)
        self.assertEqual(made.returncode, 0, made.stderr)
        return path

    def keep(self, path, passphrase=PASSPHRASE):
        self.tokenkeep("save", "ssh", path, input=passphrase.encode())

    def count_keys(self):
        listed = self.run_program("ssh-add", "-l")
        return listed.stdout.count(b"\n") if listed.returncode == 0 else 0

    def expect_refusal(self, question, text=b"", **variables):
        result = self.run_program(ASKPASS, question, **variables)
        self.assertEqual((result.returncode, result.stdout), (1, b""))
        self.assertIn(text, result.stderr)


class Answered(Case):
    def expect_key(self, name, *options):
        path = self.make_key(name)
        self.keep(path)
        added = self.run_program("ssh-add", *options, path)
        self.assertEqual((added.returncode, self.count_keys()), (0, 1), added.stderr)

    def test_a_key_is_added_with_its_item(self):
        self.expect_key(b"id_ed25519")

    def test_a_path_may_have_spaces_quotes_and_colons(self):
        self.expect_key("my key's: pläce: ".encode())

    def test_a_key_whose_uses_are_confirmed_is_added(self):
        self.expect_key(b"id_confirmed", "-c")

    def test_each_of_several_keys_gets_its_own_passphrase(self):
        first, second = self.make_key(b"first"), self.make_key(b"second")
        self.keep(first)
        changed = self.run_program("ssh-keygen", "-q", "-p", "-P", PASSPHRASE, "-N", "another one", "-f", second)
        self.assertEqual(changed.returncode, 0, changed.stderr)
        self.keep(second, "another one")
        self.assertEqual(self.run_program("ssh-add", first, second).returncode, 0)
        self.assertEqual(self.count_keys(), 2)

    def test_the_passphrase_is_in_no_argument_and_no_variable(self):
        path = self.make_key(b"id_traced")
        self.keep(path)
        trace = self.directory + "/trace"
        traced = self.run_program(
            "strace", "-f", "-v", "-s", "4096", "-e", "trace=execve", "-o", trace, ASKPASS,
            b"Enter passphrase for " + path + b": ")
        self.assertEqual(traced.stdout, PASSPHRASE.encode(), traced.stderr)
        with open(trace, encoding="utf-8", errors="replace") as lines:
            calls = lines.read()
        self.assertIn("id_traced", calls)
        self.assertNotIn("horse", calls)


class Refused(Case):
    def expect_no_key(self, path, text):
        added = self.run_program("ssh-add", path)
        self.assertEqual((added.returncode, self.count_keys()), (1, 0))
        self.assertIn(text, added.stderr)

    def test_a_wrong_passphrase_is_given_once(self):
        path = self.make_key(b"id_wrong")
        self.keep(path, "wrong")
        questions = pathlib.Path(self.directory, "questions")
        counting = pathlib.Path(self.directory, "askpass")
        counting.write_text(f'#!/bin/sh\necho "$1" >> {questions}\nexec {ASKPASS} "$1"\n')
        counting.chmod(0o755)
        self.environment["SSH_ASKPASS"] = str(counting)
        self.expect_no_key(path, b"the passphrase that TokenKeep has is not the key's")
        self.assertEqual(
            questions.read_bytes(), b"Enter passphrase for %s: \nBad passphrase, try again for %s: \n" % (path, path))

    def test_a_key_without_an_item_is_not_added(self):
        self.expect_no_key(self.make_key(b"id_missing"), b"no item ssh")

    def test_a_locked_vault_adds_no_key_until_it_is_unlocked(self):
        path = self.make_key(b"id_locked")
        self.tokenkeep("password", "set", "--stdin", input=b"secret\n")
        self.addCleanup(self.tokenkeep, "lock")
        self.keep(path)
        self.tokenkeep("lock")
        self.expect_no_key(path, b"locked")
        self.expect_refusal(b"Enter passphrase for " + path + b": ", b"locked")
        self.tokenkeep("unlock", "--stdin", input=b"secret\n")
        self.assertEqual(self.run_program("ssh-add", path).returncode, 0)

    def test_a_path_that_no_item_can_have_adds_no_key(self):
        self.expect_no_key(self.make_key(b"latin-\xe9"), b"UTF-8")
        self.expect_no_key(self.make_key(b"two\nlines"), b"control character")

    def test_a_relative_path_gets_no_answer(self):
        self.expect_refusal("Enter passphrase for id_ed25519: ", b"absolute path")

    def test_a_use_that_the_agent_asks_about_is_not_confirmed(self):
        path = self.make_key(b"id_asked")
        self.keep(path)
        self.assertEqual(self.run_program("ssh-add", "-c", path).returncode, 0)
        signed = self.run_program(
            "ssh-keygen", "-Y", "sign", "-n", "test", "-f", path + b".pub", input=b"text", SSH_ASKPASS="/nonexistent")
        self.assertNotEqual(signed.returncode, 0)
        self.assertIn("a confirmation is the user's to give", self.agent_log.read_text())
        self.assertEqual(self.run_program("ssh-add", path).returncode, 0)
        signed = self.run_program(
            "ssh-keygen", "-Y", "sign", "-n", "test", "-f", path + b".pub", input=b"text", SSH_ASKPASS="/nonexistent")
        self.assertIn(b"BEGIN SSH SIGNATURE", signed.stdout, signed.stderr)

    def test_confirmations_pins_and_questions_of_other_programs_get_no_answer(self):
        path = self.make_key(b"id_other")
        self.keep(path)
        ours = b"Enter passphrase for " + path + b": "
        self.expect_refusal(ours, b"confirmation", SSH_ASKPASS_PROMPT="confirm")
        self.expect_refusal(ours, b"confirmation", SSH_ASKPASS_PROMPT="none")
        for question in (
            b"", b"Enter PIN for ED25519-SK key " + path + b": ", b"Enter passphrase for PKCS#11: ",
            b"Enter passphrase for key '" + path + b"': ", b"Allow use of key " + path + b"?",
            b"ann@example.com's password: ", ours[:-2], b" " + ours,
        ):
            self.expect_refusal(question)
        self.assertEqual(self.run_program(ASKPASS).returncode, 1)
        self.assertEqual(self.run_program(ASKPASS, ours).stdout, PASSPHRASE.encode())


class Stopped(Case):
    def use_program(self, script, seconds):
        """Makes a copy of the askpass that runs a script in the place of tokenkeep, and gives it so many seconds."""
        installed = ASKPASS.read_text()
        self.assertIn(f'"{PROGRAM}"', installed)
        folder = pathlib.Path(self.directory, "programs")
        folder.mkdir()
        # Refuses other times than the installed askpass has.
        times = f'test "$1 $2" = "--kill-after=1 30" && shift 2 && exec /usr/bin/timeout --kill-after=0.1 {seconds} "$@"'
        for name, text in (("askpass", installed.replace(str(PROGRAM), f"{folder}/tokenkeep")),
                           ("tokenkeep", f"#!/bin/sh\necho $$ > {folder}/process\n{script}\n"),
                           ("timeout", f"#!/bin/sh\n{times}\n")):
            path = folder / name
            path.write_text(text)
            path.chmod(0o755)
        self.environment.update(PATH=f"{folder}:/usr/bin:/bin", SSH_ASKPASS=f"{folder}/askpass")
        return folder

    def expect_an_end(self, script):
        path = self.make_key(b"id_stopped")
        folder = self.use_program(script, 1)
        added = self.run_program("ssh-add", path)
        self.assertEqual((added.returncode, self.count_keys()), (1, 0))
        process = (folder / "process").read_text().strip()
        # One that was killed may not be gone yet.
        wait_until(lambda: self.run_program("ps", "-o", "stat=", "-p", process).stdout.strip()[:1] in (b"", b"Z"),
                   "the end of the program")

    def test_a_program_that_is_stopped_adds_no_key(self):
        self.expect_an_end("kill -STOP $$")

    def test_a_program_that_ignores_its_end_adds_no_key(self):
        self.expect_an_end("trap '' TERM; while :; do :; done")

    def test_a_program_in_time_is_not_ended(self):
        path = self.make_key(b"id_in_time")
        passphrase = pathlib.Path(self.directory, "passphrase")
        passphrase.write_text(PASSPHRASE)
        self.use_program(f"cat {passphrase}", PATIENCE)
        added = self.run_program("ssh-add", path)
        self.assertEqual((added.returncode, self.count_keys()), (0, 1), added.stderr)


class Unit(unittest.TestCase):
    def test_the_unit_names_the_installed_askpass(self):
        with open(STAGE / "lib/systemd/user/tokenkeep-ssh-add.service", encoding="utf-8") as unit:
            self.assertIn(f"Environment=SSH_ASKPASS={ASKPASS} SSH_ASKPASS_REQUIRE=force\n", unit.read())


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0]] + sys.argv[2:])
