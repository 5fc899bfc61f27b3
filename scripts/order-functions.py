#!/usr/bin/python3
"""Writes cmake/function-order.txt: the functions that the provider and git's helper use, which the linker lays side by side.

Usage: order-functions.py PROVIDER CREDENTIAL TOKENKEEP (make order-functions)

The kernel maps a program's code in pieces of 64 KiB. With its functions apart from those that are never called, half as much
memory is resident. A name that no longer exists does no harm. PROVIDER and CREDENTIAL have their symbols; valgrind sees which
functions run.
"""
import contextlib
import os
import re
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ORDER = os.path.join(HERE, "../cmake/function-order.txt")
# Each program's list has some thousands. Fewer are a fault of the profile.
FEWEST = 500
CALLGRIND = ["valgrind", "-q", "--tool=callgrind", "--demangle=no"]
# What a session's clients do, with the standard's own client for encrypted sessions.
COMMANDS = """
printf one | secret-tool store --label=label a 1 b 2
printf two | secret-tool store --label=label a 1 b 2
secret-tool lookup a 1
secret-tool search --all b 2
secret-tool clear a 1
"""


@contextlib.contextmanager
def running(world, command):
    """The provider, on the bus."""
    from patience import PATIENCE, wait_until
    process = subprocess.Popen(command, env=world.environment, stdin=subprocess.DEVNULL)
    world.processes.append(process)
    wait_until(lambda: world.owner() == process.pid, "the provider")
    yield
    process.terminate()
    process.wait(PATIENCE)


def use(world):
    from client import DEFAULT, ITEM, ROOT, SERVICE, Client
    client = Client(world.address)
    for value in (b"old", b"new"):
        paths = [client.create({"number": str(number)}, value) for number in range(10)]
    client.secrets([client.search({"number": str(number)})[0][0] for number in range(10)])
    client.get_all(paths[0], ITEM)
    client.set(paths[0], ITEM, "Label", "s", "other")
    client.call(paths[0], ITEM, "Delete")
    world.run("sh", "-c", COMMANDS)
    world.tokenkeep("save", "service", "account", input="token")
    client.search({"service": "service"})
    world.set_password()
    world.lock()
    client.call(ROOT, SERVICE, "Unlock", "ao", [DEFAULT])
    world.unlock()
    client.search({"service": "service"})
    client.close()


def get(world, program, profile):
    """Starts of git's helper: from the vault, and from a Secret Service, which is the provider of another vault."""
    request = "protocol=https\nhost=example.com\n"
    environment = {**world.environment, "TOKENKEEP_VAULT": f"{os.path.dirname(profile)}/vault"}
    for place in ("vault", "keyring"):
        # Valgrind takes its time.
        stack = "any required " + ("vault" if place == "vault" else "secret-service timeout=5m")
        helper = [program, "--timeout", "300", "--stack", stack, "git"]
        subprocess.run([*helper, "store"], env=environment, input=f"{request}username=a\npassword=p\n", text=True, check=True)
        traced = [*CALLGRIND, f"--callgrind-out-file={profile}-{place}", *helper, "get"]
        got = subprocess.run(traced, env=environment, input=request, text=True, check=True, stdout=subprocess.PIPE).stdout
        if "password=p\n" not in got:
            sys.exit(f"order-functions.py: the helper answered {got!r}")
    return called(f"{profile}-vault") | called(f"{profile}-keyring")


def called(path):
    """The names of the functions in a profile of callgrind's."""
    with open(path, encoding="utf-8") as file:
        names = (re.match(r"c?fn=\(\d+\) (\S+)", line) for line in file)
        # A second number is that of a recursion.
        return {re.sub(r"'\d+$", "", name[1]) for name in names if name}


def without_debug(program, copy):
    """A copy that valgrind reads, and the names of its functions."""
    subprocess.run(["objcopy", "--strip-debug", program, copy], check=True)
    symbols = subprocess.run(["nm", "--defined-only", "-j", copy], check=True, capture_output=True, text=True)
    return set(symbols.stdout.split())


def write(provider, helper):
    """The functions of both programs lie in the middle, so that those of each lie side by side."""
    for names, program in ((provider, "provider"), (helper, "helper")):
        if len(names) < FEWEST:
            sys.exit(f"order-functions.py: {len(names)} functions ran: the profile is not the {program}'s. "
                     f"{ORDER} stays as it is")
    parts = (helper - provider, helper & provider, provider - helper)
    with open(ORDER, "w", encoding="utf-8") as file:
        file.writelines(f"{name}\n" for part in parts for name in sorted(part))
    print(f"{len(helper | provider)} functions: {len(provider)} of the provider, {len(helper)} of the helper")


def main():
    os.environ["PROVIDER"], credential, os.environ["TOKENKEEP"] = map(os.path.abspath, sys.argv[1:4])
    sys.path[:0] = [os.path.join(HERE, "../Tests", part) for part in ("Provider", "Support")]
    from world import World
    with tempfile.TemporaryDirectory() as folder:
        program, profile, copy = f"{folder}/provider", f"{folder}/profile", f"{folder}/tokenkeep-credential"
        symbols, symbols_of_helper = without_debug(os.environ["PROVIDER"], program), without_debug(credential, copy)
        world = World()
        try:
            # Valgrind slows the provider down so much that the helper would take it for hung.
            with running(world, [os.environ["PROVIDER"]]):
                helper = get(world, copy, profile)
            with running(world, [*CALLGRIND, f"--callgrind-out-file={profile}", program]):
                use(world)
        finally:
            world.close()
        write(called(profile) & symbols, helper & symbols_of_helper)


if __name__ == "__main__":
    main()
