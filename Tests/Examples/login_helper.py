#!/usr/bin/python3
"""examples/login-helper with real pinentry-tty, ssh-add, davfs2 and agent, and with pinentries that lie.

Usage: login_helper.py STAGE [--without CLASS] [-v] [TEST…]"""

import http.server
import os
import pathlib
import pty
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "Agent"), str(HERE.parent / "Support")]
from exchange import exchange  # noqa: E402
from patience import PATIENCE  # noqa: E402
import tests_clock  # noqa: E402
from world import Desktop, wait_until  # noqa: E402

tests_clock.require()
STAGE = pathlib.Path(sys.argv[1]).resolve()
PROGRAM = STAGE / "bin/tokenkeep"
AGENT = STAGE / "libexec/tokenkeep/tokenkeep-agent"
SOURCES = STAGE / "share/doc/tokenkeep/examples/login-helper"
FAKE = HERE / "fake_pinentry.py"
PASSWORD = "pass wörd 100%"
WORK = pathlib.Path(tempfile.mkdtemp(prefix="tokenkeep-helper."))
# Mount helpers work as users of their own.
WORK.chmod(0o755)
# A second of the helper's pauses is 5 ms, and no command is so slow that it counts as one that ran for long. The helper gives
# a command little time for its end only where a test waits for that.
QUICK = "-DSECOND_US=5000 -DRETRY_US=50000 -DLONG_RUN_US=3600000000"
HASTY = QUICK + " -DPATIENCE_US=300000"


def build(name, flags, quick=""):
    """Builds a copy of the installed example. Returns its folder."""
    folder = WORK / name
    shutil.copytree(SOURCES, folder)
    environment = {**os.environ, "PKG_CONFIG_PATH": str(STAGE / "lib/pkgconfig")}
    subprocess.run(
        ["make", "--silent", "-C", folder, f"CFLAGS={flags} -Werror", f"CPPFLAGS={quick}"], check=True, env=environment)
    return folder


# The fake pinentries whose answer is waited for in vain, and the line of their log after which nothing comes.
SILENT = {"mute": "start", "hang": "GETPIN"}


class Case(unittest.TestCase):
    password = None

    def setUp(self):
        self.directory = pathlib.Path(tempfile.mkdtemp(prefix="case.", dir=WORK))
        self.directory.chmod(0o755)
        self.runtime = self.directory / "run"
        self.runtime.mkdir(mode=0o700)
        stacks = self.directory / "config/tokenkeep/stack.d"
        stacks.mkdir(parents=True)
        (stacks / "default.conf").write_text("any required vault\n")
        self.fake_log = self.directory / "pinentry.log"
        self.fake_log.touch()
        self.environment = {
            "PATH": f"{HELPER}:/usr/bin:/bin:/usr/sbin:/sbin",
            "HOME": str(self.directory),
            "LANG": "C.UTF-8",
            "XDG_CONFIG_HOME": str(self.directory / "config"),
            "XDG_RUNTIME_DIR": str(self.runtime),
            "TOKENKEEP_VAULT": str(self.directory / "vault"),
            "LD_LIBRARY_PATH": str(STAGE / "lib"),
            "DBUS_SESSION_BUS_ADDRESS": "unix:path=/nonexistent",
            **tests_clock.environment(),
            "ASAN_OPTIONS": "detect_leaks=0:verify_asan_link_order=0",  # the clock's library is before ASan's
            "UBSAN_OPTIONS": "halt_on_error=1",
            "FAKE_PINENTRY_LOG": str(self.fake_log),
            "FAKE_PINENTRY": "dead",
            "OUT": str(self.directory / "out"),
        }
        self.out = self.directory / "out"
        self.helper = None
        self.addCleanup(self.stop)
        if self.password:
            self.tokenkeep("password", "set", "--stdin", input=self.password + "\n")
            self.addCleanup(self.tokenkeep, "lock")

    def tokenkeep(self, *words, input=""):
        result = subprocess.run(
            [PROGRAM, *words], input=input, env=self.environment, capture_output=True, text=True, timeout=PATIENCE)
        self.assertEqual(result.returncode, 0, result.stderr)
        return result.stdout

    def save(self, token, service="example.com", account="ann"):
        self.tokenkeep("save", service, account, input=token)

    def start(self, *lines, pinentry=FAKE, is_hasty=False):
        self.stop()
        path = self.directory / "helper.conf"
        path.write_text("".join(line + "\n" for line in lines))
        with (self.directory / "errors").open("ab") as errors:
            self.helper = subprocess.Popen(
                [(HASTY_HELPER if is_hasty else HELPER) / "login-helper", "--config", path, "--pinentry", pinentry],
                env=self.environment, stdin=subprocess.DEVNULL, stderr=errors)

    def stop(self):
        helper, self.helper = self.helper, None
        if helper:
            helper.terminate()
            self.assertEqual(helper.wait(PATIENCE), 0, self.errors())

    def errors(self):
        return (self.directory / "errors").read_text()

    def wait_for_error(self, text):
        wait_until(lambda: text in self.errors(), text)

    def wait_for_out(self, text):
        def is_there():
            self.assertIsNone(self.helper.poll(), self.errors())
            return self.out.exists() and self.out.read_text() == text

        try:
            wait_until(is_there, repr(text))
        except AssertionError as error:
            raise AssertionError(f"{error}\n{self.out.exists() and self.out.read_text()!r}\n{self.errors()}") from None

    def pinentry_lines(self, command):
        return [line for line in self.fake_log.read_text().splitlines() if line.split()[0] == command]


