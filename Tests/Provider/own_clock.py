"""What takes two minutes, by a clock of its own. test_locks runs this."""
import test_locks
import tests_clock
from client import PROPERTIES


class Waiting(test_locks.Locked):
    def test_a_password_that_does_not_come(self):
        self.begin()
        client = test_locks.Unlocking.ours(self)
        test_locks.Unlocking.send_password(self, client)
        client.call(test_locks.OUR_PATH, PROPERTIES, "Get", "ss", test_locks.OURS, "VaultId")
        tests_clock.advance(121)
        self.assertEqual(client.replies(1)[0].body, (4,))
        self.assertIn("the descriptor gave no password in two minutes, for python3 (pid ", self.world.logged())
