"""A user, PAM services and a copy of the installation for the tests of the login; all of it is removed at the end."""

import os, pathlib, platform, pwd, re, shutil, signal, subprocess, sys, tempfile, traceback

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "Support"))
import tests_clock  # noqa: E402: its folder must be on the path first
from patience import PATIENCE, Waited, wait_until  # noqa: E402

PREFIX = "tkl-test"
PASSWORD = "correct horse"
HERE = pathlib.Path(__file__).parent
PAM = pathlib.Path("/etc/pam.d")
# The limit in seconds that the module gives the program in tests of other things: the longest that the module takes.
LONGEST = 30

SUCCESS, AUTH_ERROR = 0, 7


class Failure(Exception):
    pass


def check(condition, text):
    if not condition:
        raise Failure(text)


class Skipped(Exception):
    """A case, or all of them, cannot run here; the reason."""


def play(cases, names, body, after_failure=lambda: None):
    """Runs body with each case, or with those of the names. Prints the results, and returns the exit code of the program."""
    counts = {"ok": 0, "FAIL": 0, "skip": 0}
    for name, one in cases:
        if names and name not in names:
            continue
        word, text = "ok", f"ok   {name}"
        try:
            body(one)
        except Skipped as reason:
            word, text = "skip", f"skip {name} ({reason})"
        except Exception as error:
            word, text = "FAIL", f"FAIL {name}: {error}"
            if not isinstance(error, Failure):
                traceback.print_exc()
            after_failure()
        counts[word] += 1
        print(text, flush=True)
    print(f"{counts['ok']} passed, {counts['FAIL']} failed, {counts['skip']} skipped")
    return 1 if counts["FAIL"] or not sum(counts.values()) else 0


def case(body):
    """Marks a function as a case of the tests."""
    body.is_case = True
    return body


def run(*words, input=b"", timeout=PATIENCE, **options):
    return subprocess.run([str(word) for word in words], input=input, capture_output=True, timeout=timeout, **options)


def run_passing(*words, count=None):
    """Runs a program whose limits are passed: the first ones, or all for None."""
    words = [str(word) for word in words]
    with subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        if count is None:
            tests_clock.pass_limits(process)
        for _ in range(count or 0):
            tests_clock.pass_limit(process.pid)
        output, errors = process.communicate(timeout=PATIENCE)
    return subprocess.CompletedProcess(words, process.returncode, output, errors)


def class_keys(text):
    """The class keys in /proc/keys that can be read: purpose, time left and length. A pointer to the agent's key has 4 bytes."""
    found = re.findall(r"^\S+ (\S+) +\d+ +(\S+) \S+ +\d+ +\d+ user +tokenkeep:[0-9a-f]+:(\d+):[0-9a-f]+: (\d+)$", text, re.M)
    return [(int(number), time, int(length)) for flags, time, number, length in found
            if not set("RD") & set(flags) and time != "expd"]