# Adds its token to the file, runs on, and says when it is ended.
RUNS_ON = """sh -c 'trap "echo ended >> $OUT; exit 0" TERM; t=$(cat); echo "$t" >> $OUT; sleep infinity & wait'"""
ONCE = """sh -c 't=$(cat); echo "$t" >> $OUT'"""


class Configuration(Case):
    def test_words_are_quoted_as_in_a_shell_and_nothing_is_expanded(self):
        self.save("t")
        self.start(
            "# a comment", "", "  # another",
            "example.com 'ann' -- sh -c 'printf \"<%s>\" \"$@\" > $OUT' - 'a b' \"c\\\"d\\e\" e\\ f \\\\ \"\\$HOME\" $HOME '' "
            "x#y '#'  * ~ jo\\", "ined \"two", "lines\"  # the end")
        self.wait_for_out('<a b><c"d\\e><e f><\\><$HOME><$HOME><><x#y><#><*><~><joined><two\nlines>')

    def expect_fault(self, text, message, mode=0o600):
        path = self.directory / "helper.conf"
        path.write_bytes(text)
        path.chmod(mode)
        result = subprocess.run(
            [HELPER / "login-helper", "--config", path], env=self.environment, capture_output=True, text=True, timeout=PATIENCE)
        self.assertEqual((result.returncode, result.stderr), (2, f"login-helper: {path}: {message}\n"))

    def test_a_fault_names_its_line(self):
        good = b"a b -- true\n"
        self.expect_fault(b"", "no line")
        self.expect_fault(good + b"a\n", "line 2: expected SERVICE ACCOUNT ('' for no account)")
        self.expect_fault(b"a -- true\n", "line 1: expected SERVICE ACCOUNT ('' for no account)")
        self.expect_fault(b"'x\ny' b\n", "line 2: -- and a command are missing")
        self.expect_fault(b"a b later -- true\n", "line 1: expected while-unlocked, ask or --")
        self.expect_fault(b"a b --\n", "line 1: a command is missing")
        self.expect_fault(b"a b -- ''\n", "line 1: a command is missing")
        self.expect_fault(good + good + b"a b -- 'x", "line 3: a quote is not closed")
        self.expect_fault(b"a b -- \"x\\", "line 1: a quote is not closed")
        self.expect_fault(b"a b -- cat | sh\n", "line 1: no shell runs the command: quote | & ; < > ( ) `")
        self.expect_fault(b"a b -- \0\n", "not a text of at most 65536 bytes")
        self.expect_fault(b"#" * 65537, "not a text of at most 65536 bytes")
        self.expect_fault(good, "another user may write it: chmod go-w", mode=0o622)

    def test_a_file_that_is_none_is_refused(self):
        for path, message in (("/dev/zero", "not a regular file"), ("/nonexistent", "No such file or directory")):
            result = subprocess.run(
                [HELPER / "login-helper", "--config", path], env=self.environment, capture_output=True, text=True, timeout=PATIENCE)
            self.assertEqual((result.returncode, result.stderr), (2, f"login-helper: {path}: {message}\n"))
        self.assertEqual(subprocess.run([HELPER / "login-helper"], capture_output=True, env=self.environment).returncode, 2)


