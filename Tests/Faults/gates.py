"""Programs that are stopped right before a message, and a conversation with a program that serves."""
import os
import select
import signal
import subprocess
import threading
import time

from faults import GATE, PROBE
import tests_clock
from patience import stop_process, wait_until


def next_second():
    """Times in the service are whole seconds: what comes after this has a later one than what came before."""
    start = int(time.time())
    wait_until(lambda: int(time.time()) > start, "the next second")


class Freeze:
    """A process that stands still while the block runs."""

    def __init__(self, process):
        self.process = process

    def __enter__(self):
        stop_process(self.process.pid)
        wait_until(lambda: state(self.process) == "T", "a process that stands still")

    def __exit__(self, *_):
        self.process.send_signal(signal.SIGCONT)


def state(process):
    with open(f"/proc/{process.pid}/stat", encoding="utf-8") as file:
        return file.read().rsplit(")", 1)[1].split()[0]


class Gate:
    """Where the messages of some programs wait until it is opened."""

    def __init__(self, directory, word="SetSecret"):
        self.directory, self.word = directory, word
        os.mkdir(directory)

    @property
    def environment(self):
        others = tests_clock.environment()
        return {**others, "LD_PRELOAD": ":".join([GATE, *filter(None, [others.get("LD_PRELOAD")])]), "GATE": self.directory,
                "GATE_WORD": self.word}

    def close(self):
        with open(os.path.join(self.directory, "closed"), "w", encoding="utf-8"):
            pass

    def open(self):
        os.remove(os.path.join(self.directory, "closed"))

    def count(self, what):
        return len([name for name in os.listdir(self.directory) if name.startswith(what)])


class Monitor:
    """Sees which programs call the Secret Service of a keyring's bus. The monitor ends with the bus."""

    def __init__(self, keyring):
        self.process = subprocess.Popen(
            ["dbus-monitor", "--profile", "--session", "type='method_call'"], env=keyring.environment, stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL, text=True)
        # The bus takes away a monitor's name, and from then on shows it all messages.
        while not (line := self.process.stdout.readline()).rstrip().endswith("NameLost"):
            assert line, "dbus-monitor does not start"
        self.senders = []
        threading.Thread(target=self.read, daemon=True).start()

    def read(self):
        for line in self.process.stdout:
            words = line.rstrip("\n").split("\t")
            if len(words) == 8 and words[5].startswith("/org/freedesktop/secrets"):
                self.senders.append(words[3])
        self.process.wait()

    def count(self):
        """How many programs have called so far."""
        return len(set(self.senders))


class Server:
    """A program that does what it is told, one thing after the other."""

    def __init__(self, vault, timeout_ms=0, **environment):
        self.process = subprocess.Popen(
            [PROBE, "serve", str(timeout_ms)], env={**vault.environment, **environment}, stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, text=True, bufsize=1)

    def ask(self, *words):
        self.process.stdin.write(" ".join(words) + "\n")

    def answer(self):
        return self.process.stdout.readline().split()

    def has_answered(self):
        return bool(select.select([self.process.stdout], [], [], 0)[0])

    def answer_in_vain(self, has_called=lambda: True):
        """The answer to what a service that stands still never answers: each limit is passed, once the service has the call."""
        wait_until(lambda: has_called() or self.has_answered(), "a call of the service")
        tests_clock.pass_limits(self.process, self.has_answered)
        return self.answer()

    def do(self, *words):
        self.ask(*words)
        return self.answer()

    def kill(self):
        self.process.kill()
        self.process.wait()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.kill()
        self.process.stdin.close()
        self.process.stdout.close()