class World:
    def __init__(self, stage):
        World.remove_leftovers()
        self.base = pathlib.Path(tempfile.mkdtemp(prefix="tokenkeep-login."))
        self.base.chmod(0o755)
        self.user = f"{PREFIX}{os.getpid() % 100000}"
        self.home = self.base / "home"
        self.services = []
        self.permitting = None
        self.stage = pathlib.Path(stage).resolve()
        # The prefix of an installation that every user can enter.
        self.prefix = self.base / "installed"
        shutil.copytree(pathlib.Path(stage) / "bin", self.prefix / "bin")
        shutil.copytree(pathlib.Path(stage) / "lib/security", self.prefix / "lib/security")
        self.program = self.prefix / "bin/tokenkeep"
        self.module = self.prefix / "lib/security/pam_tokenkeep.so"
        self.host = self.compile("host.c", "-lpam", "-lpthread")
        made = run("useradd", "--home-dir", self.home, "--create-home", "--shell", "/bin/sh", self.user)
        check(made.returncode == 0, f"useradd: {made.stderr.decode()}")
        entry = pwd.getpwnam(self.user)
        self.uid, self.gid = entry.pw_uid, entry.pw_gid
        self.clear_user_keyring()
        self.runtime = pathlib.Path(f"/run/user/{self.uid}")
        self.set_login_password(PASSWORD)
        self.baseline = self.service()

    # The parts.

    def set_up(self):
        """Makes the world as new: the login's password, no vault, no session."""
        if self.login_password != PASSWORD:
            self.set_login_password(PASSWORD)
        self.remove_vault()
        self.end_session()

    def begin_session(self):
        """Does what logind does before a session's programs start."""
        self.runtime.mkdir(parents=True, exist_ok=True)
        os.chown(self.runtime, self.uid, self.gid)
        self.runtime.chmod(0o700)

    def end_session(self):
        shutil.rmtree(self.runtime, ignore_errors=True)

    def compile(self, source, *libraries):
        program = self.base / source.removesuffix(".c")
        made = run("cc", "-Wall", "-Wextra", "-Werror", "-O1", "-o", program, HERE / source, *libraries)
        check(made.returncode == 0, made.stderr.decode())
        return program

    def set_login_password(self, password):
        """Sets the password in the shadow file, past PAM."""
        text = password if isinstance(password, bytes) else password.encode()
        hashed = run("openssl", "passwd", "-6", "-stdin", input=text + b"\n").stdout.decode().strip()
        check(run("usermod", "-p", hashed, self.user).returncode == 0, "usermod failed")
        self.login_password = password

    def service_that_permits(self):
        """Makes a PAM service that accepts every password, with the module."""
        if self.permitting is None:
            self.permitting = self.service("", first=self.compile_module("pam_ask.c"))
        return self.permitting

    def compile_module(self, source):
        module = self.base / source.replace(".c", ".so")
        made = run("cc", "-Wall", "-Wextra", "-Werror", "-fPIC", "-shared", "-o", module, HERE / source, "-lpam")
        check(made.returncode == 0, made.stderr.decode())
        return module

    def service(self, options=None, before="", first="pam_unix.so nullok"):
        """Makes a PAM service, with a line of the module for each type unless options is None. The module gives the program
        the most time, unless the options name another one."""
        if options is not None and "timeout=" not in options:
            options = f"timeout={LONGEST} {options}"
        line = lambda kind: "" if options is None else f"{kind} optional {self.module} {options}\n"
        return self.service_of(
            f"{before}auth required {first}\n{line('auth')}account required pam_permit.so\n"
            f"session required pam_permit.so\n{line('session')}password required {first}\n{line('password')}"
        )

    def service_of(self, text):
        name = f"{PREFIX}-{os.getpid()}-{len(self.services)}"
        self.services.append(name)
        (PAM / name).write_text(text)
        return name

    def fake_program(self, script, mode=0o755):
        path = self.base / f"fake-{len(list(self.base.glob('fake-*')))}"
        path.write_text(script)
        path.chmod(mode)
        return path

    # Calls.

    def as_user(self, *words, **options):
        return run("setpriv", "--reuid", self.uid, "--regid", self.gid, "--init-groups", "env", "-i",
                   "PATH=/usr/bin:/bin", *(f"{name}={value}" for name, value in tests_clock.environment().items()),
                   *words, **options)

    def tokenkeep(self, *words, **options):
        return self.as_user(self.program, *words, **options)

    def sign_in(self, service, calls, password=PASSWORD, new=None, options=(), host=None, as_user=False, passes=False, count=None):
        """Runs the calls in one program, whose limits, or the first `count` of them, are passed if `passes`. Returns the codes
        by call and the messages."""
        encode = lambda text: (text if isinstance(text, bytes) else text.encode()).hex()
        words = [host or self.host, *options, service, self.user, encode(password)]
        words += ([] if new is None else [encode(new)]) + ["--", *calls]
        ran = run_passing(*words, count=count) if passes else (self.as_user if as_user else run)(*words)
        lines = ran.stdout.decode(errors="replace").splitlines()
        check(lines and lines[-1].startswith("children "), f"the host failed: {ran}")
        self.check_nothing_runs()
        return [line for line in lines if not line.startswith("children ")], lines[-1]

    def processes(self):
        """The processes of the user and of the test's programs, by number, with their arguments."""
        found = {}
        for entry in pathlib.Path("/proc").iterdir():
            try:
                if not entry.name.isdigit() or (entry / "stat").read_text().rsplit(")", 1)[1].split()[0] == "Z":
                    continue
                line = (entry / "cmdline").read_bytes()
                if entry.stat().st_uid == self.uid or str(self.base).encode() in line:
                    found[int(entry.name)] = line
            except (FileNotFoundError, ProcessLookupError, IndexError):
                continue  # it has ended; its files may be empty
        return found

    def check_nothing_runs(self):
        # A process that was sent SIGKILL may not be gone yet.
        wait_until(lambda: not self.processes(), lambda: f"the end of {self.processes()}")

    # The vault.

    @property
    def vault(self):
        return self.home / ".local/share/tokenkeep"

    def make_vault(self, password=PASSWORD):
        """Makes a locked vault with one item and this password; without a password for None."""
        self.remove_vault()
        saved = self.tokenkeep("save", "example.com", "ann", "--stack", "any required vault", input=b"secret")
        check(saved.returncode == 0, saved.stderr.decode())
        if password is not None:
            password = password if isinstance(password, bytes) else password.encode()
            self.set_vault_password(password)

    def set_vault_password(self, password):
        file = self.base / "password"
        file.write_bytes(password)
        os.chown(file, self.uid, self.gid)
        file.chmod(0o600)
        made = self.tokenkeep("password", "set", "--password-file", file)
        check(made.returncode == 0, made.stderr.decode())
        # As at the end of a session: what the user locks himself, a service that is no login leaves locked.
        self.purge()

    def set_vault_password_raw(self, password):
        """Gives a vault without a password one that no line can hold."""
        self.set_vault_password(b"for the moment")
        made = self.tokenkeep("login", "password", "--service", "test", input=b"for the moment\0" + password + b"\0")
        check(made.returncode == 0, f"{made}")
        self.purge()

    def remove_vault(self):
        self.purge()
        shutil.rmtree(self.home / ".local", ignore_errors=True)

    def lock(self):
        check(self.tokenkeep("lock").returncode == 0, "lock failed")

    def purge(self):
        self.tokenkeep("login", "purge")

    def load(self):
        loaded = self.tokenkeep("load", "example.com", "ann", "--stack", "any required vault")
        return loaded.stdout.decode() if loaded.returncode == 0 else loaded.returncode

    def opens_with(self, password):
        self.purge()
        file = self.base / "password"
        file.write_text(password)
        os.chown(file, self.uid, self.gid)
        file.chmod(0o600)
        opened = self.tokenkeep("unlock", "--password-file", file).returncode == 0
        self.purge()
        return opened

    def note(self):
        """The outcome in the file `login`; None if there is none."""
        try:
            time, service, outcome = (self.vault / "login").read_text().split()
        except (FileNotFoundError, NotADirectoryError, ValueError):
            return None
        return outcome

    def key_times(self):
        """The time-out of each class key of the user, as /proc/keys shows it: `perm` for none.

        Waits until the kernel lists one key for each purpose: a key that another one displaced stays listed for a moment."""
        def one_of_each():
            found = class_keys(self.as_user("cat", "/proc/keys").stdout.decode())
            times = {number: left for number, left, _ in found}
            return [times] if len(times) == len(found) else None
        return wait_until(one_of_each, "one key for each purpose")[0]

    # The end.

    def clear_user_keyring(self):
        """Removes the keys that vaults of this uid have left: another user of a test may have had the uid, and the kernel gives
        each uid room for 200 keys."""
        clear, user_keyring, number = 7, -4, {"x86_64": 250, "aarch64": 219}[platform.machine()]
        self.as_user("/usr/bin/python3", "-c", f"import ctypes; ctypes.CDLL(None).syscall({number}, {clear}, {user_keyring})")

    def close(self):
        try:
            self.purge()
            self.clear_user_keyring()
        except Exception as error:
            print(f"purge: {error}", file=sys.stderr)
        for name in self.services:
            (PAM / name).unlink(missing_ok=True)
        for process in self.processes():
            os.kill(process, signal.SIGKILL)
        run("userdel", "--force", self.user)
        self.end_session()
        shutil.rmtree(self.base, ignore_errors=True)

    @staticmethod
    def remove_leftovers():
        """Removes what a run left behind that was killed with SIGKILL. A run that goes on keeps its own."""
        for file in PAM.glob(f"{PREFIX}-*"):
            process = file.name.split("-")[2]
            if not os.path.exists(f"/proc/{process}"):
                file.unlink(missing_ok=True)
        for entry in pwd.getpwall():
            if re.fullmatch(PREFIX + r"\d+", entry.pw_name) and not pathlib.Path(entry.pw_dir).parent.exists():
                run("userdel", entry.pw_name)


def enter_own_namespace():
    """Starts this program anew in a mount namespace: its mounts end with it, however it ends."""
    if os.environ.get("TOKENKEEP_TEST_NAMESPACE") is None:
        os.environ["TOKENKEEP_TEST_NAMESPACE"] = "1"
        os.execvp("unshare", ["unshare", "--mount", "--propagation", "private", sys.executable, *sys.argv])


def die_on_signals():
    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
        signal.signal(number, lambda number, frame: sys.exit(128 + number))
