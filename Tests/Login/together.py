"""Many logins of one user at once: the key is derived as seldom as possible, because each derivation takes 64 MiB and seconds."""

import os, subprocess

from locks import waiters
from patience import PATIENCE, wait_until
from world import HERE, PASSWORD, case, check, run, tests_clock

LOGINS = 30


class Crowd:
    """Logins at once, whose derivations are counted. The first derivation waits until all other logins wait for it."""

    def __init__(self, world):
        self.world = world
        # The program may map memory from any user's files: the library lies where every user can read it.
        self.library = world.base / "derivations.so"
        made = run("cc", "-Wall", "-Wextra", "-Werror", "-O1", "-fPIC", "-shared", "-o", self.library, HERE / "derivations.c")
        check(made.returncode == 0, made.stderr.decode())
        self.folder = world.base / "derivations"
        self.folder.mkdir(exist_ok=True)
        os.chown(self.folder, world.uid, world.gid)
        self.counted, self.hold = self.folder / "count", self.folder / "count.hold"

    def derivations(self):
        return self.counted.stat().st_size if self.counted.exists() else 0

    def start(self, password, *options):
        environment = tests_clock.environment()
        environment["LD_PRELOAD"] = f"{self.library} {environment.get('LD_PRELOAD', '')}"
        environment["TOKENKEEP_TEST_DERIVATIONS"] = str(self.counted)
        words = ["setpriv", "--reuid", self.world.uid, "--regid", self.world.gid, "--init-groups", "env", "-i",
                 *(f"{name}={value}" for name, value in environment.items()),
                 self.world.program, "login", "unlock", *options, "--service", "sshd"]
        process = subprocess.Popen([str(word) for word in words], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        process.stdin.write(password.encode())
        process.stdin.close()
        process.stdin = None
        return process

    def sign_in(self, password, *options):
        """Returns the results of the logins."""
        self.counted.unlink(missing_ok=True)
        self.hold.touch()
        lock = self.world.vault / "lock"
        logins = [self.start(password, *options) for _ in range(LOGINS)]
        try:
            wait_until(lambda: waiters(lock) == LOGINS - 1 or self.derivations() > 1,
                       lambda: f"the logins that wait: {waiters(lock)} and {self.derivations()} derivations")
        finally:
            self.hold.unlink()
        for login in logins:
            login.communicate(timeout=PATIENCE)
        return [login.returncode for login in logins]


@case
def logins_at_once_derive_once(world):
    world.make_vault()
    world.begin_session()
    crowd = Crowd(world)
    results = crowd.sign_in(PASSWORD)
    check(results == [0] * LOGINS and crowd.derivations() == 1, f"{results}, {crowd.derivations()} derivations")
    check(world.load() == "secret" and world.note() == "unlocked", world.note())


@case
def logins_at_once_give_a_vault_its_password_with_one_derivation(world):
    world.make_vault(None)
    world.begin_session()
    crowd = Crowd(world)
    results = crowd.sign_in(PASSWORD, "--create")
    check(results == [0] * LOGINS and crowd.derivations() == 1, f"{results}, {crowd.derivations()} derivations")
    check(world.load() == "secret" and world.note() == "unlocked", world.note())
    check(world.opens_with(PASSWORD), "the vault has not the login's password")