class Commands(Case):
    def test_a_running_command_is_ended_before_it_gets_the_renewed_token(self):
        self.save("one")
        self.start(f"example.com ann -- {RUNS_ON}")
        self.wait_for_out("one\n")
        self.save("two")
        self.wait_for_out("one\nended\ntwo\n")

    def test_a_command_that_ended_with_0_runs_again_only_for_another_token(self):
        self.save("one")
        self.save("a", account="bob")
        self.start(f"example.com ann -- {ONCE}", f"example.com bob -- {ONCE.replace('$OUT', '$OUT.bob')}")
        self.wait_for_out("one\n")
        self.save("one")
        # The later change of another item shows that the helper has seen the first.
        self.save("b", account="bob")
        wait_until(lambda: pathlib.Path(f"{self.out}.bob").read_text() == "a\nb\n", "the other command")
        self.assertEqual(self.out.read_text(), "one\n")
        self.save("two")
        self.wait_for_out("one\ntwo\n")

    def test_a_command_that_fails_is_started_again_after_growing_pauses_until_the_token_changes(self):
        self.save("one")
        self.start("example.com ann -- sh -c 'cat >> $OUT; exit 3'")

        def pauses():
            return re.findall(r"\(ann\): the command ended with 3; started again in (\d+) s", self.errors())

        self.wait_for_error("in 300 s")
        self.assertEqual(pauses()[:10], ["1", "2", "4", "8", "16", "32", "64", "128", "256", "300"])
        self.save("two")
        wait_until(lambda: "1" in pauses()[10:], "the first pause of the new token")
        self.assertIn("two", self.out.read_text())

    def test_a_command_that_is_not_there_is_tried_again(self):
        self.save("one")
        self.start("example.com ann -- ./nothing")
        self.wait_for_error("the command cannot be run: No such file or directory; started again in 2 s")

    def test_a_token_of_a_megabyte_arrives_whole_and_may_be_left_unread(self):
        token = "x" * 1048575 + "y"
        self.save(token)
        self.start("example.com ann -- sh -c 'cat > $OUT'", "example.com ann -- true")
        self.wait_for_out(token)
        self.save("next")
        self.wait_for_out("next")
        self.assertNotIn("again in", self.errors())

    def test_a_cleared_token_ends_the_command_and_a_new_one_starts_it(self):
        self.save("one")
        self.start(f"example.com ann -- {RUNS_ON}")
        self.wait_for_out("one\n")
        self.tokenkeep("clear", "example.com", "ann")
        self.wait_for_out("one\nended\n")
        self.save("one")
        self.wait_for_out("one\nended\none\n")

    def test_a_command_that_does_not_end_is_killed_with_its_children(self):
        self.save("one")
        self.start(
            "example.com ann -- sh -c 'trap \"\" TERM; sh -c \"echo \\$\\$ > $OUT; exec sleep infinity\"; :'",
            is_hasty=True)
        wait_until(lambda: self.out.exists() and self.out.read_text(), "the child")
        child = int(self.out.read_text())
        self.stop()
        wait_until(lambda: not is_running(child), "the child's end")

    def test_the_helper_ends_while_commands_wait_pause_and_run(self):
        self.save("one")
        self.start(f"example.com ann -- {RUNS_ON}", "example.com ann -- false", "example.com bob -- true")
        self.wait_for_out("one\n")
        self.stop()
        self.assertEqual(self.out.read_text(), "one\nended\n")


