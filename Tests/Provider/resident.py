"""The memory of the provider beside gnome-keyring's, after the same calls: a part of `make verify-provider`."""
import unittest

from client import ITEM, Client
from compared import Compared
from world import NAME


class Resident(Compared):
    def resident(self, world):
        """KiB after ten items were stored, searched, read and one of them deleted."""
        client = Client(world.address)
        self.addCleanup(client.close)
        for _ in range(2):
            paths = [client.create({"number": str(number)}, b"a token of forty bytes, as servers make it") for number in range(10)]
        for number in range(10):
            client.secrets(client.search({"number": str(number)})[0])
        client.call(paths[0], ITEM, "Delete")
        with open(f"/proc/{world.owner(NAME)}/status", encoding="ascii") as file:
            return next(int(line.split()[1]) for line in file if line.startswith("VmRSS"))

    def test_the_provider_takes_no_more_than_gnome_keyring(self):
        ours, theirs = self.resident(self.provider()), self.resident(self.gnome_keyring())
        self.assertLessEqual(ours, theirs, "make order-functions may help")


if __name__ == "__main__":
    unittest.main()
