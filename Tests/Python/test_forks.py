"""Children made by fork()."""
import threading

import tokenkeep
from case import PASSWORD, PATIENCE, StoreCase, in_child


class ForkTests(StoreCase):
    def test_everything_made_before_a_fork_says_so_in_the_child(self):
        store = self.open()
        store.save("example.com", "ann", "one")
        session, watch = store.session("example.com", "ann"), store.watch()
        for call in (lambda: store.load("example.com", "ann"), lambda: store.save("example.com", "ann", "x"), store.list, store.sync,
                     session.state, watch.next, watch.fileno):
            self.assertEqual(in_child(call), "Forked")
        self.assertEqual(store.load("example.com", "ann").secret, b"one")

    def test_a_child_opens_a_store_of_its_own(self):
        store = self.open()
        store.save("example.com", "ann", "one")

        def work():
            store.close()
            with tokenkeep.Store("any required vault", timeout=PATIENCE) as own:
                own.save("example.com", "ann", "child")
                return own.load("example.com", "ann").secret.decode()

        self.assertEqual(in_child(work), "child")
        self.assertEqual(store.load("example.com", "ann").secret, b"child")

    def test_a_fork_while_another_thread_asks_does_not_hang_the_child(self):
        self.open().save("example.com", "ann", "one")
        self.set_password()
        self.open().lock()
        asked, forked = threading.Event(), threading.Event()

        def prompt(_):
            asked.set()
            forked.wait()
            return PASSWORD

        store = self.open(interactive=True, prompt=prompt)
        loading = threading.Thread(target=lambda: store.load("example.com", "ann"))
        loading.start()
        asked.wait()
        self.assertEqual(in_child(store.list), "Forked")
        self.assertEqual(in_child(store.close), "None")
        forked.set()
        loading.join()
        self.open().lock()
