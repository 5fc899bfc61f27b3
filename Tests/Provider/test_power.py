"""Power cuts while a client writes: the vault as it lies on the disk at each moment, served again."""
import os
import re
import shutil
import subprocess
import sys
import unittest

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../Faults"))

from client import ITEM, LOGIN, Client  # noqa: E402
from patience import wait_until  # noqa: E402
from power import TRACE, Disk  # noqa: E402
from world import PROVIDER, World  # noqa: E402

CUTS = int(os.environ.get("CUTS", "24"))
UNFINISHED = re.compile(r"(\d+) +(.*) <unfinished \.\.\.>$")
RESUMED = re.compile(r"(\d+) +<\.\.\. [a-z0-9_]+ resumed>(.*)$")


def joined(lines):
    """The calls of a trace of threads, each in one line, where the call ended; "" for a call's beginning."""
    begun = {}
    for line in lines:
        if found := UNFINISHED.match(line):
            begun[found.group(1)] = found.group(2)
            yield ""
        elif found := RESUMED.match(line):
            yield f"{found.group(1)} {begun.pop(found.group(1))}{found.group(2)}"
        else:
            yield line


class PowerCuts(unittest.TestCase):
    def setUp(self):
        self.world = World()
        self.addCleanup(self.world.close)
        self.vault = os.path.join(self.world.home, "vault")
        self.trace = os.path.join(self.world.home, "trace")

    def client(self):
        client = Client(self.world.address)
        self.addCleanup(client.close)
        return client

    def write(self, client):
        """Changes items. Returns what was acknowledged: the trace's length and the values by number."""
        values, paths, states = {}, {}, [(0, {})]
        for count in range(30):
            number = count % 4
            if count % 7 == 6:
                client.call(paths[number], ITEM, "Delete")
                values[number] = None
                del paths[number]
            elif number in paths and count % 3 == 0:
                client.call(paths[number], ITEM, "SetSecret", "(oayays)", client.secret(b"%d" % count))
                values[number] = b"%d" % count
            else:
                path = client.create({"number": str(number)}, b"%d" % count)
                self.assertEqual(paths.setdefault(number, path), path)
                values[number] = b"%d" % count
            states.append((self.traced(), dict(values)))
        return states, paths

    def traced(self):
        with open(self.trace, "rb") as file:
            return file.read().count(b"\n")

    def check(self, acknowledged, possible, paths):
        """Each item has its acknowledged value, or that of the change which was under way, once."""
        provider = self.world.provider()
        client = Client(self.world.address)
        for number in range(4):
            found, locked = client.search({"number": str(number)})
            self.assertEqual(locked, [])
            self.assertLessEqual(len(found), 1, "an item is there once")
            value = client.value(found[0]) if found else None
            self.assertIn(value, (acknowledged.get(number), possible.get(number)))
            if found and number in paths and value == possible.get(number):
                self.assertTrue(found[0].startswith(LOGIN))
        client.close()
        self.world.stop(provider)
        self.assertNotIn("damaged", self.world.logged())

    def test_no_acknowledged_change_is_lost(self):
        self.world.stop(self.world.provider())
        self.world.tokenkeep("save", "--stack", "any required vault", "s", "u", input="x")
        disk = Disk(self.vault)
        kept = self.vault + ".kept"
        shutil.copytree(self.vault, kept, symlinks=True)
        self.assertTrue(disk.seen)
        with open(self.world.log, "ab") as log:
            process = subprocess.Popen(
                [*TRACE, self.trace, PROVIDER], env=self.world.environment, stderr=log, stdin=subprocess.DEVNULL)
        self.world.processes.append(process)
        wait_until(self.world.owner, "the name's owner")
        states, paths = self.write(self.client())
        os.kill(self.world.owner(), 15)
        process.wait()
        with open(self.trace, encoding="latin-1") as trace:
            steps = list(joined(trace.read().splitlines()))
        changes = [number for number, step in enumerate(steps) if step and self.vault in Disk.plain(step)]
        self.assertGreater(len(changes), 60)
        chosen = set(changes[::max(1, len(changes) * 2 // CUTS)])
        for number, step in enumerate(steps):
            if not step or not disk.apply(step) or number not in chosen:
                continue
            done = max(index for index, (length, _) in enumerate(states) if length <= number)
            for keeps_names in (False, True):
                with self.subTest(step=Disk.plain(step)[:120], keeps_names=keeps_names):
                    disk.restore(keeps_names)
                    self.check(states[done][1], states[min(done + 1, len(states) - 1)][1], paths)


if __name__ == "__main__":
    unittest.main()
