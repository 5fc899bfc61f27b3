#!/usr/bin/python3
"""Random histories of a vault that is bound to a device, against a model: no item of a living device is ever lost.

Usage: histories.py PREFIX [COUNT [SEED]], as root. A failure prints its seed and what happened.
"""
import json
import os
import random
import sys
from concurrent.futures import ThreadPoolExecutor

from device_world import PATIENCE, PROVIDERS, Stage, let_pass, tests_clock

PREFIX = sys.argv[1]
COUNT = int(sys.argv[2]) if len(sys.argv) > 2 else 20
FIRST = int(sys.argv[3]) if len(sys.argv) > 3 else 1
STEPS = 10
WORDS = {
    1: "when-unlocked", 2: "after-first-unlock", 3: "when-unlocked-this-device-only",
    4: "after-first-unlock-this-device-only", 5: "when-passcode-set-this-device-only"}
OF_DEVICE = (3, 4, 5)
NOT_FOUND, LOCKED, UNAVAILABLE, DENIED, KILLED = 1, 3, 4, 5, -9


class Failure(Exception):
    pass


class Item:
    """What is known of an item: its level, and the values that it may have. None: it may be gone."""

    def __init__(self, level, *values):
        self.level, self.values = level, set(values)


class History:
    def __init__(self, stage, seed):
        self.stage, self.seed, self.random = stage, seed, random.Random(seed)
        self.machine, self.uid = stage.machine(f"machine-{seed}"), 61000 + (os.getpid() * 31 + seed) % 4000
        self.vault = stage.folder(f"home-{seed}", self.uid) + "/vault"
        self.log = []
        self.items, self.number = {}, 0
        # The passwords of which one is right; the recovery code in force, if it is known.
        self.passwords, self.code = ["first"], None
        self.is_alive = True

    def say(self, *words):
        self.log.append(" ".join(map(str, words)))

    def call(self, *arguments, given=(), kill=False):
        """Runs the program; `kill` ends it somewhere."""
        text = "".join(line + "\n" for line in given)
        if arguments[0] == "save":
            text = given[0]
        started = tests_clock.now()
        process = self.machine.start(self.uid, *arguments, vault=self.vault)
        if kill:
            process.stdin.write(text)
            process.stdin.close()
            process.stdin = None
            # Some part of the time that the program needs here, at a moment that differs from run to run.
            let_pass(self.random.random() * (0.05 if arguments[0] == "save" else 1))
            process.kill()
        output, errors = process.communicate(None if kill else text, timeout=PATIENCE)
        kind = "killed" if kill else f"{tests_clock.now() - started:.2f} s"
        self.say(" ".join(arguments), given, "->", process.returncode, kind, errors.strip()[:300])
        if process.returncode not in (0, NOT_FOUND, LOCKED, UNAVAILABLE, DENIED, KILLED):
            raise Failure(f"{arguments} ended with {process.returncode}")
        return process.returncode, output

    def expect(self, got, *wanted):
        if got not in wanted:
            raise Failure(f"{got} instead of {wanted}")

    @property
    def password(self):
        return self.passwords[0]

    def provider(self):
        return json.loads(self.call("device", "show", "--json")[1])["provider"]

    # Steps

    def begin(self):
        self.expect(self.call("password", "set", "--stdin", given=[self.password])[0], 0)
        provider = self.random.choice(PROVIDERS)
        self.expect(self.call("device", "choose", provider, "--stdin", given=[self.password])[0], 0)
        for level, word in WORDS.items():
            self.expect(self.call("save", "example.com", f"item{level}", "--level", word, given=["first"])[0], 0)
            self.items[f"item{level}"] = Item(level, "first")

    def step(self):
        steps = {
            self.save: 6, self.lock: 2, self.unlock: 2, self.change_password: 3, self.make_code: 2, self.use_code: 2,
            self.rebind: 3, self.clear_device: 1, self.restart_device: 1, self.restart_machine: 1}
        self.random.choices(list(steps), list(steps.values()))[0]()

    def is_killed(self):
        return self.random.random() < 0.3

    def save(self):
        self.number += 1
        name, value = f"item{self.random.randrange(1, 8)}", f"value {self.number}"
        known = self.items.get(name)
        # A later save does not lower a level.
        level = known.level if known else self.random.choice(list(WORDS))
        before = known.values if known else {None}
        kill = self.is_killed()
        code, _ = self.call("save", "example.com", name, "--level", WORDS[level], given=[value], kill=kill)
        if code == 0:
            self.items[name] = Item(level, value)
        elif code == KILLED:
            self.items[name] = Item(level, value, *before)
        elif code != LOCKED:
            raise Failure("a save that is neither done nor locked")

    def lock(self):
        self.expect(self.call("lock")[0], 0)

    def unlock(self):
        """With each password that may be the right one."""
        for password in list(self.passwords):
            code, _ = self.call("unlock", "--stdin", given=[password])
            if code == 0:
                self.passwords = [password]
                return
            self.expect(code, DENIED)
        raise Failure("no password opens the vault")

    def change_password(self):
        self.unlock()
        new, is_compromised = f"password {self.number}.{self.random.randrange(1000)}", self.random.random() < 0.4
        flags = ["--compromised"] if is_compromised else []
        kill = self.is_killed()
        code, _ = self.call("password", "change", "--stdin", *flags, given=[self.password, new], kill=kill)
        if code == KILLED:
            self.passwords = [self.password, new]
        elif self.is_alive:
            self.expect(code, 0)
            self.passwords = [new]
        else:
            self.expect(code, UNAVAILABLE)
        if is_compromised or code == KILLED:
            self.code = None

    def make_code(self):
        self.unlock()
        code, output = self.call("recovery", "create", "--stdin", given=[self.password])
        self.expect(code, 0 if self.is_alive else UNAVAILABLE)
        if code == 0:
            self.code = output.strip()

    def use_code(self):
        """Opens all but level 5, whose items are lost then, as the program says."""
        if self.code is None or not self.is_alive:
            return
        new, kill = f"recovered {self.number}.{self.random.randrange(1000)}", self.is_killed()
        code, _ = self.call("recovery", "use", "--stdin", given=[self.code, new], kill=kill)
        self.expect(code, *((0, KILLED) if kill else (0,)))
        self.passwords = [new] if code == 0 else [self.password, new]
        self.code = None
        self.unlock()
        for name, item in list(self.items.items()):
            if item.level == 5:
                self.expect(self.call("clear", "example.com", name)[0], 0, NOT_FOUND)
                del self.items[name]

    def rebind(self):
        self.unlock()
        target, kill = self.random.choice(PROVIDERS), self.is_killed()
        if not self.is_alive and any(item.level in OF_DEVICE for item in self.items.values()):
            self.call("device", "re-bind", target, "--stdin", given=[self.password])
        flags = [] if self.is_alive else ["--destroy-items"]
        code, _ = self.call("device", "re-bind", target, "--stdin", *flags, given=[self.password], kill=kill)
        self.expect(code, *((0, KILLED) if kill else (0,)))
        self.code = None
        if self.is_alive:
            return
        # Either device is alive where the end was reached: what the former one alone opened is gone.
        self.unlock()
        is_done = json.loads(self.call("device", "show", "--json")[1])["state"] == "ready"
        for name, item in list(self.items.items()):
            if item.level in OF_DEVICE:
                if is_done:
                    del self.items[name]
                else:
                    item.values.add(None)
        self.is_alive = is_done

    def clear_device(self):
        provider = self.provider()
        self.machine.clear()
        self.say("the TPM is cleared")
        if provider != "machine-key":
            self.is_alive = False

    def restart_device(self):
        self.machine.tpm.restart()
        self.say("the TPM is started anew")

    def restart_machine(self):
        self.stage.forget(self.uid, self.vault)
        self.restart_device()

    # The model

    def check(self):
        """Unlocks the vault, and loads all."""
        self.unlock()
        for name, item in list(self.items.items()):
            code, output = self.call("load", "example.com", name)
            if code == 0:
                if output not in item.values:
                    raise Failure(f"{name} is {output!r}, not {item.values}")
                item.values = {output}
            elif code == NOT_FOUND:
                if None not in item.values:
                    raise Failure(f"{name} is gone")
                del self.items[name]
            elif self.is_alive or item.level not in OF_DEVICE:
                raise Failure(f"{name} of level {item.level} is not to be had: {code}")
            elif code != LOCKED:
                raise Failure(f"{name} of a lost device: {code}")
        if self.random.random() < 0.3:
            self.lock()

    def play(self):
        try:
            self.begin()
            for _ in range(STEPS):
                self.step()
                self.check()
            return True
        except (Failure, AssertionError) as failure:
            print("\n".join([f"seed {self.seed}:", *self.log, str(failure)]), flush=True)
            return False
        finally:
            if os.path.exists(self.vault + "/current/keyfile"):
                self.stage.forget(self.uid, self.vault)
            self.machine.close()
            self.stage.machines.remove(self.machine)


def main():
    stage = Stage(PREFIX)
    try:
        with ThreadPoolExecutor(2) as pool:
            good = sum(pool.map(lambda seed: History(stage, seed).play(), range(FIRST, FIRST + COUNT)))
    finally:
        stage.close()
    print(f"{good} of {COUNT} histories from seed {FIRST} on lost no item of a living device")
    return 0 if good == COUNT else 1


if __name__ == "__main__":
    sys.exit(main())
