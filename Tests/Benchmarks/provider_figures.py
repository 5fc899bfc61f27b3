"""The provider of org.freedesktop.secrets beside gnome-keyring, with the same client in one run: store, lookup, search,
delete, start to the name's owner, memory, 64 clients at once, a large value that is rewritten."""
import os
import subprocess
import sys
import threading
import time
from statistics import median

from harness import HERE, PREFIX, SHORT, WORK, table
from private_keyring import PrivateKeyring, missing

sys.path += [os.path.join(HERE, "../Provider"), os.path.join(HERE, "../Support")]

PROVIDER = f"{PREFIX}/libexec/tokenkeep/tokenkeep-secret-service"
SIZES = (10, 500) if SHORT else (10, 2000)
OURS = 2000 if SHORT else 10000
ROUNDS = 40
STARTS = 20
REWRITES = 100 if SHORT else 1000


class Service:
    """A service on a bus of its own."""

    def __init__(self, name, directory):
        self.name = name
        self.bus = PrivateKeyring(directory)
        self.process = None

    def __enter__(self):
        self.bus.__enter__()
        if self.name == "TokenKeep":
            # The one that the helper starts goes.
            self.stop_keyring()
            self.process = self.start()
        return self

    def __exit__(self, *error):
        if self.process is not None:
            self.process.kill()
            self.process.wait()
        self.bus.__exit__(*error)

    @property
    def environment(self):
        return {**self.bus.environment, "TOKENKEEP_VAULT": f"{self.bus.directory}/vault"}

    def owner(self):
        done = subprocess.run(
            ["dbus-send", "--print-reply=literal", "--dest=org.freedesktop.DBus", "/",
             "org.freedesktop.DBus.GetConnectionUnixProcessID", "string:org.freedesktop.secrets"],
            env=self.environment, capture_output=True, text=True, check=False)
        return int(done.stdout.split()[-1]) if done.returncode == 0 else None

    def stop_keyring(self):
        os.kill(self.owner(), 15)
        while self.owner() is not None:
            time.sleep(0.01)

    def start(self):
        process = subprocess.Popen([PROVIDER], env=self.environment, stdin=subprocess.DEVNULL)
        while self.owner() != process.pid:
            time.sleep(0.01)
        return process

    def client(self):
        from client import Client
        return Client(self.bus.environment["DBUS_SESSION_BUS_ADDRESS"])

    def memory(self):
        """Resident memory in MiB."""
        with open(f"/proc/{self.owner()}/status", encoding="ascii") as file:
            return next(int(line.split()[1]) / 1024 for line in file if line.startswith("VmRSS"))


def timed(call, rounds=ROUNDS):
    """Median milliseconds of call(number)."""
    seen = []
    for number in range(rounds):
        begun = time.perf_counter()
        call(number)
        seen.append((time.perf_counter() - begun) * 1000)
    return median(seen)


def fill(client, begin, end):
    for number in range(begin, end):
        client.create({"number": str(number), "kind": "bench"}, b"a token of forty bytes, as servers make it")


def calls(client, items):
    """Milliseconds of each call among so many items."""
    def lookup(number):
        found, _ = client.search({"number": str(number % items)})
        client.secrets(found[:1])

    found = {"store": timed(lambda number: client.create({"new": str(number)}, b"value"))}
    found["replace"] = timed(lambda number: client.create({"new": str(number)}, b"other"))
    found["lookup"] = timed(lookup)
    found["search"] = timed(lambda number: client.search({"number": str(number % items), "kind": "bench"}))
    paths = [client.search({"new": str(number)})[0][0] for number in range(ROUNDS)]
    found["delete"] = timed(lambda number: client.call(paths[number], "org.freedesktop.Secret.Item", "Delete"))
    return found


def crowd(service):
    """Milliseconds of a lookup while 64 clients look up at once: the median of all."""
    seen = []

    def one():
        client = service.client()
        client.open_session()
        seen.append(timed(lambda number: client.secrets(client.search({"number": str(number % 10)})[0][:1]), 20))
        client.close()

    threads = [threading.Thread(target=one) for _ in range(64)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return median(seen)


def rewritten(client):
    """Milliseconds of one of many writes of 100 KiB over one item."""
    return timed(lambda number: client.create({"cache": "azure"}, b"%d" % number * 34000), REWRITES)


def start_time(service, command):
    """Milliseconds from the start of a program to its name."""
    from jeepney import MatchRule, message_bus
    client = service.client()
    rule = MatchRule(type="signal", interface="org.freedesktop.DBus", member="NameOwnerChanged")
    client.connection.send_and_get_reply(message_bus.AddMatch(rule))

    def one(_):
        process = subprocess.Popen(
            command, env=service.environment, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        processes.append(process)
        with client.connection.filter(rule, bufsize=1000) as queue:
            while True:
                name, _, owner = client.connection.recv_until_filtered(queue, timeout=60).body
                if name == "org.freedesktop.secrets" and owner:
                    return

    seen = []
    for _ in range(STARTS):
        processes = []
        seen.append(timed(one, 1))
        processes[0].kill()
        processes[0].wait()
        while service.owner() is not None:
            time.sleep(0.01)
    client.close()
    return median(seen)


def secret_tool():
    """Milliseconds of `secret-tool lookup` with the provider running, and with one that the bus starts for it."""
    os.environ.update(PROVIDER=PROVIDER, TOKENKEEP=f"{PREFIX}/bin/tokenkeep")
    from world import World
    world, seen = World(), {"running": [], "started by the bus": []}
    try:
        world.activate()
        for _ in range(STARTS):
            for what, times in seen.items():
                owner = world.owner()
                if what != "running" and owner is not None:
                    os.kill(owner, 9)
                    while world.owner() is not None:
                        time.sleep(0.01)
                times.append(timed(lambda _: world.run("secret-tool", "lookup", "a", "1", check=False), 1))
    finally:
        owner = world.owner()
        if owner is not None:
            os.kill(owner, 9)
        world.close()
    # The first one that was running was started, too.
    return {f"secret-tool, {what}": median(times[1:]) for what, times in seen.items()}


def measure():
    if missing():
        return
    figures, memory, others = {}, {}, {}
    for what, milliseconds in secret_tool().items():
        others["TokenKeep", what] = milliseconds
    for name, sizes in (("TokenKeep", (*SIZES, OURS)), ("gnome-keyring", SIZES)):
        with Service(name, f"{WORK}/provider-{name}") as service:
            client, filled = service.client(), 0
            for size in sizes:
                fill(client, filled, size)
                filled = size
                figures[name, size] = calls(client, size)
                memory[name, size] = service.memory()
                if size == SIZES[0]:
                    others[name, "64 clients, lookup"] = crowd(service)
                    others[name, "100 KiB rewritten"] = rewritten(client)
            client.close()
            os.kill(service.owner(), 9)
            while service.owner() is not None:
                time.sleep(0.01)
            command = [PROVIDER] if name == "TokenKeep" else ["gnome-keyring-daemon", "--foreground", "--components=secrets"]
            others[name, f"start to name, {filled} items"] = start_time(service, command)
    names = list(figures["TokenKeep", 10])
    table("org.freedesktop.secrets: a call, milliseconds, and memory of the service",
          ["service", "items", *names, "MiB"],
          [[name, str(size), *(f"{seen[call]:.2f}" for call in names), f"{memory[name, size]:.1f}"]
           for (name, size), seen in figures.items()])
    table("org.freedesktop.secrets, milliseconds", ["service", "what", "ms"],
          [[name, what, f"{value:.2f}"] for (name, what), value in others.items()])
