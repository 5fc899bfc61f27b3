"""Calls in several threads."""
import os
import threading

import tokenkeep
from case import PASSWORD, StoreCase, release


class ThreadTests(StoreCase):
    def test_a_call_that_waits_lets_other_threads_run(self):
        store = self.open()
        store.save("example.com", "ann", "one")
        holder = self.hold_lock()
        saving = threading.Thread(target=lambda: store.save("example.com", "ann", "two"))
        saving.start()
        # With the GIL held by the waiting call this thread could not end the hold, and the save would be `Busy`.
        release(holder)
        saving.join()
        self.assertEqual(store.load("example.com", "ann").secret, b"two")

    def test_threads_share_a_store(self):
        store = self.open()
        failures = []

        def work(number):
            try:
                for turn in range(20):
                    store.save("example.com", f"user {number}", str(turn))
                    assert store.load("example.com", f"user {number}").secret == str(turn).encode()
            except BaseException as exception:
                failures.append(exception)

        threads = [threading.Thread(target=work, args=[number]) for number in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(failures, [])
        self.assertEqual(len(store.list()), 8)

    def test_a_store_that_is_closed_while_a_thread_uses_it_lives_until_the_call_ends(self):
        self.open().save("example.com", "ann", "one")
        self.set_password()
        self.open().lock()
        asked, closed, secrets = threading.Event(), threading.Event(), []

        def prompt(_):
            asked.set()
            closed.wait()
            return PASSWORD

        store = self.open(interactive=True, prompt=prompt)
        loading = threading.Thread(target=lambda: secrets.append(store.load("example.com", "ann").secret))
        loading.start()
        asked.wait()
        store.close()
        closed.set()
        loading.join()
        self.assertEqual(secrets, [b"one"])
        with self.assertRaises(ValueError):
            store.list()
        self.open().lock()

    def test_cancel_ends_a_call_of_another_thread(self):
        store = self.open()
        store.save("example.com", "ann", "one")
        self.hold_lock()
        ended = []

        def save():
            try:
                store.save("example.com", "ann", "two")
            except tokenkeep.Error as error:
                ended.append(type(error))

        saving = threading.Thread(target=save)
        saving.start()
        while saving.is_alive():
            store.cancel()
            os.sched_yield()
        self.assertEqual(ended, [tokenkeep.Cancelled])
