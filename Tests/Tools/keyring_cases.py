"""Each helper with a real gnome-keyring: unlocked, locked, and gone."""
import json
import os
import signal
import subprocess
import sys

import tests_clock
from patience import stop_process
from world import HERE, cases, has, same

sys.path.insert(0, os.path.join(HERE, "..", "Benchmarks"))
from private_keyring import PrivateKeyring  # noqa: E402: its folder must be on the path first

# A word that no message has.
SECRET = "s3s4me"
GIT = "protocol=https\nhost=example.com\n"
SERVER = "https://registry.example.com"
CARGO = {"v": 1, "registry": {"index-url": "sparse+https://c.example.com/"}, "kind": "get", "operation": "read", "args": []}
# Each protocol's request: arguments, standard input, exit code if the place is locked, and if it is away.
GETS = [
    (("git", "get"), GIT, 3, 4), (("docker", "get"), SERVER, 1, 1), (("docker", "list"), "", 1, 1),
    (("terraform", "get", "t.example.com"), "", 3, 4), (("kubernetes", "k"), "", 3, 4), (("aws", "a"), "", 3, 4),
    (("bazel", "get"), '{"uri":"https://b.example.com/"}', 3, 4), (("token", "tokenkeep://s/"), "", 3, 4),
]


def with_keyring(world, body):
    world.stack("any required secret-service\n")
    with PrivateKeyring(world.path("keyring")) as keyring:
        world.environment["DBUS_SESSION_BUS_ADDRESS"] = keyring.environment["DBUS_SESSION_BUS_ADDRESS"]
        body(keyring)


def fill(world):
    world.run("git-credential-tokenkeep", "store", input=f"{GIT}username=ann\npassword={SECRET}\n")
    world.run("docker-credential-tokenkeep", "store", input=json.dumps({"ServerURL": SERVER, "Username": "a", "Secret": SECRET}))
    for service in ("terraform:t.example.com", "kubernetes:k", "https://b.example.com", "s"):
        world.save(service, "", SECRET)
    world.save("aws:a", "AKID", SECRET)
    world.run("cargo-credential-tokenkeep", input=json.dumps({**CARGO, "kind": "login", "token": SECRET}) + "\n")


def lock(keyring):
    subprocess.run(["gdbus", "call", "--session", "--dest", "org.freedesktop.secrets", "--object-path",
                    "/org/freedesktop/secrets", "--method", "org.freedesktop.Secret.Service.Lock",
                    "['/org/freedesktop/secrets/aliases/default']"], env=keyring.environment, check=True, capture_output=True)


def a_keyring_keeps_what_helpers_store(world):
    def body(_):
        fill(world)
        for words, text, *_codes in GETS:
            has(world.run("tokenkeep-credential", *words, input=text).out, "a" if "list" in words else SECRET)
        has(world.run("cargo-credential-tokenkeep", input=json.dumps(CARGO) + "\n").out, f'"token":"{SECRET}"')
        world.run("git-credential-tokenkeep", "erase", input=GIT + f"username=ann\npassword={SECRET}\n")
        same(world.run("git-credential-tokenkeep", "get", input=GIT).out, "")

    with_keyring(world, body)


def a_locked_keyring_is_not_signed_out(world):
    def body(keyring):
        fill(world)
        lock(keyring)
        for words, text, code, _ in GETS:
            told = world.run("tokenkeep-credential", *words, input=text, code=code)
            has(told.out + told.err, "locked")
            assert "not found" not in told.out + told.err and '"p"' not in told.out, told.out
        has(world.run("cargo-credential-tokenkeep", input=json.dumps(CARGO) + "\n").out, '{"Err":{"kind":"other"', "locked")
        world.run("git-credential-tokenkeep", "erase", input=GIT + f"username=ann\npassword={SECRET}\n", code=3)
        world.run("docker-credential-tokenkeep", "erase", input=SERVER, code=1)

    with_keyring(world, body)


def a_keyring_that_is_gone_is_not_signed_out(world):
    def body(keyring):
        fill(world)
        keyring.processes[-1].kill()
        keyring.processes[-1].wait()
        for words, text, _, code in GETS:
            told = world.run("tokenkeep-credential", *words, input=text, code=code)
            has(told.out + told.err, "secret-service: ")
            assert "not found" not in told.out + told.err

    with_keyring(world, body)


def a_keyring_that_is_stopped_is_told_after_the_limit(world):
    def body(keyring):
        fill(world)
        daemon = keyring.processes[-1]
        stop_process(daemon.pid)
        try:
            for words, text, _, code in GETS + [(("git", "erase"), GIT + f"username=ann\npassword={SECRET}\n", 3, 4)]:
                with subprocess.Popen(["tokenkeep-credential", *words], env=world.environment, text=True, stdin=subprocess.PIPE,
                                      stdout=subprocess.PIPE, stderr=subprocess.PIPE) as program:
                    program.stdin.write(text)
                    program.stdin.close()
                    program.stdin = None
                    tests_clock.pass_limits(program)
                    out, err = program.communicate()
                    same(program.returncode, code)
                    has(out + err, "secret-service: ")
                    assert "not found" not in out + err and SECRET not in out + err, out + err
        finally:
            daemon.send_signal(signal.SIGCONT)
        has(world.run("git-credential-tokenkeep", "get", input=GIT).out, f"password={SECRET}\n")

    with_keyring(world, body)


for case in (a_keyring_keeps_what_helpers_store, a_locked_keyring_is_not_signed_out, a_keyring_that_is_gone_is_not_signed_out,
             a_keyring_that_is_stopped_is_told_after_the_limit):
    case.needs = ["gnome-keyring-daemon", "dbus-daemon", "gdbus"]
del case
a_keyring_that_is_stopped_is_told_after_the_limit.moves_clock = True
CASES = cases(globals(), with_keyring, fill, lock, has, same)
