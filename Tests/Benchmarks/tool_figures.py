"""A start of git's and docker's helpers beside those of peers: wall time and memory of `get`, from one gnome-keyring and
from the vault."""
import os
import shutil
import subprocess
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
