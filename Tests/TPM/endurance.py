#!/usr/bin/env python3
"""tokenkeep-tpm2 again and again on one TPM, which is never restarted.

Usage: endurance.py PROGRAM [TEST…]"""
from case import Case, main
from world import Key


class Endurance(Case):
    def test_a_thousand_in_a_row_leave_nothing_loaded(self):
        caller = self.once().learn()
        for _ in range(1000):
            key = Key()
            self.opens(caller, self.sealed(caller, key), key)
        self.nothing_is_loaded()

    def test_two_hundred_indices_in_a_row_wear_no_room_out(self):
        caller = self.once().learn()
        for _ in range(200):
            key = Key()
            self.done(caller.destroy(key, self.index(caller.make(key))))
        self.assertEqual(caller.list(), [])
        self.nothing_is_loaded()


if __name__ == "__main__":
    main()
