"""What the fault tests share: the program they run, its vaults, and strace to stop it where they want."""
import functools
import os
import re
import shutil
import subprocess
import sys
import tempfile

from share import SHARE, share, turn_of
from tracing import fault

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "Support"))
import tests_clock  # noqa: E402: its folder must be on the path first
from patience import PATIENCE  # noqa: E402

tests_clock.require()

PREFIX = os.path.abspath(sys.argv[1])
HERE = os.path.dirname(os.path.abspath(__file__))
WORK = tempfile.mkdtemp(prefix="tokenkeep-faults-")
PROBE = os.path.join(WORK, "probe")
GATE = os.path.join(WORK, "gate.so")
CASES = []
# Calls that leave nothing outside of the process: a kill before one of these finds what a kill before the next call does.
QUIET = {
    "access", "arch_prctl", "brk", "clock_gettime", "close", "faccessat", "faccessat2", "fcntl", "fstat", "futex", "getdents64",
    "getegid", "geteuid", "getgid", "getpid", "getppid", "getrandom", "gettid", "getuid", "lseek", "lstat", "madvise", "mlock",
    "mmap", "mprotect", "munlock", "munmap", "newfstatat", "poll", "ppoll", "pread64", "prlimit64", "read", "readlink", "readlinkat",
    "rseq", "rt_sigaction", "rt_sigprocmask", "sched_yield", "set_robust_list", "set_tid_address", "sigaltstack", "stat", "statx"}


class Skip(Exception):
    pass


def case(function):
    CASES.append(function)
    return function


class Vault:
    """A vault in a private directory, and the program that uses it."""

    def __init__(self, path=None, **environment):
        self.path = path or tempfile.mkdtemp(prefix="case-", dir=WORK) + "/vault"
        self.environment = {
            "PATH": os.environ["PATH"], "HOME": WORK, "XDG_CONFIG_HOME": WORK + "/config", "TOKENKEEP_VAULT": self.path,
            "LD_LIBRARY_PATH": library_directory(), **tests_clock.environment(), **environment}

    def start(self, *arguments, wrapper=(), **options):
        return subprocess.Popen(
            [*wrapper, PROBE, *map(str, arguments)], env=self.environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            text=True, **options)

    def run(self, *arguments, wrapper=(), **options):
        """The lines that the program printed, its status last."""
        process = self.start(*arguments, wrapper=wrapper, **options)
        output, errors = process.communicate(timeout=PATIENCE)
        if process.returncode < 0 or not output:
            return [f"SIGNAL {-process.returncode}", errors]
        return output.split("\n")[:-1]

    def load(self, account):
        lines = self.run("load", account)
        return lines[0] if lines[-1] == "OK" else lines[-1]

    def expect(self, account, *allowed):
        found = self.load(account)
        assert found in allowed, f"{account} is {found!r}, not one of {allowed}"
        return found


def pkg_config():
    paths = [os.path.join(PREFIX, folder, "pkgconfig") for folder in ("lib", "lib64", "lib/x86_64-linux-gnu", "lib/aarch64-linux-gnu")]
    return {**os.environ, "PKG_CONFIG_PATH": ":".join(paths)}


@functools.cache
def library_directory():
    return subprocess.run(
        ["pkg-config", "--variable=libdir", "tokenkeep"], env=pkg_config(), check=True, capture_output=True, text=True
    ).stdout.strip()


def build_probe():
    flags = subprocess.run(["pkg-config", "--cflags", "--libs", "tokenkeep"], env=pkg_config(), check=True, capture_output=True, text=True)
    subprocess.run(
        ["cc", "-std=c99", "-Wall", "-Wextra", "-Werror", "-o", PROBE, os.path.join(HERE, "probe.c"), os.path.join(HERE, "serve.c"),
         os.path.join(HERE, "sessions.c"),
         *flags.stdout.split(), "-pthread"], check=True)
    subprocess.run(
        ["cc", "-std=c99", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", "-o", GATE, os.path.join(HERE, "gate.c"), "-ldl"],
        check=True)


def traced_calls(vault, *arguments):
    """(name, occurrence, whether it is quiet) of each system call the program makes from its first look at the vault on."""
    log = os.path.join(WORK, "strace.log")
    vault.run(*arguments, wrapper=("strace", "-f", "-o", log))
    calls, counts, started = [], {}, False
    with open(log, encoding="utf-8", errors="replace") as lines:
        for line in lines:
            match = re.match(r"\d+ +([a-z_0-9]+)\(", line)
            if not match:
                continue
            name = match.group(1)
            counts[name] = counts.get(name, 0) + 1
            started = started or vault.path in line
            is_report = re.match(r"\d+ +write\([12],", line)
            if started and not is_report and name not in ("exit_group", "execve", "clock_gettime"):
                calls.append((name, counts[name], is_quiet(name, line)))
    assert len(calls) > 5, f"only {len(calls)} system calls touch the vault"
    return calls


def system_calls(vault, *arguments):
    """The (name, occurrence) of each system call the program makes from its first look at the vault on."""
    return share([call[:2] for call in traced_calls(vault, *arguments)])


def is_quiet(name, line):
    if name == "openat":
        return not re.search("O_CREAT|O_TMPFILE", line)
    if name == "keyctl":
        return re.search("KEYCTL_(DESCRIBE|GET_KEYRING_ID|READ|SEARCH)", line) is not None
    return name in QUIET


def kill_moments(vault, *arguments):
    """The system calls before which a kill may find what it finds before no other: each that is not quiet, and the next one,
    because shared memory may have changed between the two. Of all others, without TOKENKEEP_FAULTS_SHARE, those whose turn
    it is."""
    calls = traced_calls(vault, *arguments)
    telling = [not is_quiet or (index > 0 and not calls[index - 1][2]) for index, (*_, is_quiet) in enumerate(calls)]
    chosen = set(share([index for index, tells in enumerate(telling) if tells]))
    if SHARE == 1:
        chosen.update(turn_of([index for index, tells in enumerate(telling) if not tells]))
    return [calls[index][:2] for index in sorted(chosen)]


def inject(call, what):
    return fault(call[0], what, call[1])


def fresh_copy(vault):
    """Another vault with the same files."""
    copy = Vault()
    copy.environment = {**vault.environment, "TOKENKEEP_VAULT": copy.path}
    shutil.copytree(vault.path, copy.path, symlinks=True)
    return copy
