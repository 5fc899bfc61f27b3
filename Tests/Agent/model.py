#!/usr/bin/python3
"""Random histories of a desktop: a readable key implies an unlocked screen.

Usage: model.py AGENT HISTORIES SEED. A failure prints the seed and the history, which SEED plays again alone."""
import random
import signal
import sys

from patience import stop_process, wait_until
from world import Desktop, Key

STEPS = 12


class History:
    """One history, with the model of the desktop: what the screen is, and which keys may be readable."""

    def __init__(self, world, seed):
        self.world = world
        self.rng = random.Random(seed)
        self.log = []
        self.keys = []
        self.hint = False
        self.sleeping = False

    @property
    def is_locked(self):
        return self.hint or self.sleeping

    def play(self):
        for _ in range(STEPS):
            step = self.rng.choice(
                (self.unlock, self.unlock, self.hint_on, self.hint_off, self.hint_off, self.signal, self.request,
                 self.sleep, self.wake, self.kill, self.stop, self.drop))
            self.log.append(step.__name__)
            step()
            self.check()
        if self.sleeping:
            self.wake()
        self.hint_off()
        self.world.lock()

    def check(self):
        readable = [key for key in self.keys if key.is_readable()]
        assert not (self.is_locked and readable), "a key is readable while the screen is locked"
        dead = [key for key in readable if not key.may_live]
        assert not dead, "a key that was locked away is readable again"

    def locked(self):
        """All keys are gone for good; those that wait are, too."""
        for key in self.keys:
            key.may_live = False
        wait_until(lambda: not any(key.is_readable() for key in self.keys), "the end of the keys")

    def unlock(self):
        key = Key()
        key.may_live = True
        self.keys.append(key)
        reply = self.world.hold(key)
        assert reply.published == (not self.is_locked), f"the agent answered {reply.bits} {reply.word}"

    def hint_on(self):
        if self.hint:
            return
        self.world.set_hint(True)
        self.hint = True
        self.world.wait_for(locked=True, published=False)
        self.world.wait_for(word="sleep" if self.sleeping else "hint")
        self.locked()

    def hint_off(self):
        self.world.set_hint(False)
        self.hint = False
        if not self.sleeping:
            self.world.wait_for(locked=False) if self.world.status().word == "hint" else None
        if not self.is_locked:
            wait_until(lambda: all(key.is_readable() for key in self.keys[-16:] if key.may_live), "keys that waited")

    def signal(self):
        before = self.world.status().word
        self.world.lock_signal()
        if not self.is_locked:
            self.world.wait_for(word="signal")
        else:
            # A change whose effect is seen later than the signal's.
            self.world.lock()
            assert self.world.status().word == before
        self.locked()

    def request(self):
        self.world.lock()
        self.locked()

    def sleep(self):
        if self.sleeping:
            return
        self.world.sleep_signal(True)
        self.sleeping = True
        self.world.wait_for(word="sleep")
        self.locked()

    def wake(self):
        if not self.sleeping:
            return
        self.world.sleep_signal(False)
        self.sleeping = False
        self.world.wait_for(word="hint" if self.hint else "sleep")
        self.locked()

    def kill(self):
        self.world.stop_agent(self.rng.choice((signal.SIGKILL, signal.SIGTERM)))
        self.locked()
        # The next agent does not know of a sleep that began before.
        if self.sleeping:
            self.world.sleep_signal(False)
            self.sleeping = False
        self.world.start_agent()
        # The agent knows the sessions, and not only that it was not told of a lock.
        self.world.wait_for(locked=self.hint, word="hint")

    def stop(self):
        """The agent is stopped while a client gives up a key; what the client sent is passed over."""
        stop_process(self.world.agent.pid)
        key = Key()
        key.may_live = False
        self.keys.append(key)
        with self.world.connect() as client:
            client.send(key.request())
        self.world.agent.send_signal(signal.SIGCONT)
        self.world.status()

    def drop(self):
        if self.keys:
            key = self.rng.choice(self.keys)
            self.world.drop(key)
            key.may_live = False


def main():
    agent, histories, first = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    world = Desktop(agent)
    try:
        world.start_agent()
        world.wait_for(word="none")
        # From here on the hint is what locks this desktop.
        world.set_hint(True)
        world.wait_for(word="hint")
        world.set_hint(False)
        world.wait_for(locked=False)
        for seed in range(first, first + histories):
            history = History(world, seed)
            try:
                history.play()
            except BaseException:
                print(f"seed {seed}: {' '.join(history.log)}", file=sys.stderr)
                raise
            if (seed - first) % 500 == 499:
                print(f"{seed - first + 1} of {histories}", flush=True)
        print(f"{histories} histories from seed {first} on")
    finally:
        world.close()


main()
