"""The memory of the provider beside gnome-keyring's, after the same calls: a part of `make verify-provider`."""
import unittest

from client import ITEM, Client
from compared import Compared
from world import NAME


class Resident(Compared):
    def resident(self, world, count):
        """KiB after so many items were stored, ten of them twice, searched and read, and one deleted."""
        client = Client(world.address)
        self.addCleanup(client.close)
        for number in (*range(10), *range(count)):
            path = client.create({"number": str(number)}, b"a token of forty bytes, as servers make it")
        for number in range(10):
            client.secrets(client.search({"number": str(number)})[0])
        client.call(path, ITEM, "Delete")
        with open(f"/proc/{world.owner(NAME)}/status", encoding="ascii") as file:
            return next(int(line.split()[1]) for line in file if line.startswith("VmRSS"))

    def compare_resident(self, count):
        ours, theirs = self.resident(self.provider(), count), self.resident(self.gnome_keyring(), count)
        print(f"{count} items: {ours} KiB, gnome-keyring {theirs} KiB")
        self.assertLessEqual(ours, theirs, "make order-functions may help")

    def test_ten_items_take_no_more_than_with_gnome_keyring(self):
        self.compare_resident(10)

    def test_two_thousand_items_take_no_more_than_with_gnome_keyring(self):
        self.compare_resident(2000)


if __name__ == "__main__":
    unittest.main()
