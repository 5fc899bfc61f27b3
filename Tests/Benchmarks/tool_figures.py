"""A start of git's and docker's helpers beside those of peers: wall time and memory of `get`, from one gnome-keyring and
from the vault."""
import os
import shutil
import subprocess
import time
from statistics import median

from harness import PREFIX, WORK, build, pkg_config, table
from private_keyring import PrivateKeyring, missing

ROUNDS = 60
LIBSECRET = "/usr/share/doc/git/contrib/credential/libsecret/git-credential-libsecret.c"
SERVER = "https://registry.example.com"
GIT = b"protocol=https\nhost=example.com\n"
STORED = GIT + b"username=ann\npassword=s3cret\n"
DOCKER = b'{"ServerURL":"' + SERVER.encode() + b'","Username":"ann","Secret":"s3cret"}'


def start(program, command, request, environment):
    """(milliseconds, KiB) of one run."""
    output = subprocess.run([program, request, *command], env=environment, check=True, capture_output=True, text=True).stdout
    time, size = output.split()
    return float(time) / 1000, int(size)


def file(name, data):
    path = f"{WORK}/{name}"
    with open(path, "wb") as out:
        out.write(data)
    return path


def peers():
    """The peers that are there: [(name, command, what to store, request)]."""
    found = []
    if os.path.exists(LIBSECRET):
        program = f"{WORK}/git-credential-libsecret"
        flags = pkg_config("--cflags", "--libs", "libsecret-1", "glib-2.0")
        subprocess.run(["cc", "-O2", "-o", program, LIBSECRET, *flags], check=True, capture_output=True)
        found.append(("git-credential-libsecret", [program], STORED, GIT))
    if program := shutil.which("docker-credential-secretservice"):
        found.append(("docker-credential-secretservice", [program], DOCKER, SERVER.encode()))
    return found


def measure():
    if missing():
        return
    helper = f"{PREFIX}/bin/git-credential-tokenkeep"
    docker = f"{PREFIX}/bin/docker-credential-tokenkeep"
    places = {"keyring": "any required secret-service", "vault": "any required vault"}
    runs = [(f"{os.path.basename(program)}, {place}", [program, "--stack", stack], *data)
            for program, data in ((helper, (STORED, GIT)), (docker, (DOCKER, SERVER.encode())))
            for place, stack in places.items()]
    runs += peers()
    program = build("helper")
    requests = {GIT: file("git-request", GIT), SERVER.encode(): file("docker-request", SERVER.encode())}
    with PrivateKeyring(f"{WORK}/keyring-tools") as keyring:
        environment = {**keyring.environment, "TOKENKEEP_VAULT": f"{WORK}/vault-tools"}
        for name, command, stored, request in runs:
            subprocess.run([*command, "store"], env=environment, input=stored, check=True, capture_output=True)
            got = subprocess.run([*command, "get"], env=environment, input=request, check=True, capture_output=True)
            assert b"s3cret" in got.stdout, (name, got.stdout)
        figures = {name: [] for name, *_ in runs}
        for _ in range(ROUNDS):  # in turns: what the machine does meanwhile hits all
            for name, command, _, request in runs:
                figures[name].append(start(program, [*command, "get"], requests[request], environment))
    rows = [[name, f"{median(time for time, _ in seen):.1f}", f"{min(time for time, _ in seen):.1f}",
             f"{median(size for _, size in seen) / 1024:.1f}"] for name, seen in figures.items()]
    table(f"`get` of a helper, {ROUNDS} starts each", ["helper", "median ms", "least ms", "MiB"], rows)
    measure_many()
    measure_python()


ENTRIES = 5000
PYTHON = "/usr/bin/python3"
BACKENDS = {"TokenKeep": "tokenkeep.keyring", "SecretService": "keyring.backends.SecretService"}
LOADS = """
import importlib, sys, time
backend = importlib.import_module(sys.argv[1]).Keyring()
backend.set_password("bench.example", "ann", "s3cret")
assert backend.get_password("bench.example", "ann") == "s3cret"
times = []
for _ in range(300):
    began = time.perf_counter()
    backend.get_password("bench.example", "ann")
    times.append(time.perf_counter() - began)
print(sorted(times)[len(times) // 2] * 1e3)
"""


def timed(command, environment, times=1):
    """The median of milliseconds."""
    taken = []
    for _ in range(times):
        began = time.perf_counter()
        subprocess.run(command, env=environment, check=True, capture_output=True)
        taken.append((time.perf_counter() - began) * 1000)
    return median(taken)


def measure_many():
    """An import of many entries, and a completion among twice as many items."""
    program = f"{PREFIX}/bin/tokenkeep"
    environment = {**os.environ, "TOKENKEEP_VAULT": f"{WORK}/vault-import", "HOME": WORK, "SAP_SHELL": "bash"}
    stack = ["--stack", "any required vault"]
    rows = []
    for part in range(2):
        entries = range(part * ENTRIES, (part + 1) * ENTRIES)
        source = file("entries", "".join(f"https://u{n}:s{n}@h{n}.example\n" for n in entries).encode())
        took = timed([program, "import", "--from", "git-credentials", source, *stack], environment)
        rows.append([f"import of {ENTRIES} entries to {part * ENTRIES} items", f"{took:.0f}"])
    words = ["tokenkeep", "load", *stack, "git:https://h77"]
    completion = [program, "---completion", "load", "--", "positional@0", str(len(words) - 1), "15", *words]
    rows.append([f"completion of a service among {2 * ENTRIES} items", f"{timed(completion, environment, 9):.0f}"])
    table("Many items in the vault", ["what", "ms"], rows)


def measure_python():
    """Loads by Python's keyring: our backend beside SecretService's, from one gnome-keyring."""
    paths = [os.path.join(os.path.dirname(__file__), "..", "..", "python")]
    with PrivateKeyring(f"{WORK}/keyring-python") as keyring:
        libraries = ":".join(f"{PREFIX}/{name}" for name in ("lib", "lib64", "lib/x86_64-linux-gnu"))
        environment = {
            **keyring.environment, "TOKENKEEP_VAULT": f"{WORK}/vault-python", "LD_LIBRARY_PATH": libraries,
            "PYTHONPATH": ":".join(paths), "KEYRING_PROPERTY_STACK": "any required secret-service"}
        took = {name: [] for name in BACKENDS}
        for _ in range(3):
            for name, module in BACKENDS.items():
                printed = subprocess.run(
                    [PYTHON, "-c", LOADS, module], env=environment, check=True, capture_output=True, text=True).stdout
                took[name].append(float(printed))
    rows = [[name, f"{median(times):.2f}"] for name, times in took.items()]
    table("A load by Python's keyring from one gnome-keyring", ["backend", "median ms"], rows)
