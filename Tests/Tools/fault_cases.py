"""Foreign bytes in every protocol, places that are away, and secrets where nobody looks for them."""
import fcntl
import json
import os
import random
import re
import signal
import socket
import subprocess

import tests_clock
from patience import PATIENCE, wait_until
from world import cases, has, same

# `make verify` cuts at each byte, and feeds more random ones.
EVERY = "TOKENKEEP_EVERY_MOMENT" in os.environ
GIT = "protocol=https\nhost=example.com\nusername=ann\npassword=s3cret-word\n"
DOCKER = '{"ServerURL":"https://r.example.com","Username":"ann","Secret":"s3cret-word"}'
CARGO = json.dumps({"v": 1, "registry": {"index-url": "sparse+https://c.example.com/"}, "kind": "login",
                    "token": "s3cret-word", "args": []}) + "\n"
TERRAFORM = '{"token":"s3cret-word"}'
BAZEL = '{"uri":"https://b.example.com/"}'
# Each protocol's arguments with a request that it understands.
REQUESTS = {
    ("git", "store"): GIT, ("docker", "store"): DOCKER, ("cargo", "--cargo-plugin"): CARGO,
    ("terraform", "store", "t.example.com"): TERRAFORM, ("bazel", "get"): BAZEL,
    ("git", "get"): GIT, ("git", "erase"): GIT, ("docker", "get"): "https://r.example.com",
}


