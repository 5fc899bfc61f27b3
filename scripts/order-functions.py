#!/usr/bin/python3
"""Writes cmake/function-order.txt: the functions that the provider uses, which the linker lays side by side.

Usage: order-functions.py PROVIDER TOKENKEEP (make order-functions)

The kernel maps a program's code in pieces of 64 KiB. With its functions apart from those that are never called, half as much
memory is resident. A name that no longer exists does no harm. PROVIDER has its symbols; valgrind sees which functions run.
"""
import os
import re
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ORDER = os.path.join(HERE, "../cmake/function-order.txt")
# The list has some thousands. Fewer are a fault of the profile.
FEWEST = 500
# What a session's clients do, with the standard's own client for encrypted sessions.
COMMANDS = """
printf one | secret-tool store --label=label a 1 b 2
printf two | secret-tool store --label=label a 1 b 2
secret-tool lookup a 1
secret-tool search --all b 2
secret-tool clear a 1
"""


def use(world, process):
    from client import DEFAULT, ITEM, ROOT, SERVICE, Client
    from patience import wait_until
    wait_until(lambda: world.owner() == process.pid, "the provider")
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


def called(path):
    """The names of the functions in a profile of callgrind's."""
    with open(path, encoding="utf-8") as file:
        names = (re.match(r"c?fn=\(\d+\) (\S+)", line) for line in file)
        # A second number is that of a recursion.
        return {re.sub(r"'\d+$", "", name[1]) for name in names if name}


def main():
    os.environ["PROVIDER"], os.environ["TOKENKEEP"] = map(os.path.abspath, sys.argv[1:3])
    sys.path[:0] = [os.path.join(HERE, "../Tests", part) for part in ("Provider", "Support")]
    from patience import PATIENCE
    from world import World
    with tempfile.TemporaryDirectory() as folder:
        program, profile = f"{folder}/provider", f"{folder}/profile"
        # Valgrind does not read the compiler's debug symbols.
        subprocess.run(["objcopy", "--strip-debug", os.environ["PROVIDER"], program], check=True)
        world = World()
        try:
            process = subprocess.Popen(
                ["valgrind", "-q", "--tool=callgrind", "--demangle=no", f"--callgrind-out-file={profile}", program],
                env=world.environment, stdin=subprocess.DEVNULL)
            world.processes.append(process)
            use(world, process)
            process.terminate()
            process.wait(PATIENCE)
        finally:
            world.close()
        symbols = subprocess.run(["nm", "--defined-only", "-j", program], check=True, capture_output=True, text=True)
        names = called(profile) & set(symbols.stdout.split())
    if len(names) < FEWEST:
        sys.exit(f"order-functions.py: {len(names)} functions ran: the profile is not the provider's. {ORDER} stays as it is")
    with open(ORDER, "w", encoding="utf-8") as file:
        file.writelines(f"{name}\n" for name in sorted(names))
    print(f"{len(names)} functions")


if __name__ == "__main__":
    main()
