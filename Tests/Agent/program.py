#!/usr/bin/python3
"""The program with the agent: unlock, load, lock, protection, lockers. Usage: program.py AGENT PROGRAM TEST…"""
import json
import os
import signal
import subprocess
import sys
import unittest

from patience import PATIENCE, stop_process, wait_until
from still_clock import StillClock
from world import Desktop, kernel_keys, publish

AGENT, PROGRAM = sys.argv[1:3]
SECRET = "when the screen is open"
# The clock that the program lives by, but not the agent, whose clock stands still (run.sh).
CLOCK = {name: os.environ[name] for name in ("TOKENKEEP_TEST_CLOCK", "LD_PRELOAD")}
UNIT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "tokenkeep-sync.service.in")
# The agent that `tokenkeep agent run` becomes lies beside the program.
assert os.path.exists(os.path.join(os.path.dirname(PROGRAM), "../libexec/tokenkeep/tokenkeep-agent"))


class Case(unittest.TestCase):
    def setUp(self):
        self.world = Desktop(AGENT)
        self.addCleanup(self.world.close)
        self.addCleanup(self.run_program, "lock")
        self.world.environment.update(CLOCK)
        self.environment = {**self.world.environment, "TOKENKEEP_VAULT": self.world.directory + "/vault"}
        self.run_program("password", "set", "--stdin", input="secret\n", check=True)
        self.run_program("lock", check=True)

    def run_program(self, *arguments, input="", check=False):
        result = subprocess.run(
            [PROGRAM, *arguments, *(() if arguments[0] == "agent" else ("--stack", "any required vault"))], input=input,
            env=self.environment, capture_output=True, text=True, timeout=PATIENCE)
        if check:
            self.assertEqual(result.returncode, 0, result.stderr)
        return result

    def hang_agent(self):
        """Stops the agent as one that hangs."""
        stop_process(self.world.agent.pid)
        self.addCleanup(self.world.agent.send_signal, signal.SIGCONT)

        def is_stopped():
            with open(f"/proc/{self.world.agent.pid}/stat", encoding="utf-8") as stat:
                return stat.read().rsplit(")", 1)[1].split()[0] == "T"

        wait_until(is_stopped, "the agent's stop")

    def waiting_requests(self):
        """The connections that a stopped agent has not accepted, also those whose client gave up."""
        with open("/proc/net/unix", encoding="utf-8") as sockets:
            return sum(line.rstrip("\n").endswith(" " + self.world.socket) for line in sockets) - 1

    def pass_requests(self, program, most=PATIENCE):
        """Passes the limit of each request to an agent that hangs, until the program ends. Returns their number."""
        passed, before = 0, self.waiting_requests()

        def is_waiting():
            return self.waiting_requests() > before + passed

        while passed < most:
            wait_until(lambda: program.poll() is not None or is_waiting(), "the program's end or its next request")
            if not is_waiting():
                break
            passing = subprocess.Popen(["test-clock", "pass", str(program.pid)])
            wait_until(lambda: passing.poll() is not None or program.poll() is not None, "the limit of the request")
            passing.kill()
            passing.wait()
            passed += 1
        return passed

    def run_beside_hanging_agent(self, *arguments, input=""):
        program = subprocess.Popen(
            [PROGRAM, *arguments, "--stack", "any required vault"], env=self.environment, text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        program.stdin.write(input)
        program.stdin.close()
        program.stdin = None
        self.pass_requests(program)
        output, errors = program.communicate()
        return subprocess.CompletedProcess(arguments, program.returncode, output, errors)

    def start_agent(self, proved=True):
        self.world.start_agent()
        self.world.wait_for(word="none")
        if proved:
            self.world.set_hint(True)
            self.world.wait_for(locked=True)
            self.world.set_hint(False)
            self.world.wait_for(locked=False, proved=True)

    def unlock(self):
        return self.run_program("unlock", "--stdin", input="secret\n", check=True)

    def save(self, *flags):
        return self.run_program("save", "example.com", "ann", "--level", "when-unlocked", *flags, input=SECRET)

    def load(self):
        return self.run_program("load", "example.com", "ann")

    def screen_axis(self):
        return self.axis_of(self.run_program("protection", "--json", check=True))

    def axis_of(self, protection):
        levels = json.loads(protection.stdout)["levels"]
        return next(row for row in levels if row["level"] == "when-unlocked")["axes"]["screen-lock"]

    def class_key_1(self):
        rows = kernel_keys("tokenkeep:")
        with open("/proc/keys", encoding="utf-8") as keys:
            numbers = {int(line.split()[0], 16) for line in keys if ":1:" in line}
        return [row for row in rows if row[0] in numbers and "R" not in row[1]]


class WithAgent(Case):
    def test_an_item_is_read_while_the_screen_is_open_and_locked_with_it(self):
        self.start_agent()
        self.unlock()
        self.assertEqual(self.save().returncode, 0)
        self.assertEqual(self.load().stdout, SECRET)
        self.assertEqual(sorted(row[3] for row in self.class_key_1()), [4, 32])
        self.world.set_hint(True)
        self.world.wait_for(locked=True)
        self.assertEqual(self.load().returncode, 3)
        self.assertEqual(self.class_key_1(), [])
        waiting = self.unlock()
        self.assertIn("the screen is locked", waiting.stderr)
        self.assertEqual(self.load().returncode, 3)
        self.world.set_hint(False)
        self.world.wait_for(published=True)
        self.assertEqual(self.load().stdout, SECRET)

    def test_every_command_that_opens_the_vault_gives_the_agent_the_key(self):
        self.start_agent(proved=False)
        code = self.run_program("recovery", "create", "--stdin", input="secret\n", check=True).stdout.strip()
        for *words, given in (("unlock", "secret\n"), ("password", "change", "secret\nanother\n"),
                              ("recovery", "use", f"{code}\nsecret\n")):
            self.run_program("lock", check=True)
            self.assertFalse(self.world.status().holds)
            self.run_program(*words, "--stdin", input=given, check=True)
            self.assertTrue(self.world.status().published, words)
            wait_until(lambda: sorted(row[3] for row in self.class_key_1()) == [4, 32], f"the agent's key after {words}")

    def test_lock_works_while_the_agent_is_stopped_and_after_it_was_killed(self):
        for hangs in (True, False):
            for arguments in (("lock", "--screen"), ("lock",)):
                self.start_agent(proved=False)
                self.unlock()
                self.assertEqual(self.save().returncode, 0)
                if hangs:
                    self.hang_agent()
                else:
                    self.world.stop_agent(signal.SIGKILL)
                run = self.run_beside_hanging_agent if hangs else self.run_program
                self.assertEqual(run(*arguments).returncode, 0)
                self.assertEqual(self.class_key_1(), [])
                self.assertEqual(run("load", "example.com", "ann").returncode, 3)
                if hangs:
                    self.world.agent.send_signal(signal.SIGCONT)
                    self.world.wait_for(holds=False)
                    self.world.stop_agent()
                self.assertEqual(self.load().returncode, 3)

    def test_an_unlock_publishes_nothing_while_the_agent_hangs(self):
        self.start_agent(proved=False)
        self.hang_agent()
        unlocked = self.run_beside_hanging_agent("unlock", "--stdin", input="secret\n")
        self.assertEqual(unlocked.returncode, 0)
        self.assertIn("tokenkeep-agent does not answer", unlocked.stderr)
        self.assertEqual(self.class_key_1(), [])
        protection = self.run_beside_hanging_agent("protection", "--json")
        self.assertEqual(self.axis_of(protection)["strength"], "advisory")

    def login(self, command, input=b""):
        program = subprocess.Popen(
            [PROGRAM, "login", command, "--service", "test"], env=self.environment, stdin=subprocess.PIPE)
        self.addCleanup(program.wait)
        self.addCleanup(program.kill)
        program.stdin.write(input)
        program.stdin.close()
        return program

    def sign_in(self):
        """Unlocks as a login without a session does, for a minute: the agent gets no key yet."""
        self.start_agent(proved=False)
        self.unlock()
        self.assertEqual(self.save().returncode, 0)
        self.run_program("lock", check=True)
        self.assertEqual(self.login("unlock", b"secret").wait(PATIENCE), 0)
        self.assertFalse(self.world.status().holds)

    def test_the_begin_of_a_session_asks_an_agent_again_that_answers_late(self):
        self.sign_in()
        self.hang_agent()
        before = self.waiting_requests()
        confirming = self.login("confirm")
        self.pass_requests(confirming, most=1)
        wait_until(lambda: self.waiting_requests() == before + 2, "a second request")
        self.world.agent.send_signal(signal.SIGCONT)
        self.assertEqual(confirming.wait(PATIENCE), 0)
        self.assertTrue(self.world.status().published)
        # The kernel collects the key that the number has displaced.
        wait_until(lambda: sorted(row[3] for row in self.class_key_1()) == [4, 32], "the agent's key alone")
        self.assertEqual(self.load().stdout, SECRET)

    def test_the_begin_of_a_session_asks_an_agent_that_hangs_five_times(self):
        self.sign_in()
        self.hang_agent()
        confirming = self.login("confirm")
        self.assertEqual((self.pass_requests(confirming), confirming.wait(PATIENCE)), (5, 0))

    def test_lock_tells_the_agent_to_drop_the_vault(self):
        self.start_agent(proved=False)
        self.unlock()
        self.run_program("lock", check=True)
        self.assertFalse(self.world.status().holds)

    def test_enforced_is_said_only_of_a_proved_source(self):
        self.start_agent(proved=False)
        axis = self.screen_axis()
        self.assertEqual((axis["strength"], "test-lock" in axis["remedy"]), ("advisory", True))
        self.unlock()
        self.assertEqual(self.save("--require-enforced").returncode, 5)
        self.world.set_hint(True)
        self.world.wait_for(locked=True)
        self.world.set_hint(False)
        self.world.wait_for(proved=True)
        self.unlock()
        self.assertEqual(self.screen_axis()["strength"], "enforced")
        saved = self.save("--require-enforced")
        self.assertEqual(saved.returncode, 0, saved.stderr)
        self.assertEqual(self.load().stdout, SECRET)
        # Without the agent the same item is locked, though the vault is unlocked for its three minutes.
        self.world.stop_agent()
        self.unlock()
        refused = self.load()
        self.assertEqual(refused.returncode, 3)
        self.assertIn("the level must be enforced, and no agent here is known to see the lock of the screen", refused.stderr)
        self.assertEqual(self.screen_axis()["strength"], "advisory")

    def test_enforced_is_not_said_while_a_key_is_readable_without_the_agent(self):
        self.start_agent()
        self.unlock()
        self.assertEqual(self.screen_axis()["strength"], "enforced")
        with open("/proc/keys", encoding="utf-8") as keys:
            description = next(
                line.split()[8].rstrip(":") for line in keys
                if ":1:" in line and int(line.split(None, 1)[0], 16) in [row[0] for row in self.class_key_1()])
        publish(description, os.urandom(32))
        axis = self.screen_axis()
        self.assertEqual((axis["strength"], "lock --screen" in axis["remedy"]), ("advisory", True))
        self.world.lock()
        self.unlock()
        self.assertEqual(self.screen_axis()["strength"], "enforced")

    def test_without_an_agent_the_key_ends_by_itself(self):
        self.unlock()
        self.assertEqual(self.save().returncode, 0)
        self.assertEqual(self.load().stdout, SECRET)
        (key,) = self.class_key_1()
        self.assertEqual(key[3], 32)
        self.assertIn(key[2], ("3m", "2m") + tuple(f"{second}s" for second in range(60, 181)))

    def test_status_says_whether_an_agent_runs(self):
        absent = self.run_program("agent", "status")
        self.assertEqual(absent.returncode, 4)
        self.assertIn("no agent runs", absent.stderr)
        self.start_agent()
        self.assertIn("lock source: login1's LockedHint", self.run_program("agent", "status", check=True).stdout)
        state = json.loads(self.run_program("agent", "status", "--json", check=True).stdout)
        self.assertEqual(
            state, {"running": True, "answers": True, "locked": False, "holds": False, "published": False,
                    "proved": True, "source": "hint"})

    def test_agent_run_becomes_the_agent(self):
        self.world.run_agent([PROGRAM, "agent", "run"])
        wait_until(self.world.is_listening, "the agent's socket")
        with open(f"/proc/{self.world.agent.pid}/comm", encoding="utf-8") as name:
            self.assertEqual(name.read().strip(), "tokenkeep-agent")


class Draining(Case):
    """A real gnome-keyring on the desktop's bus, and a service manager that runs what the unit runs."""

    def start_keyring(self):
        keyring = subprocess.Popen(
            ["gnome-keyring-daemon", "--unlock", "--components=secrets", "--foreground"], env=self.environment,
            stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        keyring.stdin.write(b"password")
        keyring.stdin.close()
        self.addCleanup(keyring.wait)
        self.addCleanup(keyring.kill)
        wait_until(lambda: self.world.session_connection.name_has_owner("org.freedesktop.secrets"), "the keyring")
        return keyring

    def run_default(self, *arguments, input=""):
        return subprocess.run(
            [PROGRAM, *arguments], input=input, env=self.environment, capture_output=True, text=True, timeout=PATIENCE)

    def kept_by_the_keyring(self):
        found = subprocess.run(
            ["secret-tool", "lookup", "service", "example.com", "username", "ann"], env=self.environment,
            capture_output=True, text=True, timeout=PATIENCE)
        return found.stdout

    def test_a_change_that_the_keyring_missed_is_drained_when_the_keyring_appears(self):
        self.world.environment.update(
            TOKENKEEP_VAULT=self.environment["TOKENKEEP_VAULT"], XDG_DATA_HOME=self.world.directory + "/data",
            XDG_CONFIG_HOME=self.world.directory + "/config")
        self.environment = dict(self.world.environment)
        with open(UNIT, encoding="utf-8") as unit:
            command = next(line for line in unit if line.startswith("ExecStart=")).split("/")[-1].split()
        self.assertEqual(command[0], "tokenkeep")
        self.world.start_manager(f"__import__('subprocess').Popen({[PROGRAM, *command[1:]]})")
        self.unlock()
        keyring = self.start_keyring()
        saved = self.run_default("save", "example.com", "ann", input="before")
        self.assertEqual((saved.returncode, self.kept_by_the_keyring()), (0, "before"), saved.stderr)
        keyring.kill()
        keyring.wait()
        wait_until(lambda: not self.world.session_connection.name_has_owner("org.freedesktop.secrets"), "its end")
        saved = self.run_default("save", "example.com", "ann", input="after")
        self.assertEqual(saved.returncode, 0, saved.stderr)
        self.assertIn("pending", self.run_default("status").stdout)
        self.start_agent(proved=False)
        self.assertEqual(self.world.started_units(), [])
        self.start_keyring()
        wait_until(lambda: self.kept_by_the_keyring() == "after", "the drained change")
        self.assertEqual(self.world.started_units(), ["tokenkeep-sync.service"])


class Lockers(Case):
    def setUp(self):
        super().setUp()
        self.environment["XDG_SESSION_ID"] = "c1"

    def lock_with(self, command):
        return subprocess.Popen(
            [PROGRAM, "lock", "--screen", "--stack", "any required vault", "--", "/bin/sh", "-c", command],
            env=self.environment, stdin=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def test_a_locker_without_a_hint_gets_one_until_it_ends_well(self):
        self.start_agent(proved=False)
        self.unlock()
        locker = self.lock_with("read password")
        self.world.wait_for(word="hint", locked=True)
        self.assertEqual(self.class_key_1(), [])
        locker.communicate("secret\n")
        self.assertEqual(locker.returncode, 0)
        self.world.wait_for(locked=False, proved=True)

    def test_a_locker_that_fails_leaves_the_screen_locked(self):
        self.start_agent(proved=False)
        locker = self.lock_with("kill -9 $$")
        locker.communicate()
        self.assertEqual(locker.returncode, 137)
        self.world.wait_for(word="hint", locked=True)

    def test_a_locker_runs_without_agent_login1_and_vault(self):
        self.environment["TOKENKEEP_VAULT"] = self.world.directory + "/none"
        self.environment["DBUS_SYSTEM_BUS_ADDRESS"] = "unix:path=/nonexistent"
        mark = os.path.join(self.world.directory, "ran")
        locker = self.lock_with(f": > '{mark}'")
        locker.communicate()
        self.assertTrue(os.path.exists(mark))

    def test_a_locker_ends_the_keys_of_every_vault_before_any_file_is_read(self):
        self.unlock()
        self.assertNotEqual(self.class_key_1(), [])
        self.environment["TOKENKEEP_VAULT"] = self.world.directory + "/none"
        trace = os.path.join(self.world.directory, "trace")
        locker = subprocess.run(
            ["strace", "-f", "-e", "trace=%file,execve", "-o", trace,
             PROGRAM, "lock", "--screen", "--", "/bin/true"], env=self.environment, capture_output=True, text=True)
        self.assertEqual(self.class_key_1(), [], locker.stderr)
        with open(trace, encoding="utf-8") as lines:
            files = lines.read()
        self.assertIn("execve", files)
        self.assertNotIn(self.world.directory + "/vault", files)
        self.assertNotIn(self.world.directory + "/none", files)

    def test_a_desktop_without_a_name_gets_no_remedy_that_cannot_help(self):
        self.start_agent(proved=False)
        self.world.set_property("Desktop", "")
        self.world.wait_for(word="nameless")
        levels = json.loads(self.run_program("protection", "--json", check=True).stdout)["levels"]
        axis = next(row for row in levels if row["level"] == "when-unlocked")["axes"]["screen-lock"]
        self.assertEqual(axis["mechanism"], "this desktop has no name, under which its lock could be noted")
        self.assertEqual(axis["remedy"], "give pam_systemd.so the option desktop=NAME, and log in again")
        self.assertIn(f"proved: no; {axis['remedy']}\n", self.run_program("agent", "status", check=True).stdout)
        trial = self.run_program("agent", "test-lock")
        self.assertEqual((trial.returncode, axis["remedy"] in trial.stderr), (4, True))
        self.assertEqual(self.world.status().word, "nameless")

    def test_test_lock_names_the_source_or_what_to_configure(self):
        self.start_agent(proved=False)
        # The trial's time stands still, too.
        clock = StillClock(os.path.join(self.world.directory, "trial-clock"))
        environment = {**self.environment, **self.world.clock_environment, "TOKENKEEP_AGENT_CLOCK": clock.path}
        trial = subprocess.Popen([PROGRAM, "agent", "test-lock"], env=environment, stdout=subprocess.PIPE, text=True)
        self.world.wait_for(word="signal")
        self.world.set_hint(True)
        self.assertEqual(trial.communicate()[0], "the agent saw the lock by login1's LockedHint\n")
        self.world.set_hint(False)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0]] + sys.argv[3:])