def is_running(process):
    try:
        with open(f"/proc/{process}/stat", encoding="utf-8") as stat:
            return stat.read().rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False


class Vault(Case):
    def test_a_vault_that_is_made_later_is_waited_for(self):
        self.start(f"example.com ann -- {ONCE}")
        self.wait_for_error("the token is missing")
        self.save("one")
        self.wait_for_out("one\n")

    def test_a_vault_that_is_away_leaves_the_command_until_it_is_back(self):
        self.save("one")
        self.start(f"example.com ann -- {RUNS_ON}", "example.com bob -- sh -c 'cat > $OUT.bob'")
        self.wait_for_out("one\n")
        vault, away = self.directory / "vault", self.directory / "away"
        away.touch()
        exchange(vault, away)
        # A second helper finds no vault; the first has no reason to look.
        first, self.helper = self.helper, None
        self.start(f"example.com ann -- {ONCE.replace('$OUT', '$OUT.late')}")
        self.wait_for_error("not a directory")
        self.assertEqual(self.out.read_text(), "one\n")
        exchange(vault, away)
        wait_until(lambda: pathlib.Path(f"{self.out}.late").exists(), "the command of the second helper")
        self.stop()
        self.helper = first
        self.save("two")
        self.wait_for_out("one\nended\ntwo\n")


class Locked(Case):
    password = PASSWORD

    def setUp(self):
        super().setUp()
        self.save("one")
        self.tokenkeep("lock")
        self.line = f"example.com ann -- {ONCE}"

    def unlock(self):
        self.tokenkeep("unlock", "--stdin", input=PASSWORD + "\n")

    def begin_anew(self):
        self.stop()
        self.tokenkeep("lock")
        for file in (self.directory / "errors", self.out, self.fake_log):
            file.unlink(missing_ok=True)
        self.fake_log.touch()

    def answer(self, mode):
        self.environment["FAKE_PINENTRY"] = mode
        self.start(self.line, self.line)

    def test_the_answer_of_pinentry_opens_the_vault(self):
        self.answer("right:pass w%C3%B6rd 100%25")
        self.wait_for_out("one\none\n")
        self.assertEqual(len(self.pinentry_lines("start")), 1)
        description = self.pinentry_lines("SETDESC")[0]
        self.assertTrue(description.startswith("SETDESC ") and len(description) > 20, description)
        self.assertEqual(self.pinentry_lines("OPTION"), ["OPTION lc-ctype=C.UTF-8"])

    def test_a_wrong_password_is_asked_again_with_the_reason(self):
        self.answer("right:wrong,pass w%C3%B6rd 100%25")
        self.wait_for_out("one\none\n")
        self.assertEqual(self.pinentry_lines("SETERROR"), ["SETERROR That was wrong."])

    def test_a_pinentry_without_options_and_one_that_inquires_do(self):
        for mode in ("strict", "asks", "stays"):
            with self.subTest(mode):
                self.begin_anew()
                self.answer(mode + ":pass w%C3%B6rd 100%25")
                self.wait_for_out("one\none\n")

    def test_a_dismissed_question_is_not_asked_a_second_time(self):
        self.answer("cancel")
        self.wait_for_error("the vault stays locked (CANCELLED)")
        self.unlock()
        self.wait_for_out("one\none\n")
        self.tokenkeep("lock")
        self.assertEqual(len(self.pinentry_lines("start")), 1)

    def test_the_question_comes_again_once_after_an_unlock_and_another_lock(self):
        self.environment["FAKE_PINENTRY"] = "cancel"
        self.start("example.com ann -- sh -c 'cat > $OUT; exit 3'")
        self.wait_for_error("the vault stays locked (CANCELLED)")
        self.unlock()
        self.wait_for_error("the command ended with 3")
        self.tokenkeep("lock")
        wait_until(lambda: self.errors().count("the vault stays locked (CANCELLED)") == 2, "the second question")
        self.unlock()
        self.wait_for_error("in 300 s")
        self.assertEqual(len(self.pinentry_lines("start")), 2)

    def test_a_pinentry_that_lies_hangs_or_dies_opens_nothing_and_is_gone(self):
        for mode in (
            "dead", "mute", "rude", "garbage", "long", "early", "escape", "hang", "killed", "flood", "endless",
        ):
            with self.subTest(mode):
                self.begin_anew()
                self.answer(mode)
                if mode in SILENT:
                    wait_until(lambda: self.pinentry_lines(SILENT[mode]), "the question")
                    tests_clock.pass_limits(self.helper, lambda: "(CANCELLED)" in self.errors())
                self.wait_for_error("the vault stays locked (CANCELLED)")
                # The library asks once: it takes every failure for a refusal.
                starts = self.pinentry_lines("start")
                self.assertEqual(len(starts), 1)
                self.assertFalse(is_running(int(starts[0].split()[1])))
                self.assertFalse(self.out.exists())
                self.unlock()
                self.wait_for_out("one\none\n")

    def test_a_machine_without_pinentry_waits_for_the_unlock(self):
        self.start(self.line, pinentry="/nonexistent")
        self.wait_for_error("the vault stays locked")
        self.unlock()
        self.wait_for_out("one\n")

    def test_an_open_question_does_not_keep_the_helper_from_its_end(self):
        self.answer("hang")
        wait_until(lambda: self.pinentry_lines("GETPIN"), "the question")
        self.stop()
        (pinentry,) = self.pinentry_lines("start")
        self.assertFalse(is_running(int(pinentry.split()[1])))

    def test_a_lock_leaves_the_running_command_and_a_renewal_after_it_ends_it(self):
        self.unlock()
        self.start(f"example.com ann -- {RUNS_ON}")
        self.wait_for_out("one\n")
        self.tokenkeep("lock")
        self.unlock()
        self.save("two")
        self.wait_for_out("one\nended\ntwo\n")
        self.assertEqual(self.pinentry_lines("start"), [])

    @unittest.skipUnless(shutil.which("pinentry-tty"), "pinentry-tty is not installed")
    def test_the_real_pinentry_asks_on_a_terminal(self):
        master, slave = pty.openpty()
        self.addCleanup(os.close, master)
        self.addCleanup(os.close, slave)
        self.environment.update(GPG_TTY=os.ttyname(slave), TERM="xterm")
        self.start(self.line, pinentry="pinentry-tty")
        shown = b""
        while b"Password:" not in shown:
            shown += os.read(master, 4096)
        os.write(master, PASSWORD.encode() + b"\n")
        self.wait_for_out("one\n")


