#!/usr/bin/python3
"""The table of levels, adversaries and providers: what each adversary opens, beside what `tokenkeep protection` says.

Usage: table.py PREFIX [PROVIDER...], as root. Each cell of EXPECTED is played, and the report is compared in it.
"""
import json
import os
import sys

from device_world import PROVIDERS, Desk, Stage, wait_until

PREFIX = sys.argv[1]
OWNER, STRANGER = 61000 + os.getpid() % 2000, 63000 + os.getpid() % 2000
PASSWORD, LEVELS = "horse", (3, 4, 5)
WORDS = {
    3: "when-unlocked-this-device-only", 4: "after-first-unlock-this-device-only", 5: "when-passcode-set-this-device-only"}

# The axis of the report that speaks of an adversary; None if none does.
AXES = {
    "other-uid": "other-user",
    "other-uid-with-copy": None,
    "thief-without-password": "disk-theft",
    "thief-with-password": "other-machine",
    "copy-elsewhere": "other-machine",
    "screen-locked": "screen-lock",
    "agent-killed": "screen-lock",
    "old-header": None,
}

# Whether the adversary opens an item of levels 3, 4 and 5, and the strength of the axis in the report.
EXPECTED = """
other-uid               machine-key  closed/enforced  closed/enforced  closed/enforced
other-uid               systemd      closed/enforced  closed/enforced  closed/enforced
other-uid               tpm2         closed/enforced  closed/enforced  closed/enforced
other-uid-with-copy     machine-key  OPEN/-           OPEN/-           OPEN/-
other-uid-with-copy     systemd      closed/-         closed/-         closed/-
other-uid-with-copy     tpm2         closed/-         closed/-         closed/-
thief-without-password  machine-key  closed/enforced  closed/enforced  closed/advisory
thief-without-password  systemd      closed/enforced  closed/enforced  closed/advisory
thief-without-password  tpm2         closed/enforced  closed/enforced  closed/enforced
thief-with-password     machine-key  OPEN/advisory    OPEN/advisory    OPEN/advisory
thief-with-password     systemd      closed/enforced  closed/enforced  closed/enforced
thief-with-password     tpm2         closed/enforced  closed/enforced  closed/enforced
copy-elsewhere          machine-key  closed/advisory  closed/advisory  closed/advisory
copy-elsewhere          systemd      closed/enforced  closed/enforced  closed/enforced
copy-elsewhere          tpm2         closed/enforced  closed/enforced  closed/enforced
screen-locked           machine-key  closed/enforced  OPEN/none        closed/enforced
screen-locked           systemd      closed/enforced  OPEN/none        closed/enforced
screen-locked           tpm2         closed/enforced  OPEN/none        closed/enforced
agent-killed            machine-key  closed/enforced  OPEN/none        closed/enforced
agent-killed            systemd      closed/enforced  OPEN/none        closed/enforced
agent-killed            tpm2         closed/enforced  OPEN/none        closed/enforced
old-header              machine-key  OPEN/-           OPEN/-           OPEN/-
old-header              systemd      OPEN/-           OPEN/-           OPEN/-
old-header              tpm2         closed/-         closed/-         closed/-
"""


