"""Items: their secrets, metadata, conditions and lists."""
import datetime
import os
import select
import time

import tokenkeep
from case import PASSWORD, PATIENCE, StoreCase


class ItemTests(StoreCase):
    def test_every_kind_of_secret_comes_back_byte_for_byte(self):
        store = self.open()
        shared = memoryview(bytearray(b"0123456789"))
        for secret, expected in (
                ("tök", "tök".encode()), (b"a\0b\n", b"a\0b\n"), (bytearray(b"\xff\0"), b"\xff\0"), ("", b""), (bytearray(), b""),
                (shared[2:5], b"234"), (shared[::2], b"02468"), (memoryview(b"read only"), b"read only"), (b"x" * 2**20, b"x" * 2**20)):
            store.save("example.com", "ann", secret)
            with store.load("example.com", "ann") as item:
                self.assertEqual(item.secret, expected)

    def test_a_secret_that_is_too_long_or_no_text_is_refused(self):
        store = self.open()
        for secret in (b"x" * (2**20 + 1), "\ud800"):
            with self.assertRaises(tokenkeep.Invalid):
                store.save("example.com", "ann", secret)
        self.assertEqual(store.list(), [])

    def test_metadata_comes_back(self):
        store = self.open(namespace="tests")
        before = int(time.time())
        version = store.save(
            "example.com", "ann", "one", label="Ann's", level=tokenkeep.Level.WHEN_UNLOCKED, attributes={"client": "phone", "b": ""},
            expires_at=datetime.datetime(2100, 1, 1, tzinfo=datetime.timezone.utc))
        for item in (store.load("example.com", "ann"), store.list("example.com")[0]):
            self.assertEqual(
                (item.namespace, item.service, item.account, item.label, item.module, item.level, item.attributes, item.expires_at),
                ("tests", "example.com", "ann", "Ann's", "vault", tokenkeep.Level.WHEN_UNLOCKED, {"client": "phone", "b": ""},
                 4102444800))
            self.assertLessEqual(before, item.created_at)
            self.assertLessEqual(item.created_at, item.modified_at)
            self.assertFalse(item.is_expired)
        self.assertEqual(store.load("example.com", "ann").version, version)

    def test_an_expired_item_is_loaded_and_says_so(self):
        store = self.open()
        store.save("example.com", "ann", "one", expires_at=1)
        self.assertTrue(store.load("example.com", "ann").is_expired)

    def test_versions_and_conditions(self):
        store = self.open()
        first = store.save("example.com", "ann", "one", if_absent=True)
        # Whatever Python takes for true.
        for true in (True, 2, "yes"):
            with self.assertRaises(tokenkeep.Duplicate):
                store.save("example.com", "ann", "two", if_absent=true)
        second = store.save("example.com", "ann", "two", if_version=first)
        self.assertNotEqual(first, second)
        for change in (lambda: store.save("example.com", "ann", "three", if_version=first),
                       lambda: store.clear("example.com", "ann", if_version=first)):
            with self.assertRaises(tokenkeep.Conflict):
                change()
        self.assertEqual(store.load("example.com", "ann").secret, b"two")
        store.clear("example.com", "ann", if_version=second)
        with self.assertRaises(tokenkeep.NotFound):
            store.load("example.com", "ann")

    def test_clear_and_list(self):
        store = self.open()
        for service, account in (("a", "x"), ("a", "y"), ("b", "")):
            store.save(service, account, "secret")
        items = store.list()
        self.assertEqual([(item.service, item.account) for item in items], [("a", "x"), ("a", "y"), ("b", "")])
        self.assertIsNone(items.problem)
        with self.assertRaises(ValueError):
            items[0].secret  # pylint: disable=pointless-statement
        store.clear("a", "nobody")
        self.assertEqual(store.clear_service("a"), 2)
        self.assertEqual([item.service for item in store.list()], ["b"])

    def test_a_closed_item_keeps_its_metadata_alone(self):
        store = self.open()
        store.save("example.com", "ann", "one")
        with store.load("example.com", "ann") as item:
            store.close()
            self.assertEqual(item.secret, b"one")
        self.assertEqual(item.account, "ann")
        with self.assertRaises(ValueError):
            item.secret  # pylint: disable=pointless-statement
        with self.assertRaises(ValueError):
            store.list()

    def test_no_secret_is_in_a_representation_or_a_message(self):
        store = self.open()
        store.save("example.com", "ann", "sesame")
        with self.assertRaises(tokenkeep.Duplicate) as raised:
            store.save("example.com", "ann", "sesame", if_absent=True)
        for text in (repr(store.load("example.com", "ann")), repr(store.list()), repr(raised.exception)):
            self.assertNotIn("sesame", text)