class Pinentry(Case):
    """pinentry.c in another program."""

    NEW_PASSWORD = "2"

    @classmethod
    def setUpClass(cls):
        cls.program = WORK / "pinentry_host"
        environment = {**os.environ, "PKG_CONFIG_PATH": str(STAGE / "lib/pkgconfig")}
        flags = subprocess.check_output(["pkg-config", "--cflags", "--libs", "tokenkeep"], env=environment, text=True).split()
        subprocess.run(
            ["cc", "-std=gnu11", "-Wall", "-Wextra", "-Werror", "-g", "-fsanitize=address,undefined", f"-I{SOURCES}",
             HERE / "pinentry_host.c", SOURCES / "pinentry.c", "-o", cls.program, *flags], check=True)

    def ask(self, mode, *words, kind="1", capacity="100"):
        self.environment["FAKE_PINENTRY"] = mode
        self.fake_log.write_text("")
        asking = subprocess.Popen(
            [self.program, FAKE, kind, capacity, *words], env=self.environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            text=True)
        if mode in SILENT:
            wait_until(lambda: self.pinentry_lines(SILENT[mode]), "the question")
            tests_clock.pass_limits(asking)
        answer, errors = asking.communicate(timeout=PATIENCE)
        self.assertEqual(asking.returncode, 0, errors)
        return answer.rstrip("\n")

    def test_texts_are_escaped_and_answers_decoded(self):
        self.assertEqual(self.ask("right:%25%41%c3%a4 x"), "OK %Aä x")
        self.assertEqual(self.pinentry_lines("SETDESC"), ['SETDESC 100%25 of%0Athe "vault" ä'])
        self.assertEqual(self.ask("right:"), "OK ")

    def test_an_answer_fills_the_buffer_and_no_more(self):
        self.assertEqual(self.ask("right:abcde", capacity="5"), "OK abcde")
        self.assertEqual(self.ask("right:abcdef", capacity="5"), "INVALID ")

    def test_each_failure_has_its_status(self):
        for mode, status in (
            ("cancel", "CANCELLED"), ("dead", "UNAVAILABLE"), ("rude", "UNAVAILABLE"), ("garbage", "IO"), ("long", "IO"),
            ("early", "IO"), ("escape", "IO"), ("killed", "UNAVAILABLE"), ("hang", "TIMED_OUT"), ("endless", "INVALID"),
            ("flood", "IO"),
        ):
            with self.subTest(mode):
                self.assertEqual(self.ask(mode), status + " ")

    def test_a_program_that_ignores_its_children_asks_too(self):
        self.assertEqual(self.ask("right:abc", "ignore-children"), "OK abc")

    def test_a_new_password_is_typed_twice(self):
        self.assertEqual(self.ask("repeats:abc", kind=self.NEW_PASSWORD), "OK abc")
        self.assertEqual(len(self.pinentry_lines("GETPIN")), 1)
        self.assertEqual(self.ask("strict:abc", kind=self.NEW_PASSWORD), "OK abc")
        self.assertEqual(len(self.pinentry_lines("GETPIN")), 2)
        self.assertEqual(self.ask("right:abc,abd,xyz,xyz", kind=self.NEW_PASSWORD), "OK xyz")
        self.assertEqual(self.pinentry_lines("SETERROR"), ["SETERROR The two answers differ."])
        self.assertEqual(self.ask("right:a,b,c,d,e,f,g,h", kind=self.NEW_PASSWORD), "CANCELLED ")
        self.assertEqual(len(self.pinentry_lines("GETPIN")), 6)

    @unittest.skipUnless(shutil.which("pinentry-tty"), "pinentry-tty is not installed")
    def test_the_real_pinentry_has_a_new_password_typed_twice(self):
        master, slave = pty.openpty()
        self.addCleanup(os.close, master)
        self.addCleanup(os.close, slave)
        asking = subprocess.Popen(
            [self.program, "pinentry-tty", self.NEW_PASSWORD, "100"], stdout=subprocess.PIPE, text=True,
            env={**self.environment, "GPG_TTY": os.ttyname(slave), "TERM": "xterm"})
        self.addCleanup(asking.stdout.close)
        shown = b""
        for prompt in (b"Password:", b"Repeat:"):
            while prompt not in shown:
                shown += os.read(master, 4096)
            os.write(master, b"n e w\n")
        self.assertEqual((asking.stdout.read(), asking.wait(PATIENCE)), ("OK n e w\n", 0))


