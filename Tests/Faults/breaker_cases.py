"""Programs that run one after the other, or at once, against a keyring that does not answer."""
import os
import shutil
import subprocess
import time

from faults import HERE, PATIENCE, PREFIX, WORK, Skip, case, pkg_config
import tests_clock
from gates import Freeze, Monitor, Server
from keyring_cases import SERVICE, Keyring
from patience import wait_until

# All times are those of the tests' clock.
RUNS = 10
TIMEOUT = 4.5  # what a call of five seconds gives the service, in seconds
# A run that heeds the mark waits for a quarter of a second, and takes less than this share of the timeout; a run that does
# not heed the mark takes more.
SHARE = 0.8 * TIMEOUT
PROBE = 0.3  # a little more than such a run waits


class Machine:
    """A keyring with the item "a", and the program."""

    def __init__(self, keyring):
        self.keyring, self.vault = keyring, keyring.vault()
        self.vault.environment["XDG_RUNTIME_DIR"] = keyring.home
        self.folder = os.path.join(keyring.home, "tokenkeep")
        self.monitor = Monitor(keyring)

    def save(self):
        self.run("save", SERVICE, "a", input="token")
        return self

    def start(self):
        return subprocess.Popen(
            [os.path.join(PREFIX, "bin", "tokenkeep"), "load", SERVICE, "a"], env=self.vault.environment,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def run(self, *arguments, **options):
        return subprocess.run(
            [os.path.join(PREFIX, "bin", "tokenkeep"), *arguments], env=self.vault.environment, capture_output=True, text=True,
            timeout=PATIENCE, check=True, **options)

    def load(self, is_in_vain=False):
        """What a run prints, "" if it fails, and its seconds. `is_in_vain`: the service does not answer."""
        start = tests_clock.now()
        has_called = self.next_call()
        process = self.start()
        if is_in_vain:
            # Before, it may wait for the bus, whose limit must not pass.
            wait_until(lambda: has_called() or process.poll() is not None, "a call of the service")
            tests_clock.pass_limits(process)
        output, errors = process.communicate(timeout=PATIENCE)
        assert process.returncode == 0 or errors and not output, (process.returncode, output)
        return output, tests_clock.now() - start

    def next_call(self):
        """A function that says whether a program has called the service from now on."""
        calls = len(self.monitor.senders)
        return lambda: len(self.monitor.senders) > calls

    def marks(self):
        return os.listdir(self.folder) if os.path.exists(self.folder) else []

    def leave_mark(self, content, mode=0o600):
        """A mark as another process leaves it; `content` may name the service's {owner} and the {time}."""
        name = subprocess.run(
            ["gdbus", "call", "--session", "-d", "org.freedesktop.DBus", "-o", "/", "-m", "org.freedesktop.DBus.GetNameOwner",
             "org.freedesktop.secrets"], env=self.keyring.environment, check=True, capture_output=True, text=True).stdout
        text = content.format(owner=name.split("'")[1], time=int(time.clock_gettime(time.CLOCK_BOOTTIME) * 1000))
        os.makedirs(self.folder, 0o700, exist_ok=True)
        with open(self.mark(), "w", encoding="latin-1") as file:
            file.write(text)
        os.chmod(self.mark(), mode)

    def mark(self):
        return os.path.join(self.folder, "breaker-" + self.keyring.address.split("guid=")[1].split(",")[0])


@case
def ten_runs_against_a_hung_keyring_take_one_timeout():
    with Keyring() as keyring:
        machine = Machine(keyring).save()
        assert machine.load()[0] == "token" and machine.marks() == []
        with Freeze(keyring.daemon):
            runs = [machine.load(is_in_vain=True) for _ in range(RUNS)]
            assert os.listdir(machine.folder) == [os.path.basename(machine.mark())]
        seconds = [seconds for _, seconds in runs]
        print("        " + " ".join(f"{one:.2f}" for one in seconds) + f" s, {sum(seconds):.2f} s together")
        assert all(output == "" for output, _ in runs), runs
        assert TIMEOUT - 0.1 < seconds[0], seconds
        assert sum(seconds[1:]) < (RUNS - 1) * SHARE, seconds
        output, first = machine.load()
        assert output == "token" and first < SHARE, (output, first)
        assert machine.marks() == [], "the first answer removes the mark"
        assert machine.load()[0] == "token"


@case
def ten_runs_at_once_against_a_hung_keyring_take_one_timeout():
    with Keyring() as keyring:
        machine = Machine(keyring).save()
        with Freeze(keyring.daemon):
            for process in [machine.start() for _ in range(RUNS)]:
                tests_clock.pass_limits(process)
                process.communicate(timeout=PATIENCE)
            # All know the mark now. One that does not heed the mark waits for longer than the others.
            before = machine.monitor.count()
            processes = [machine.start() for _ in range(RUNS)]
            wait_until(lambda: machine.monitor.count() == before + RUNS, "a call by each")
            start = tests_clock.now()
            tests_clock.advance(PROBE)
            for process in processes:
                process.communicate(timeout=PATIENCE)
            seconds = tests_clock.now() - start
            print(f"        {seconds:.2f} s")
            assert seconds < SHARE
            assert len(machine.marks()) == 1
        runs = [machine.start() for _ in range(RUNS)]
        assert [process.communicate(timeout=PATIENCE)[0] for process in runs] == ["token"] * RUNS
        assert machine.marks() == []


@case
def a_program_with_a_connection_heeds_the_mark_of_another():
    with Keyring() as keyring:
        machine = Machine(keyring).save()
        with Server(machine.vault) as server:
            assert server.do("load", "a")[0] == "OK"
            with Freeze(keyring.daemon):
                machine.load(is_in_vain=True)
                start = tests_clock.now()
                has_called = machine.next_call()
                server.ask("load", "a")
                assert server.answer_in_vain(has_called)[0] == "UNAVAILABLE"
                assert tests_clock.now() - start < SHARE
            wait_until(lambda: server.do("load", "a") == ["OK", "token"], "the keyring again")
            server.do("load", "a")
            assert machine.marks() == []


@case
def a_keyring_that_restarts_is_not_held_to_the_mark():
    with Keyring() as keyring:
        machine = Machine(keyring).save()
        machine.leave_mark(":1.9999 {time}\n")
        assert machine.load()[0] == "token"
        assert machine.marks() == []


@case
def a_file_that_is_no_mark_is_ignored():
    with Keyring() as keyring:
        machine = Machine(keyring).save()
        with Freeze(keyring.daemon):
            machine.leave_mark("{owner} {time}\n")
            assert is_heeded(machine), "a mark"
            for content in ("", "\n", "{owner}", "{owner} {time}", "{owner} x\n", "{owner} 99999999999999\n", "{owner} {time} \xff\n",
                            "\xff\n", "x" * 199 + "\n", "{owner} {time}\n" * 1000):
                machine.leave_mark(content)
                assert not is_heeded(machine), content[:40]
            machine.leave_mark("{owner} {time}\n", mode=0o644)
            assert not is_heeded(machine), "a mark that others may read"
            if os.geteuid() == 0:
                machine.leave_mark("{owner} {time}\n")
                os.chown(machine.mark(), 65534, 65534)
                assert not is_heeded(machine), "another user's mark"
            os.rename(machine.mark(), keyring.home + "/aside")
            os.symlink(keyring.home + "/aside", machine.mark())
            assert not is_heeded(machine), "a link"
            os.remove(machine.mark())
            os.mkfifo(machine.mark(), 0o600)
            assert not is_heeded(machine), "a pipe"
            os.remove(machine.mark())
            os.mkdir(machine.mark(), 0o700)
            assert not is_heeded(machine), "a directory"


def is_heeded(machine):
    """Whether a program goes on without the service, which stands still, before its time is over."""
    with Server(machine.vault, timeout_ms=PATIENCE * 1000) as server:
        has_called = machine.next_call()
        server.ask("load", "a")
        status = server.answer_in_vain(has_called)[0]
    assert status in ("UNAVAILABLE", "TIMED_OUT"), status
    return status == "UNAVAILABLE"


@case
def no_mark_is_left_where_others_could_write():
    with Keyring() as keyring:
        machine = Machine(keyring).save()
        real = keyring.home + "/run"
        os.mkdir(real, 0o755)
        os.symlink(keyring.home, keyring.home + "/link")
        with Freeze(keyring.daemon):
            for place in (real, keyring.home + "/link", "relative", keyring.home + "/missing"):
                machine.vault.environment["XDG_RUNTIME_DIR"] = place
                assert not is_heeded(machine), place
                assert not os.path.exists(real + "/tokenkeep") and not os.path.exists(machine.folder), place


@case
def a_call_without_patience_leaves_no_mark():
    with Keyring() as keyring:
        machine = Machine(keyring).save()
        with Freeze(keyring.daemon), Server(machine.vault, timeout_ms=200) as server:
            server.ask("load", "a")
            assert server.answer_in_vain()[0] == "TIMED_OUT"
        assert machine.marks() == []


@case
def a_service_that_answers_nothing_but_a_ping_stays_marked():
    if not shutil.which("pkg-config"):
        raise Skip("needs pkg-config")
    with Keyring() as keyring:
        machine = Machine(keyring)
        program = os.path.join(WORK, "deaf")
        flags = subprocess.run(
            ["pkg-config", "--cflags", "--libs", "gio-2.0"], env=pkg_config(), check=True, capture_output=True, text=True).stdout
        subprocess.run(
            ["cc", "-std=c11", "-Wall", "-Wextra", "-Werror", "-D_GNU_SOURCE", "-o", program, os.path.join(HERE, "deaf.c"), *flags.split()],
            check=True)
        keyring.stop(keyring.daemon)
        with subprocess.Popen([program], env=keyring.environment, stdout=subprocess.PIPE, text=True) as service:
            try:
                assert service.stdout.readline() == "ready\n"
                seconds = [machine.load(is_in_vain=True)[1] for _ in range(3)]
            finally:
                service.kill()
        assert seconds[0] > TIMEOUT - 0.1 and max(seconds[1:]) < SHARE, seconds
