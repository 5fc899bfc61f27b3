"""What takes two minutes, by a clock of its own. test_locks runs this."""
import test_locks
import tests_clock
from client import PROPERTIES
from patience import wait_until


class Waiting(test_locks.Locked):
    def test_a_password_that_does_not_come(self):
        self.begin()
        client = test_locks.Unlocking.ours(self)
        test_locks.Unlocking.send_password(self, client)
        client.call(test_locks.OUR_PATH, PROPERTIES, "Get", "ss", test_locks.OURS, "VaultId")
        # The reading is another thread's: its two minutes may begin only after the clock was set forward.
        (reply,) = wait_until(lambda: self.replies_after_two_minutes(client), "the end of the reading")
        self.assertEqual(reply.body, (4,))
        self.assertIn("the descriptor gave no password in two minutes, for python3 (pid ", self.world.logged())

    @staticmethod
    def replies_after_two_minutes(client):
        tests_clock.advance(121)
        return client.replies_so_far()