class Asking(Case):
    def test_a_missing_token_is_asked_for_and_saved(self):
        self.environment["FAKE_PINENTRY"] = "right:t0%25ken"
        self.start(f"example.com ann ask -- {ONCE}")
        self.wait_for_out("t0%ken\n")
        self.assertEqual(self.tokenkeep("load", "example.com", "ann"), "t0%ken")
        self.assertIn("SETDESC The token of ann for example.com is missing.", self.pinentry_lines("SETDESC"))

    def test_several_missing_tokens_are_asked_for_one_after_the_other(self):
        self.environment["FAKE_PINENTRY"] = "right:same"
        self.start(f"example.com ann ask -- {ONCE}", f"example.com bob ask -- {ONCE}")
        self.wait_for_out("same\nsame\n")
        self.assertEqual(len(self.pinentry_lines("start")), 2)

    def test_a_dismissed_question_for_a_token_is_not_asked_again(self):
        self.environment["FAKE_PINENTRY"] = "cancel"
        self.start(f"example.com ann ask -- {ONCE}", f"example.com bob -- {ONCE}")
        self.wait_for_error("no token for example.com (ann): CANCELLED")
        self.save("b", account="bob")
        self.wait_for_out("b\n")
        self.save("a")
        self.wait_for_out("b\na\n")
        self.tokenkeep("clear", "example.com", "ann")
        self.save("c", account="bob")
        self.wait_for_out("b\na\nc\n")
        self.assertEqual(len(self.pinentry_lines("start")), 1)