class Play:
    """A vault of the owner that is bound to a device, and the adversaries of its items."""

    def __init__(self, stage, provider):
        self.stage, self.provider = stage, provider
        self.here, self.there = stage.machine(f"here-{provider}"), stage.machine(f"there-{provider}")
        self.vault = stage.folder(f"home-{provider}", OWNER) + "/vault"
        self.desk = Desk(stage, OWNER)
        self.desk.do("start")
        self.own("password", "set", "--stdin", given=PASSWORD)
        self.own("device", "choose", provider, "--stdin", given=PASSWORD)
        self.unlock()
        for level, word in {2: "after-first-unlock", **WORDS}.items():
            self.own("save", "example.com", f"level{level}", "--level", word, given=f"secret of {level}")
        assert self.opened(self.own_load) == {2, *LEVELS}

    def own(self, *arguments, given="", check=True):
        """Runs the program for the owner, in his graphical session."""
        return self.here.run(
            OWNER, *arguments, vault=self.vault, given=given, check=check, environment=self.desk.environment)

    def own_load(self, *arguments):
        return self.own(*arguments, check=False)

    def unlock(self):
        self.own("unlock", "--stdin", given=PASSWORD)

    @staticmethod
    def opened(run):
        """The levels whose items a user loads."""
        return {level for level in (2, *LEVELS) if run("load", "example.com", f"level{level}").stdout == f"secret of {level}"}

    def report(self):
        """What the owner's report says: {level: {axis: strength}}."""
        rows = json.loads(self.own("protection", "--json").stdout)["levels"]
        axes = {row["level"]: row["axes"] for row in rows if not row["flags"]}
        return {level: {axis: value["strength"] for axis, value in axes[word].items()} for level, word in WORDS.items()}

    # The adversaries. Each leaves the owner's items open behind it, and returns the levels that it opened.

    def other_uid(self):
        """He calls the program for the owner's vault, and looks for its keys in the kernel."""
        found = self.stage.as_root_of_keys("read-from", OWNER, STRANGER, self.vault)
        assert "keys there: some, read by the other user: 0, found by their names: 0" in found, found
        return self.opened(lambda *arguments: self.here.run(STRANGER, *arguments, vault=self.vault))

    def other_uid_with_copy(self):
        return self.copied(self.here, STRANGER)

    def thief_without_password(self):
        self.there.with_machine_key_of(self.here)
        return self.copied(self.there, OWNER, "a guess", is_known=False)

    def thief_with_password(self):
        self.there.with_machine_key_of(self.here)
        return self.copied(self.there, OWNER)

    def copy_elsewhere(self):
        self.there.without_machine_key()
        self.there.run(0, "device", "make-machine-key", check=True)
        return self.copied(self.there, OWNER)

    def copied(self, machine, uid, password=PASSWORD, is_known=True):
        """A copy of the vault on a machine whose kernel has none of its keys."""
        self.restart()
        home = self.stage.folder(f"copy-{self.provider}-{len(os.listdir(self.stage.directory))}", uid)
        vault = self.stage.copy(self.vault, home + "/vault", uid)
        unlocked = machine.run(uid, "unlock", "--stdin", vault=vault, given=password)
        opened = self.opened(lambda *arguments: machine.run(uid, *arguments, vault=vault))
        # Level 2 shows that the password was what it took, and the device no more.
        assert (unlocked.returncode == 0) == is_known and (2 in opened) == is_known, (unlocked, opened)
        machine.run(uid, "lock", vault=vault, check=True)
        self.stage.forget(uid, vault)
        self.unlock()
        return opened

    def restart(self):
        """As a start of the machine, but for the agent, which gives up its keys."""
        self.own("lock")
        self.stage.forget(OWNER, self.vault)

    def screen_locked(self):
        self.desk.do("lock")
        opened = self.opened(self.own_load)
        self.desk.do("unlock")
        self.unlock()
        return opened

    def agent_killed(self):
        self.desk.do("kill")
        # The kernel ends the keys of a process a moment after the process.
        def all_are_closed():
            nonlocal opened
            opened = self.opened(self.own_load)
            return not opened & {3, 5}

        opened = set()
        wait_until(all_are_closed, "the end of the agent's keys")
        after = self.report()
        assert {after[level]["screen-lock"] for level in (3, 5)} == {"advisory"}, after
        self.desk.do("start")
        self.restart()
        self.unlock()
        return opened

    def old_header(self):
        """The password is removed, then everything of before is put back, and the machine started: header and anchor too."""
        old = self.stage.copy(self.vault, self.vault + ".old", OWNER)
        self.own("password", "remove", "--stdin", "--destroy-items", given=PASSWORD)
        assert 5 not in self.opened(self.own_load)
        self.stage.forget(OWNER, self.vault)
        self.stage.copy(old, self.vault, OWNER)
        self.own("unlock", "--stdin", given=PASSWORD, check=False)
        return self.opened(self.own_load)

    def close(self):
        self.restart()
        self.desk.close()


def cells(play):
    for adversary, axis in AXES.items():
        report = play.report()
        opened = getattr(play, adversary.replace("-", "_"))()
        if adversary != "old-header":
            assert play.opened(play.own_load) == {2, *LEVELS}, f"after {adversary}"
        for level in LEVELS:
            strength = report[level][axis] if axis else "-"
            assert not (strength == "enforced" and level in opened), (adversary, play.provider, level)
            yield adversary, play.provider, level, ("OPEN" if level in opened else "closed") + "/" + strength


def expected():
    table = {}
    for line in EXPECTED.strip().splitlines():
        adversary, provider, *words = line.split()
        table |= {(adversary, provider, level): word for level, word in zip(LEVELS, words, strict=True)}
    assert len(table) == len(AXES) * len(PROVIDERS) * len(LEVELS)
    return table


def main():
    wanted, failures, count = expected(), [], 0
    stage = Stage(PREFIX)
    try:
        for provider in sys.argv[2:] or PROVIDERS:
            play = Play(stage, provider)
            try:
                for *place, got in cells(play):
                    count += 1
                    if got != wanted[tuple(place)]:
                        failures.append(f"{place}: {got} instead of {wanted[tuple(place)]}")
            finally:
                play.close()
    finally:
        stage.close()
    print("\n".join([*failures, f"{count - len(failures)} of {count} cells are as expected"]))
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