def feed(world, words, data):
    """Runs a protocol; it must end by itself, without a crash, and print neither a secret nor an escape."""
    program = subprocess.Popen(["tokenkeep-credential", *words], env=world.environment, stdin=subprocess.PIPE,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    out, err = program.communicate(data, timeout=PATIENCE)
    assert 0 <= program.returncode <= 7, f"{words} {data[:200]!r}: {program.returncode}: {err!r}"
    assert b"s3cret-word" not in err, f"{words} {data[:200]!r}: {err!r}"
    assert not set(err) & {0x1B, 0x07, 0x00}, err
    return program.returncode, out


def a_request_that_is_cut_keeps_nothing(world):
    for words, text in REQUESTS.items():
        if "store" not in words and "cargo" not in words:
            continue
        data = text.encode()
        for end in range(0, len(data) - 1, 1 if EVERY or len(data) < 90 else 3):
            feed(world, words, data[:end])
        # A line of git's that is whole counts: git ends its requests by the end of its output.
        same(world.services(), set())


def random_bytes_are_refused(world):
    numbers = random.Random(34)
    for words, text in REQUESTS.items():
        for _ in range(300 if EVERY else 12):
            feed(world, words, numbers.randbytes(numbers.randrange(200)))
            data = bytearray(text.encode())
            for _ in range(numbers.randrange(1, 4)):
                data[numbers.randrange(len(data))] = numbers.randrange(256)
            feed(world, words, bytes(data))


def a_hundred_mebibytes_are_refused(world):
    part = b"x" * (1 << 20)
    for words in REQUESTS:
        with subprocess.Popen(["tokenkeep-credential", *words], env=world.environment, stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE) as program:
            sent = 0
            try:
                while sent < 100:
                    program.stdin.write(part)
                    sent += 1
            except BrokenPipeError:
                pass
            out, err = program.communicate()
            assert sent < 10, sent
            has((out + err).decode(), "the request is longer than 2097152 bytes")


def a_hung_keyring_is_told_after_the_limit(world):
    world.stack("any required secret-service\n")
    with socket.socket(socket.AF_UNIX) as bus:
        bus.bind(world.path("bus"))
        bus.listen()
        environment = {**world.environment, "DBUS_SESSION_BUS_ADDRESS": f"unix:path={world.path('bus')}"}
        for words, text, code in ((("git", "get"), GIT, 4), (("docker", "get"), "https://r.example.com", 1),
                                  (("terraform", "get", "t"), "", 4), (("kubernetes", "k"), "", 4), (("aws",), "", 4)):
            with subprocess.Popen(["tokenkeep-credential", *words], env=environment, stdin=subprocess.PIPE, text=True,
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE) as program:
                program.stdin.write(text)
                program.stdin.close()
                program.stdin = None
                tests_clock.pass_limits(program)
                out, err = program.communicate()
                same(program.returncode, code)
                has(out + err, "secret-service: ")
                assert "not found" not in out + err


def a_silent_pipe_of_a_password_is_told_after_the_limit(world):
    kept = ((("git", "store"), GIT), (("docker", "store"), DOCKER), (("terraform", "store", "t.example.com"), TERRAFORM))
    for words, text in kept:
        world.run("tokenkeep-credential", *words, input=text)
    world.lock()
    pipe = world.path("silent")
    os.mkfifo(pipe, 0o600)
    # Held open for writing, a pipe has a writer that says nothing.
    for written in (False, True):
        held = os.open(pipe, os.O_RDWR) if written else None
        for words, text, code in ((("git", "get"), GIT.replace("password=s3cret-word\n", ""), 4),
                                  (("docker", "get"), "https://r.example.com", 1),
                                  (("terraform", "get", "t.example.com"), "", 4)):
            # Without --timeout the limit is two minutes, which the test's clock passes.
            for limit in ([], ["--timeout", "20ms"]):
                with subprocess.Popen(
                        ["tokenkeep-credential", words[0], "--password-file", pipe, *limit, *words[1:]],
                        env=world.environment, stdin=subprocess.PIPE, text=True, stdout=subprocess.PIPE,
                        stderr=subprocess.PIPE) as program:
                    program.stdin.write(text)
                    program.stdin.close()
                    program.stdin = None
                    if not limit:
                        tests_clock.pass_limits(program)
                    out, err = program.communicate(timeout=PATIENCE)
                    same(program.returncode, code)
                    has(out + err, f"the password file {pipe} is a pipe into which nothing is written")
                    assert "not found" not in out + err, out + err
        if held is not None:
            os.close(held)


def a_machine_without_a_bus_gets_no_warning(world):
    world.stack("any sufficient secret-service\nany required vault\n")
    for words, text in REQUESTS.items():
        told = world.run("tokenkeep-credential", *words, input=text, code=None)
        same(told.err, "")
    has(world.run("tokenkeep", "status").out, "vault")
    assert "pending" not in world.run("tokenkeep", "status").out


def an_item_of_a_damaged_record_is_not_signed_out(world):
    world.save("docker:https://r.example.com", "ann", "p")
    for folder, _, files in os.walk(world.vault):
        for name in files:
            if len(name) == 32 and folder.endswith("/records"):
                with open(os.path.join(folder, name), "r+b") as file:
                    file.seek(-1, os.SEEK_END)
                    file.write(b"!")
    told = world.run("docker-credential-tokenkeep", "get", input="https://r.example.com", code=1)
    assert "not found" not in told.out, told.out


def no_secret_is_in_arguments_environment_or_trace(world):
    told = world.run("strace", "-f", "-v", "-s", "9999", "-e", "trace=execve,openat,rename,mkdir", "git-credential-tokenkeep",
                     "store", input=GIT, env={"TOKENKEEP_DEBUG": "1"})
    assert "s3cret-word" not in told.err, told.err
    has(told.err, "journal: OK, the vault keeps it")


def writes(process):
    """Whether the process waits in write(2) to its standard output."""
    with open(f"/proc/{process}/syscall") as file:
        words = file.read().split()
    return words[:2] == ["1", "0x1"]


def no_secret_is_in_a_core_dump(world):
    world.run("git-credential-tokenkeep", "store", input=GIT)
    world.save("docker:https://r.example.com", "ann", "s3cret-word")
    for words, request in (
            (("git", "get"), "protocol=https\nhost=example.com\n"), (("docker", "get"), "https://r.example.com"),
            (("token", "tokenkeep://docker:https%3A%2F%2Fr.example.com/ann"), "")):
        reading, writing = os.pipe()
        fcntl.fcntl(writing, fcntl.F_SETPIPE_SZ, 4096)
        os.write(writing, b"-" * 4096)  # a full pipe: the program waits with its answer in memory
        with subprocess.Popen(["tokenkeep-credential", *words], env=world.environment, stdin=subprocess.PIPE,
                              stdout=writing, cwd=world.folder) as program:
            program.stdin.write(request.encode())
            program.stdin.close()
            program.stdin = None
            wait_until(lambda: writes(program.pid), "an answer")
            with open(f"/proc/{program.pid}/limits") as file:
                assert re.search(r"^Max core file size +0 +0 ", file.read(), flags=re.M), words
            subprocess.run(["gcore", "-o", world.path("core"), str(program.pid)], check=True, capture_output=True)
            os.close(writing)
            os.read(reading, 4096)
            has(os.read(reading, 4096).decode(), "s3cret-word")
        os.close(reading)
        with open(world.path(f"core.{program.pid}"), "rb") as file:
            core = file.read()
        # The memory is in the dump that a debugger makes, and the secret is not. JSON is in ordinary memory: such a program
        # relies on the kernel, which makes no dump of it.
        assert b"TOKENKEEP_VAULT=" in core and (words[0] == "docker" or b"s3cret-word" not in core), words


def a_closed_output_is_no_crash(world):
    world.run("git-credential-tokenkeep", "store", input=GIT)
    with subprocess.Popen(["git-credential-tokenkeep", "get"], env=world.environment, stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE) as program:
        program.stdout.close()
        program.stdout = None
        _, err = program.communicate(b"protocol=https\nhost=example.com\n")
        same((program.returncode, err), (-signal.SIGPIPE, b""))


def helpers_work_without_proc(world):
    world.run("unshare", "-m", "sh", "-c", "umount -l /proc && git-credential-tokenkeep store", input=GIT)
    has(world.run("unshare", "-m", "sh", "-c", "umount -l /proc && git-credential-tokenkeep get",
                  input=GIT.replace("password=s3cret-word\n", "")).out, "password=s3cret-word\n")


def a_killed_store_keeps_the_old_or_the_new(world):
    world.run("git-credential-tokenkeep", "store", input=GIT.replace("s3cret-word", "old"))
    present = "old"
    # strace counts the calls of each name apart.
    for name in ("write", "fdatasync", "renameat", "fsync"):
        for number in range(1, 100):
            new = f"{name}-{number}"
            ended = world.run("strace", "-f", "-qq", "-o", "/dev/null", "-e", f"trace={name}", "-e",
                              f"inject={name}:signal=SIGKILL:when={number}", "git-credential-tokenkeep", "store",
                              input=GIT.replace("s3cret-word", new), code=None)
            found = world.run("git-credential-tokenkeep", "get", input="protocol=https\nhost=example.com\n").out
            assert found in [f"username=ann\npassword={word}\n" for word in (present, new)], (found, present, new)
            present = found.rstrip().rsplit("=", 1)[-1]
            if ended.returncode == 0:
                same(present, new)
                break
            same(ended.returncode, -signal.SIGKILL)
        assert number > 1, f"it calls {name} never"
        same(ended.returncode, 0)


no_secret_is_in_arguments_environment_or_trace.needs = ["strace"]
no_secret_is_in_a_core_dump.needs = ["gcore"]
a_killed_store_keeps_the_old_or_the_new.needs = ["strace"]
a_hung_keyring_is_told_after_the_limit.moves_clock = True
a_silent_pipe_of_a_password_is_told_after_the_limit.moves_clock = True
helpers_work_without_proc.needs = ["unshare"]
helpers_work_without_proc.as_root = True
CASES = cases(globals(), feed, has, same, wait_until, writes)