class OnADesktop(Case):
    """With the real agent, and a false login1."""

    def setUp(self):
        super().setUp()
        self.world = Desktop(str(AGENT))
        self.addCleanup(self.world.close)
        # The helper ends before its desktop.
        self.addCleanup(self.stop)
        for name in ("DBUS_SESSION_BUS_ADDRESS", "XDG_RUNTIME_DIR"):
            self.environment[name] = self.world.environment[name]

    def start_agent(self):
        self.world.start_agent()
        self.world.wait_for(word="none")

    def test_a_command_runs_while_the_screen_is_unlocked(self):
        self.save("one")
        self.start_agent()
        self.start(f"example.com ann while-unlocked -- {RUNS_ON}")
        self.wait_for_out("one\n")
        self.world.set_hint(True)
        self.wait_for_out("one\nended\n")
        self.save("two")
        self.world.set_hint(False)
        self.wait_for_out("one\nended\ntwo\n")
        self.world.stop_agent(signal.SIGKILL)
        self.wait_for_out("one\nended\ntwo\nended\n")

    def test_a_finished_command_runs_again_when_the_screen_is_open_again(self):
        self.save("one")
        self.start_agent()
        self.start(f"example.com ann while-unlocked -- {ONCE}")
        self.wait_for_out("one\n")
        self.world.set_hint(True)
        self.world.wait_for(locked=True)
        self.world.set_hint(False)
        self.wait_for_out("one\none\n")

    def test_without_an_agent_the_command_waits_for_one(self):
        self.save("one")
        self.start(f"example.com ann while-unlocked -- {RUNS_ON}")
        self.wait_for_error("no agent says whether the screen is locked")
        self.assertFalse(self.out.exists())
        self.start_agent()
        self.wait_for_out("one\n")

    def test_nothing_is_asked_on_a_locked_screen(self):
        self.environment["FAKE_PINENTRY"] = "right:t"
        self.start_agent()
        self.world.set_hint(True)
        self.world.wait_for(locked=True)
        self.start(f"example.com ann ask while-unlocked -- {ONCE}", f"example.com bob -- {ONCE}")
        self.save("b", account="bob")
        self.wait_for_out("b\n")
        self.assertEqual(self.pinentry_lines("start"), [])
        self.world.set_hint(False)
        self.wait_for_out("b\nt\n")

    # The lines of README.md.

    def readme_line(self, service):
        with open(SOURCES / "README.md", encoding="utf-8") as file:
            return next(line.rstrip("\n") for line in file if line.startswith(service + " "))

    def test_a_key_that_is_an_item_is_in_the_ssh_agent_while_the_screen_is_open(self):
        self.start_agent()
        self.environment["SSH_AUTH_SOCK"] = str(self.directory / "ssh")
        ssh_agent = subprocess.Popen(
            ["ssh-agent", "-D", "-a", self.environment["SSH_AUTH_SOCK"]], env=self.environment, stdout=subprocess.PIPE)
        self.addCleanup(ssh_agent.stdout.close)
        self.addCleanup(ssh_agent.wait)
        self.addCleanup(ssh_agent.terminate)
        ssh_agent.stdout.readline()
        keys = self.directory / ".ssh"
        keys.mkdir(mode=0o700)
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "work", "-f", keys / "work"], check=True)
        self.save((keys / "work").read_text(), "ssh-key", "work")
        (keys / "work").unlink()

        def listed():
            return subprocess.run(["ssh-add", "-l"], env=self.environment, capture_output=True, text=True).stdout

        self.start(self.readme_line("ssh-key"))
        wait_until(lambda: " work (ED25519)" in listed(), "the key")
        self.world.set_hint(True)
        wait_until(lambda: "no identities" in listed(), "the key's end")

    @unittest.skipUnless(
        os.geteuid() == 0 and shutil.which("mount.davfs", path="/usr/sbin:/sbin") and os.access("/dev/fuse", os.W_OK),
        "needs root, davfs2 and /dev/fuse")
    def test_a_webdav_folder_is_mounted_with_the_password_on_standard_input(self):
        password = "g e h e i m %25"
        server = subprocess.Popen([sys.executable, HERE / "webdav_server.py", password], stdout=subprocess.PIPE, text=True)
        self.addCleanup(server.stdout.close)
        self.addCleanup(server.wait)
        self.addCleanup(server.kill)
        port = server.stdout.readline().strip()
        mount, cache = self.directory / "cloud", self.directory / "cache"
        mount.mkdir()
        cache.mkdir()
        cache.chmod(0o777)
        (self.directory / "davfs2.conf").write_text(f"use_locks 0\ncache_dir {cache}\n")
        line = self.readme_line("cloud.example.com")
        self.assertIn("https://cloud.example.com/dav /media/cloud -o username=ann", line)
        line = line.replace("https://cloud.example.com", f"http://127.0.0.1:{port}").replace("/media/cloud", str(mount))
        self.save(password, "cloud.example.com", "ann")
        self.addCleanup(subprocess.run, ["umount", mount], capture_output=True, timeout=PATIENCE)
        self.start(line + f",conf={self.directory}/davfs2.conf")
        wait_until(lambda: (mount / "file").exists(), "the mount")
        self.assertEqual((mount / "file").read_text(), "from the cloud\n")

    def test_a_tool_reads_its_token_from_a_file_while_the_screen_is_open(self):
        heard = []

        class Server(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                heard.append(self.headers["Authorization"])
                self.send_response(200)
                self.end_headers()

            def log_message(self, *arguments):
                pass

        server = http.server.HTTPServer(("127.0.0.1", 0), Server)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        self.start_agent()
        self.save("t0ken", "api.example.com", "ann")
        self.start(self.readme_line("api.example.com"))
        file = pathlib.Path(self.environment["XDG_RUNTIME_DIR"], "api-header")
        wait_until(file.exists, "the file")
        self.assertEqual(file.stat().st_mode & 0o777, 0o600)
        subprocess.run(["curl", "-s", "-H", f"@{file}", f"http://127.0.0.1:{server.server_port}/me"], check=True, timeout=PATIENCE)
        self.assertEqual(heard, ["Bearer t0ken"])
        self.world.set_hint(True)
        wait_until(lambda: not file.exists(), "the file's end")


class Building(unittest.TestCase):
    def test_the_example_builds_and_is_installed_as_its_makefile_says(self):
        folder, prefix = build("plain", "-O2"), WORK / "installed"
        environment = {**os.environ, "PKG_CONFIG_PATH": str(STAGE / "lib/pkgconfig")}
        subprocess.run(["make", "--silent", "-C", folder, "install", f"PREFIX={prefix}"], check=True, env=environment)
        unit = (prefix / "share/systemd/user/login-helper.service").read_text()
        self.assertIn(f"ExecStart={prefix}/bin/login-helper --config %E/tokenkeep/login-helper.conf\n", unit)
        self.assertTrue(os.access(prefix / "bin/login-helper", os.X_OK) and os.access(prefix / "bin/token-file", os.X_OK))
        autostart = (prefix / "share/login-helper/login-helper.desktop").read_text()
        self.assertIn(f"exec {prefix}/bin/login-helper --config", autostart)


def chosen(words):
    """The tests that the words of the command line name."""
    if words[:1] != ["--without"]:
        return words
    classes = [name for name, one in globals().items() if isinstance(one, type) and issubclass(one, unittest.TestCase)]
    assert words[1] in classes, words
    return words[2:] + [name for name in classes if name not in ("Case", words[1])]


if __name__ == "__main__":
    try:
        HELPER = build("quick", "-O1 -g -fsanitize=address,undefined", QUICK)
        HASTY_HELPER = build("hasty", "-O1 -g -fsanitize=address,undefined", HASTY)
        unittest.main(argv=[sys.argv[0]] + chosen(sys.argv[2:]))
    finally:
        shutil.rmtree(WORK)