class ArgumentTests(StoreCase):
    def test_names_are_never_cut(self):
        store = self.open()
        store.save("a", "ann", "secret of a")
        for service in ("a\0b", "\ud800", "two\nlines", "", "x" * 256):
            for call in (lambda: store.load(service, "ann"), lambda: store.save(service, "ann", "x"), lambda: store.clear(service, "ann"),
                         lambda: store.list(service)):
                with self.assertRaises(tokenkeep.Invalid):
                    call()
        for options in ({"label": "a\0b"}, {"attributes": {"a\0": "b"}}, {"attributes": {"a": "b\0"}}, {"attributes": {"Ä": "b"}}):
            with self.assertRaises(tokenkeep.Invalid):
                store.save("b", "ann", "x", **options)
        self.assertEqual(len(store.list()), 1)
        with self.assertRaises(TypeError):
            store.load(b"a", "ann")

    def test_numbers_are_never_cut(self):
        store = self.open()
        version = store.save("a", "ann", "one")
        for options in ({"expires_at": 2**64 + 5}, {"expires_at": 0}, {"if_version": 2**64 + version}, {"if_version": 0},
                        {"level": 2**32 + 1}, {"level": -1}, {"level": 99}, {"expires_at": datetime.datetime(2100, 1, 1)}):
            with self.assertRaises(tokenkeep.Invalid, msg=options):
                store.save("a", "ann", "two", **options)
        with self.assertRaises(tokenkeep.Invalid):
            store.clear("a", "ann", if_version=0)
        self.assertEqual(store.load("a", "ann").secret, b"one")
        for timeout in (0, -1, float("nan"), 2**32, float("inf")):
            with self.assertRaises(tokenkeep.Invalid):
                tokenkeep.Store(timeout=timeout)

    def test_stacks_and_namespaces(self):
        self.open(namespace="one").save("a", "ann", "x")
        self.assertEqual(self.open(namespace="two").list(), [])
        with self.assertRaises(tokenkeep.Invalid):
            tokenkeep.Store("any required nonsense")
        with self.assertRaises(tokenkeep.Error):
            tokenkeep.Store("no-such-stack")
        with self.assertRaises(tokenkeep.Invalid):
            tokenkeep.Store(prompt=lambda _: None)

    def test_sync_protection_and_device(self):
        store = self.open()
        self.assertEqual(store.sync(), (0, 0))
        store.ready()
        store.ready(for_saving=True)
        protection = store.protection()
        self.assertEqual(set(protection), set(tokenkeep.Axis))
        self.assertEqual(
            protection[tokenkeep.Axis.OTHER_USER], (tokenkeep.Strength.ENFORCED, "files that the user alone may open"))
        self.assertEqual(len(store.device_id()), 36)
        self.assertEqual(store.device_id(), self.open().device_id())


class LockTests(StoreCase):
    def setUp(self):
        super().setUp()
        self.open().save("example.com", "ann", "one")
        self.set_password()

    def test_unlock_and_lock(self):
        store = self.open()
        store.unlock(PASSWORD)
        store.lock()
        with self.assertRaises(tokenkeep.Locked) as raised:
            store.load("example.com", "ann")
        self.assertEqual(raised.exception.module, "vault")
        with self.assertRaises(tokenkeep.Denied):
            store.unlock("wrong")
        store.unlock(bytearray(PASSWORD.encode()))
        self.assertEqual(store.load("example.com", "ann").secret, b"one")
        store.lock()

    def test_a_prompt_answers_the_vault(self):
        asked = []

        def prompt(question):
            asked.append((question.kind, question.attempt))
            return PASSWORD if question.attempt == 2 else b"wrong"

        store = self.open(interactive=True, prompt=prompt)
        store.lock()
        self.assertEqual(store.load("example.com", "ann").secret, b"one")
        self.assertEqual(asked, [(tokenkeep.PromptKind.PASSWORD, 1), (tokenkeep.PromptKind.PASSWORD, 2)])
        store.lock()

    def test_a_refused_prompt_and_an_exception_end_the_call(self):
        self.open().lock()
        with self.assertRaises(tokenkeep.Cancelled):
            self.open(interactive=True, prompt=lambda _: None).load("example.com", "ann")
        with self.assertRaises(ZeroDivisionError):
            self.open(interactive=True, prompt=lambda _: 1 // 0).load("example.com", "ann")
        with self.assertRaises(tokenkeep.Invalid):
            self.open(interactive=True, prompt=lambda _: "x" * 5000).load("example.com", "ann")


class WatchTests(StoreCase):
    def test_another_process_is_seen(self):
        store = self.open()
        with store.watch("example.com") as watch:
            descriptor = watch.fileno()
            self.assertIsNone(watch.next())
            self.run_program("save", "example.com", "ann", "--stack", "any required vault", input="x")
            self.assertTrue(select.select([watch], [], [], PATIENCE)[0])
            self.assertEqual(
                [tuple(event) for event in watch], [(tokenkeep.EventKind.SAVED, "", "example.com", "ann")])
            store.clear("example.com", "ann")
            self.assertEqual([event.kind for event in watch], [tokenkeep.EventKind.CLEARED])
        with self.assertRaises(ValueError):
            watch.fileno()
        with self.assertRaises(OSError):
            os.fstat(descriptor)
