"""A vault with a password behind the bus: what is answered while it is locked, and every way to unlock it."""
import contextlib
import os
import pty
import resource
import select
import shutil
import signal
import stat
import subprocess
import unittest
import unittest.mock

import tests_clock
from client import (
    COLLECTION, DEFAULT, ITEM, LOGIN, PROMPT, PROPERTIES, ROOT, SERVICE, Client, Refused)
from jeepney import HeaderFields
from patience import PATIENCE, stop_process, wait_until
from test_interface import Case
from world import PROVIDER, World

OURS, OUR_PATH = "org.tokenkeep.SecretService1", "/org/tokenkeep/SecretService1"

# A pinentry that answers with the words of a file, one line for each question, and notes what it was told.
PINENTRY = """#!/usr/bin/python3
import os, signal, sys, time
folder = os.path.dirname(os.path.abspath(__file__))
log = open(folder + "/asked", "a")
log.write("DISPLAY=" + os.environ.get("DISPLAY", "") + "\\n")
print("OK Pleased to meet you", flush=True)
for line in sys.stdin:
    log.write(line)
    log.flush()
    if line.startswith("GETPIN"):
        answers = open(folder + "/answers").read().split("\\n")
        open(folder + "/answers", "w").write("\\n".join(answers[1:]))
        if answers[0] == "stay":
            signal.signal(signal.SIGINT, lambda *_: open(folder + "/interrupted", "w").close())
            log.write("STAYS\\n")
            log.flush()
            time.sleep(1000)
        if answers[0] == "wait":
            time.sleep(1000)
        if answers[0] == "hold":
            while not os.path.exists(folder + "/held"):
                time.sleep(0.05)
            answers[0] = open(folder + "/held").read()
        if answers[0] == "error":
            print("ERR 83886163 No PIN entry <Pinentry>", flush=True)
            continue
        if answers[0] == "dismiss":
            print("ERR 83886179 Operation cancelled <Pinentry>", flush=True)
            continue
        print("D " + answers[0].replace("%", "%25"), flush=True)
    print("OK", flush=True)
"""


class Locked(Case):
    def setUp(self):
        self.world = World()
        self.addCleanup(self.world.close)
        self.world.tokenkeep("save", "s", "u", input="token")
        self.world.set_password()

    def begin(self, *arguments, locked=True, **environment):
        if locked:
            self.world.lock()
        self.provider = self.world.provider(*arguments, **environment)
        self.client = self.connect()

    def make_work(self):
        """Makes a collection with an item, and ends the provider that made them. Returns both paths."""
        self.begin(locked=False)
        work, _ = self.client.call(ROOT, SERVICE, "CreateCollection", "a{sv}s", {f"{COLLECTION}.Label": ("s", "Work")}, "")
        item = self.client.create({"a": "1"}, b"1", collection=work)
        self.world.stop(self.provider)
        return work, item

    def pinentry(self, *answers):
        path = os.path.join(self.world.home, "pinentry")
        with open(path, "w", encoding="utf-8") as file:
            file.write(PINENTRY)
        os.chmod(path, stat.S_IRWXU)
        with open(os.path.join(self.world.home, "answers"), "w", encoding="utf-8") as file:
            file.write("\n".join(answers))
        return path

    def answer(self, text):
        """Answers the question whose answer is "hold"."""
        path = os.path.join(self.world.home, "held")
        with open(path + ".new", "w", encoding="utf-8") as file:
            file.write(text)
        os.rename(path + ".new", path)

    def asked(self):
        path = os.path.join(self.world.home, "asked")
        if not os.path.exists(path):
            return []
        with open(path, encoding="utf-8") as file:
            return file.read().splitlines()

    def prompt(self, paths, client=None):
        """Unlocks with a prompt. Returns whether it was dismissed, and the result."""
        client = client or self.client
        unlocked, path = client.call(ROOT, SERVICE, "Unlock", "ao", paths)
        self.assertEqual(unlocked, [])
        self.assertTrue(path.startswith(f"{ROOT}/prompt/"), path)
        with client.signals(interface=PROMPT) as queue:
            client.call(path, PROMPT, "Prompt", "s", "")
            where, member, (dismissed, (signature, result)) = client.next_signal(queue)
        self.assertEqual((where, member, signature), (path, "Completed", "ao"))
        self.refused("UnknownObject", client.call, path, PROMPT, "Dismiss")
        return dismissed, result


class WhileLocked(Locked):
    def test_a_vault_locked_from_the_start_is_never_empty(self):
        self.begin()
        self.refused("IsLocked", self.client.search, {"service": "s"})
        self.refused("IsLocked", self.client.call, LOGIN, COLLECTION, "SearchItems", "a{ss}", {})
        self.refused("IsLocked", self.client.create, {"a": "1"}, b"1")
        self.refused("IsLocked", self.client.call, ROOT, SERVICE, "CreateCollection", "a{sv}s", {}, "")
        self.assertTrue(self.client.get(DEFAULT, COLLECTION, "Locked"))
        session = f"{ROOT}/collection/session"
        self.assertFalse(self.client.get(session, COLLECTION, "Locked"))
        self.assertEqual(self.client.value(self.client.create({"a": "1"}, b"1", collection=session)), b"1")

    def test_a_collection_of_a_vault_locked_from_the_start_is_locked_not_missing(self):
        work, item = self.make_work()
        self.begin()
        for name in ("Label", "Items"):
            self.refused("IsLocked", self.client.get, work, COLLECTION, name)
        self.refused("IsLocked", self.client.get_all, work, COLLECTION)
        self.refused("IsLocked", self.client.get, item, ITEM, "Label")
        self.assertTrue(self.client.get(work, COLLECTION, "Locked"))
        self.assertTrue(self.client.get(item, ITEM, "Locked"))
        self.refused("IsLocked", self.client.create, {"a": "1"}, b"1", collection=work)
        self.refused("IsLocked", self.client.call, work, COLLECTION, "SearchItems", "a{ss}", {})
        self.refused("IsLocked", self.client.call, work, COLLECTION, "Delete")
        self.refused("IsLocked", self.client.set, work, COLLECTION, "Label", "s", "x")
        self.refused("IsLocked", self.client.call, ROOT, SERVICE, "SetAlias", "so", "default", work)
        self.assertEqual(self.client.call(ROOT, SERVICE, "Lock", "ao", [work, item, "/x"]), ([work, item], "/"))
        unlocked, prompt = self.client.call(ROOT, SERVICE, "Unlock", "ao", [work])
        self.assertEqual(unlocked, [])
        self.assertTrue(prompt.startswith(f"{ROOT}/prompt/"), prompt)
        self.world.unlock()
        self.assertEqual(self.client.call(ROOT, SERVICE, "Unlock", "ao", [work, f"{ROOT}/collection/x"]), ([work], "/"))
        self.assertEqual(self.client.get(work, COLLECTION, "Items"), [item])
        self.refused("NoSuchObject", self.client.get, f"{ROOT}/collection/x", COLLECTION, "Locked")

    def test_what_an_unlock_brings_to_light_is_signalled(self):
        work, item = self.make_work()
        self.begin()
        self.assertEqual(self.client.get(LOGIN, COLLECTION, "Items"), [])
        before = self.client.get(ROOT, SERVICE, "Collections")
        with self.client.signals(path_namespace=ROOT) as queue:
            self.world.unlock()
            wait_until(lambda: not self.client.get(LOGIN, COLLECTION, "Locked"), "the unlock")
            seen = self.client.seen_signals(queue)
        self.assertEqual([s for s in seen if s[1] == "CollectionCreated"], [(ROOT, "CollectionCreated", (work,))])
        self.assertEqual(
            [body[1]["Collections"][1] for path, _, body in seen if path == ROOT and body[0] == SERVICE], [sorted([*before, work])])
        items = {path: body[1]["Items"][1] for path, _, body in seen if body[0] == COLLECTION and "Items" in body[1]}
        (known,) = self.client.get(LOGIN, COLLECTION, "Items")
        self.assertEqual(items, {
            work: [item], **{path: [known] for path in (LOGIN, DEFAULT, f"{ROOT}/aliases/login")}})

    def test_items_that_are_known_are_named_as_locked(self):
        self.begin(locked=False)
        (path,), _ = self.client.search({"service": "s"})
        with self.client.signals(interface=PROPERTIES) as queue:
            self.assertEqual(self.client.call(ROOT, SERVICE, "Lock", "ao", [DEFAULT, DEFAULT]), ([DEFAULT], "/"))
            changed = {(where, body[0]) for where, _, body in self.client.seen_signals(queue)
                       if body[1].get("Locked") == ("b", True)}
        alias = path.replace(LOGIN, DEFAULT)
        login = f"{ROOT}/aliases/login"
        self.assertEqual(changed, {(LOGIN, COLLECTION), (DEFAULT, COLLECTION), (login, COLLECTION), (path, ITEM),
                                   (alias, ITEM), (path.replace(LOGIN, login), ITEM)})
        self.assertEqual(self.client.search({"service": "s"}), ([], [path]))
        self.refused("IsLocked", self.client.search, {"service": "other"})
        self.refused("IsLocked", self.client.value, path)
        self.refused("IsLocked", self.client.call, path, ITEM, "Delete")
        self.refused("IsLocked", self.client.set, path, ITEM, "Label", "s", "x")
        self.assertEqual(self.client.secrets([path]), {})
        self.assertEqual(self.client.get(path, ITEM, "Attributes")["service"], "s")
        self.assertEqual(self.world.tokenkeep("load", "s", "u", check=False).returncode, 3)

    def test_an_item_of_a_level_whose_key_is_away_is_locked_alone(self):
        self.begin(locked=False)
        self.world.tokenkeep("save", "--level", "when-unlocked", "t", "closed", input="1")
        self.world.tokenkeep("save", "t", "open", input="2")
        (closed,), _ = self.client.search({"username": "closed"})
        (still,), _ = self.client.search({"username": "open"})
        self.world.tokenkeep("lock", "--screen")
        self.assertEqual(self.client.search({"service": "t"}), ([still], [closed]))
        self.assertEqual([self.client.get(path, ITEM, "Locked") for path in (closed, still)], [True, False])
        self.assertFalse(self.client.get(LOGIN, COLLECTION, "Locked"))
        self.assertEqual(self.client.secrets([closed, still]), {still: b"2"})
        self.refused("IsLocked", self.client.value, closed)
        self.refused("IsLocked", self.client.call, closed, ITEM, "SetSecret", "(oayays)", self.client.secret(b"3"))
        self.refused("IsLocked", self.client.set, closed, ITEM, "Label", "s", "label")
        self.refused("IsLocked", self.client.call, closed, ITEM, "Delete")
        self.world.unlock()
        self.assertEqual(self.client.secrets([closed, still]), {closed: b"1", still: b"2"})

    def test_an_unlock_elsewhere_opens_the_index_and_is_signalled(self):
        self.begin()
        # The program has looked at the vault before: else the unlock is no change to it.
        self.assertTrue(self.client.get(LOGIN, COLLECTION, "Locked"))
        with self.client.signals(interface=PROPERTIES, path=LOGIN) as queue:
            self.world.unlock()
            _, _, (interface, changed, _) = self.client.next_signal(queue)
            self.assertEqual((interface, changed), (COLLECTION, {"Locked": ("b", False)}))
        (path,), _ = self.client.search({"service": "s"})
        self.assertEqual(self.client.value(path), b"token")

    def test_lock_of_the_program_is_signalled(self):
        self.begin(locked=False)
        self.client.search({})
        with self.client.signals(interface=SERVICE, member="CollectionChanged") as queue:
            self.world.lock()
            self.assertEqual(self.client.next_signal(queue), (ROOT, "CollectionChanged", (LOGIN,)))
        self.assertTrue(self.client.get(LOGIN, COLLECTION, "Locked"))

    def test_an_unlock_of_what_is_open_or_unknown_opens_nothing(self):
        world = World()
        self.addCleanup(world.close)
        world.provider()
        client = Client(world.address)
        self.addCleanup(client.close)
        client.call(ROOT, SERVICE, "Lock", "ao", [LOGIN])
        session = f"{ROOT}/collection/session"
        for paths, unlocked in (([], []), ([session], [session]), ([f"{ROOT}/collection/x"], [])):
            self.assertEqual(client.call(ROOT, SERVICE, "Unlock", "ao", paths), (unlocked, "/"))
            self.assertTrue(client.get(LOGIN, COLLECTION, "Locked"))
        self.assertEqual(client.call(ROOT, SERVICE, "Unlock", "ao", [LOGIN]), ([LOGIN], "/"))
        self.assertFalse(client.get(LOGIN, COLLECTION, "Locked"))

    def test_without_a_password_lock_is_the_providers_own(self):
        world = World()
        self.addCleanup(world.close)
        world.provider()
        client = Client(world.address)
        self.addCleanup(client.close)
        path = client.create({"service": "s", "username": "u"}, b"1")
        client.call(ROOT, SERVICE, "Lock", "ao", [LOGIN])
        self.refused("IsLocked", client.value, path)
        self.assertEqual(world.tokenkeep("load", "s", "u").stdout.strip(), "1")
        self.assertEqual(client.call(ROOT, SERVICE, "Unlock", "ao", [path]), ([path], "/"))
        self.assertEqual(client.value(path), b"1")


class Unlocking(Locked):
    def test_our_own_interface_unlocks_and_locks(self):
        """What `tokenkeep unlock` and `lock` call where there is no kernel keyring."""
        self.begin()
        ours = Client(self.world.address, destination="org.tokenkeep.SecretService1", fds=True)
        self.addCleanup(ours.close)
        path, interface = "/org/tokenkeep/SecretService1", "org.tokenkeep.SecretService1"
        identifier = ours.get(path, interface, "VaultId")
        self.assertRegex(identifier, "^[0-9a-f]{32}$")
        # By this name a store recognises its own vault also while the provider does not answer.
        self.assertEqual(self.world.owner(f"{interface}.vault_{identifier}"), self.provider.pid)
        for password, status in (("wrong", 6), ("pw", 0)):
            with open(self.world.password_file(password), "rb") as file:
                self.assertEqual(ours.call(path, interface, "Unlock", "h", file), status)
            self.assertEqual(self.client.get(LOGIN, COLLECTION, "Locked"), status != 0)
        self.assertEqual(ours.call(path, interface, "Lock"), 0)
        self.assertTrue(self.client.get(LOGIN, COLLECTION, "Locked"))

    def ours(self):
        client = Client(self.world.address, destination=OURS, fds=True)
        self.addCleanup(client.close)
        return client

    def send_password(self, client, text=None):
        """Calls Unlock with a descriptor of its own, and does not wait. Returns the other end, open without a text."""
        reading, writing = os.pipe()
        if text is not None:
            os.write(writing, text)
            os.close(writing)
        with os.fdopen(reading, "rb") as file:
            client.connection.send(client.message(OUR_PATH, OURS, "Unlock", "h", file))
        if text is None:
            self.addCleanup(os.close, writing)
        return writing

    @contextlib.contextmanager
    def stopped(self):
        """What is sent inside finds the provider asleep, and waits for it all at once."""
        stop_process(self.provider.pid)
        try:
            yield
        finally:
            self.provider.send_signal(signal.SIGCONT)

    def test_a_storm_of_wrong_passwords_does_not_keep_another_from_its_unlock(self):
        self.begin()
        storming, other = self.ours(), self.ours()
        with self.stopped():
            for _ in range(12):
                self.send_password(storming, b"wrong\n")
            self.send_password(other, b"pw\n")
            self.client.connection.send(self.client.message(ROOT, SERVICE, "SearchItems", "a{ss}", {"a": "1"}))
        (opened,), (searched,), tried = other.replies(1), self.client.replies(1), storming.replies(12)
        self.assertEqual((opened.body, {reply.body for reply in tried}), ((0,), {(6,)}))
        # A search is answered while passwords are tried, and the other client's turn comes before the storm's end: so say the
        # numbers of the provider's messages.
        end = max(reply.header.serial for reply in tried)
        self.assertLess(opened.header.serial, end)
        self.assertLess(searched.header.serial, end)
        self.assertEqual(len(self.client.search({"service": "s"})[0]), 1)

    def test_a_password_that_does_not_come_holds_up_its_own_call_alone(self):
        self.begin()
        waiting, leaving, other = self.ours(), self.ours(), self.ours()
        pipe = self.send_password(waiting)
        left = self.send_password(leaving)
        self.send_password(other, b"pw\n")
        self.assertEqual(other.replies(1)[0].body, (0,))
        self.assertEqual(other.call(OUR_PATH, OURS, "Lock"), 0)
        # The line's end is enough, and the reading ends with its client.
        os.write(pipe, b"pw\n")
        self.assertEqual(waiting.replies(1)[0].body, (0,))
        watch = select.poll()
        watch.register(left, select.POLLERR)
        self.assertEqual(watch.poll(0), [])
        leaving.close()
        wait_until(lambda: watch.poll(0), "the end of the reading")

    def test_a_password_that_does_not_come_ends_with_the_provider(self):
        self.begin()
        client = self.ours()
        self.send_password(client)
        client.call(OUR_PATH, PROPERTIES, "Get", "ss", OURS, "VaultId")
        self.assertEqual(self.world.stop(self.provider), 0)
        self.assertIn("the descriptor is no longer needed, for python3 (pid ", self.world.logged())

    def test_a_password_that_does_not_come_ends_after_two_minutes(self):
        self.begin()
        client = self.ours()
        self.send_password(client)
        client.call(OUR_PATH, PROPERTIES, "Get", "ss", OURS, "VaultId")

        def replies_after_two_minutes():
            tests_clock.advance(121)
            return client.replies_so_far()
        # The reading is another thread's: its two minutes may begin only after the clock was set forward.
        (reply,) = wait_until(replies_after_two_minutes, "the end of the reading")
        self.assertEqual(reply.body, (4,))
        self.assertIn("the descriptor gave no password in two minutes, for python3 (pid ", self.world.logged())

    def test_a_client_that_reads_its_own_password_holds_up_nobody(self):
        """The provider and the client read one pipe: what was announced may be gone."""
        self.begin()
        client = self.ours()
        for _ in range(20):
            reading, writing = os.pipe()
            with os.fdopen(reading, "rb", buffering=0) as file, os.fdopen(writing, "wb", buffering=0) as end:
                with self.stopped():
                    client.connection.send(client.message(OUR_PATH, OURS, "Unlock", "h", file))
                    end.write(b"x")
                with contextlib.suppress(BlockingIOError):
                    os.set_blocking(file.fileno(), False)
                    os.read(file.fileno(), 1)
        self.assertEqual(self.world.stop(self.provider), 0)

    def test_a_client_has_at_most_16_passwords_unanswered(self):
        """Each is a descriptor of the provider's: none left would cost the connection to the bus."""
        self.begin()
        storming, other = self.ours(), self.ours()
        for _ in range(400):
            self.send_password(storming)
        refused = storming.replies(384)
        self.assertEqual({reply.header.fields[HeaderFields.error_name] for reply in refused},
                         {"org.freedesktop.DBus.Error.LimitsExceeded"})
        # The bus has a limit of its own, for calls that the program has not answered so soon.
        self.assertLessEqual({reply.body[0] for reply in refused}, {
            "too many calls of Unlock are not answered yet", "The maximum number of pending replies per connection has been reached"})
        self.send_password(other, b"pw\n")
        self.assertEqual(other.replies(1)[0].body, (0,))

    def test_messages_may_carry_more_descriptors_than_the_usual_limit(self):
        """A message carries up to 253."""
        kept = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (256, kept[1]))
        self.addCleanup(resource.setrlimit, resource.RLIMIT_NOFILE, kept)
        self.begin()
        limit, _ = resource.prlimit(self.provider.pid, resource.RLIMIT_NOFILE)
        self.assertEqual(limit, 65536 if kept[1] == resource.RLIM_INFINITY else min(kept[1], 65536))

    def test_passwords_of_a_client_that_left_are_not_tried(self):
        self.begin()
        storming, other = self.ours(), self.ours()
        with self.stopped():
            for _ in range(12):
                self.send_password(storming, b"wrong\n")
            storming.close()
        self.send_password(other, b"pw\n")
        self.assertEqual(other.replies(1)[0].body, (0,))
        # Its end waits for calls in flight.
        self.world.stop(self.provider)
        self.assertLess(self.world.logged().count("wrong"), 6, self.world.logged())

    def test_a_bus_that_cannot_be_read_is_a_failure(self):
        self.begin()
        client = self.ours()
        resource.prlimit(self.provider.pid, resource.RLIMIT_NOFILE, (3, 3))
        self.send_password(client, b"pw\n")
        self.assertEqual(self.provider.wait(PATIENCE), 4)
        self.assertIn("the bus cannot be read: too few descriptors are free\n", self.world.logged())

    def test_the_program_tells_what_the_provider_answered(self):
        self.begin()
        with open(self.world.password_file("wrong"), "rb") as file:
            done = self.world.run(PROVIDER, "unlock-running", stdin=file, check=False)
        self.assertEqual((done.returncode, done.stderr), (5, "tokenkeep-secret-service: the provider answered DENIED\n"))

    def test_a_password_file_opens_the_vault_before_the_name_is_owned(self):
        self.begin("--password-file", self.world.password_file())
        self.assertFalse(self.client.get(LOGIN, COLLECTION, "Locked"))

    def test_a_credential_of_systemd_opens_the_vault(self):
        folder = os.path.join(self.world.home, "credentials")
        os.mkdir(folder)
        os.rename(self.world.password_file(), os.path.join(folder, "tokenkeep.password"))
        self.begin(CREDENTIALS_DIRECTORY=folder)
        self.assertFalse(self.client.get(LOGIN, COLLECTION, "Locked"))

    def test_a_wrong_password_ends_the_program(self):
        self.world.lock()
        process = self.world.provider("--password-file", self.world.password_file("wrong"), waits=False)
        self.assertEqual(process.wait(PATIENCE), 5)
        self.assertIsNone(self.world.owner())


class Prompts(Locked):
    def test_a_caller_without_display_and_terminal_is_dismissed(self):
        self.begin()
        self.assertEqual(self.prompt([DEFAULT, DEFAULT]), (True, []))
        self.assertIn("(pid %d) needs it: run tokenkeep unlock" % os.getpid(), self.world.logged())

    def test_a_prompt_answers_what_is_open_at_once_and_leaves_out_what_is_unknown(self):
        self.begin(locked=False)
        (path,), _ = self.client.search({"service": "s"})
        session = f"{ROOT}/collection/session"
        self.client.call(ROOT, SERVICE, "Lock", "ao", [path])
        asked = [session, path, f"{ROOT}/collection/x", f"{LOGIN}/{'0' * 32}", "/x", DEFAULT, "/", session]
        unlocked, prompt = self.client.call(ROOT, SERVICE, "Unlock", "ao", asked)
        self.assertEqual(unlocked, [session])
        with self.client.signals(interface=PROMPT) as queue:
            self.client.call(prompt, PROMPT, "Dismiss")
            self.assertEqual(self.client.next_signal(queue), (prompt, "Completed", (True, ("ao", []))))

    def test_a_prompt_of_another_client_is_refused(self):
        self.begin()
        _, path = self.client.call(ROOT, SERVICE, "Unlock", "ao", [LOGIN])
        self.refused("AccessDenied", self.connect().call, path, PROMPT, "Prompt", "s", "")
        self.refused("AccessDenied", self.connect().call, path, PROMPT, "Dismiss")
        self.client.call(path, PROMPT, "Dismiss")

    def test_a_client_has_at_most_64_prompts(self):
        self.begin()
        for _ in range(64):
            self.client.call(ROOT, SERVICE, "Unlock", "ao", [LOGIN])
        self.refused("LimitsExceeded", self.client.call, ROOT, SERVICE, "Unlock", "ao", [LOGIN])


# The display belongs to a program that these tests start, since the provider reads its caller's environment.
ASKING = """
import sys
sys.path[:0] = {path!r}
from client import *
client = Client({address!r})
unlocked, path = client.call(ROOT, SERVICE, "Unlock", "ao", {paths!r})
with client.signals(interface=PROMPT) as queue:
    client.call(path, PROMPT, "Prompt", "s", "")
    print("asking", flush=True)
    print(client.next_signal(queue)[2], flush=True)
"""

WITHOUT_ENVIRONMENT = """
import ctypes
with open("/proc/self/stat") as file:
    begin, end = map(int, file.read().rsplit(")", 1)[1].split()[47:49])
ctypes.memset(begin, 0, end - begin)
"""


def start_now():
    """The start, in ticks since boot, of a process that starts now."""
    done = subprocess.run(["cat", "/proc/self/stat"], stdout=subprocess.PIPE, text=True, check=True)
    return int(done.stdout.rsplit(")", 1)[1].split()[19])


class Asking(Locked):
    """Programs that unlock with a prompt."""

    def asking_text(self, paths):
        here = os.path.dirname(os.path.abspath(__file__))
        return ASKING.format(path=[here, os.path.join(here, "..", "Support")], address=self.world.address, paths=list(paths))

    def ask(self, paths=(DEFAULT,), terminal=None, wrapper=(), **environment):
        """A program that unlocks with a prompt. Its last line is the prompt's result."""
        program = [*wrapper, "/usr/bin/python3", "-c", self.asking_text(paths)]
        if terminal is not None:
            program = ["setsid", "--ctty", *program]
        process = subprocess.Popen(
            program, env={**self.world.environment, **environment}, stdout=subprocess.PIPE, text=True,
            stdin=terminal if terminal is not None else subprocess.DEVNULL, start_new_session=terminal is None and not wrapper)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.wait, PATIENCE)
        self.addCleanup(process.kill)
        self.assertEqual(process.stdout.readline(), "asking\n")
        return process

    def begin_asking(self, *answers):
        self.begin("--pinentry", self.pinentry(*answers))

    @staticmethod
    def is_zombie(process):
        with open(f"/proc/{process}/stat", encoding="utf-8") as file:
            return file.read().rsplit(")", 1)[1].split()[0] == "Z"

    def children(self):
        found = subprocess.run(["pgrep", "-P", str(self.provider.pid)], stdout=subprocess.PIPE, text=True, check=False)
        return [int(line) for line in found.stdout.split()]


class Pinentry(Asking):
    def test_a_collection_that_is_not_read_yet_is_unlocked(self):
        work, item = self.make_work()
        self.begin_asking("pw")
        process = self.ask([work, item, f"{ROOT}/collection/x"], DISPLAY=":7")
        self.assertEqual(process.stdout.readline(), f"(False, ('ao', ['{work}', '{item}']))\n")

    def test_the_right_password_unlocks(self):
        self.begin_asking("pw")
        process = self.ask([DEFAULT], DISPLAY=":7")
        self.assertEqual(process.stdout.readline(), f"(False, ('ao', ['{DEFAULT}']))\n")
        self.assertIn("SETDESC Password of the vault, for python3 (pid %d)" % process.pid, self.asked())

    def test_a_programs_name_adds_no_lines_to_the_question(self):
        self.begin_asking("pw")
        with unittest.mock.patch(f"{__name__}.ASKING", "import ctypes\nctypes.CDLL(None).prctl(15, b'a%0Ab', 0, 0, 0)\n" + ASKING):
            process = self.ask(DISPLAY=":7")
        self.assertEqual(process.stdout.readline(), f"(False, ('ao', ['{DEFAULT}']))\n")
        self.assertIn("SETDESC Password of the vault, for a%250Ab (pid {})".format(process.pid), self.asked())

    def test_three_wrong_passwords_dismiss(self):
        self.begin_asking("a", "b", "c", "pw")
        self.assertEqual(self.ask(DISPLAY=":7").stdout.readline(), "(True, ('ao', []))\n")
        self.assertEqual(self.asked().count("GETPIN"), 3)
        self.assertEqual(self.asked().count("SETERROR The password is wrong"), 2)

    def test_the_user_dismisses(self):
        self.begin_asking("dismiss")
        self.assertEqual(self.ask(DISPLAY=":7").stdout.readline(), "(True, ('ao', []))\n")

    def test_two_clients_are_served_by_one_question(self):
        self.begin_asking("wait")
        first = self.ask(DISPLAY=":7")
        second = self.ask([LOGIN], DISPLAY=":7")
        wait_until(lambda: "GETPIN" in self.asked(), "the question")
        self.world.unlock()
        self.assertEqual(first.stdout.readline(), f"(False, ('ao', ['{DEFAULT}']))\n")
        self.assertEqual(second.stdout.readline(), f"(False, ('ao', ['{LOGIN}']))\n")
        self.assertEqual(self.asked().count("GETPIN"), 1)

    def test_one_clients_end_does_not_answer_anothers_prompt(self):
        """Chromium deletes its cookies after one dismissal: the next client's user is asked."""
        self.begin_asking("wait", "dismiss", "pw")
        first, second, third = (self.ask(DISPLAY=":7") for _ in range(3))
        wait_until(lambda: "GETPIN" in self.asked(), "the question")
        first.kill()
        # A dismissal is told after a moment. If the other client's user has unlocked the vault by then, both are told so.
        self.assertIn(f"(False, ('ao', ['{DEFAULT}']))\n", {second.stdout.readline(), third.stdout.readline()})
        for process in (first, second, third):
            self.assertIn("SETDESC Password of the vault, for python3 (pid %d)" % process.pid, self.asked())

    def test_a_pinentry_that_cannot_ask_is_named(self):
        self.begin_asking("error")
        self.assertEqual(self.ask(DISPLAY=":7").stdout.readline(), "(True, ('ao', []))\n")
        self.assertIn("pinentry cannot ask: error 83, for python3 (pid ", self.world.logged())

    def test_a_question_ends_with_its_client(self):
        self.begin_asking("wait", "pw")
        process = self.ask(DISPLAY=":7")
        wait_until(lambda: "GETPIN" in self.asked(), "the question")
        running = self.children()
        self.assertEqual(len(running), 1)
        process.kill()
        wait_until(lambda: not self.children(), "the end of pinentry")
        self.assertEqual(self.ask(DISPLAY=":7").stdout.readline(), f"(False, ('ao', ['{DEFAULT}']))\n")

    def test_a_question_ends_with_the_provider(self):
        self.begin_asking("wait")
        self.ask(DISPLAY=":7")
        wait_until(lambda: "GETPIN" in self.asked(), "the question")
        (running,) = self.children()
        self.world.stop(self.provider, signal.SIGKILL)
        wait_until(lambda: not os.path.exists(f"/proc/{running}") or self.is_zombie(running), "the end of pinentry")

    def test_a_display_without_pinentry_keeps_the_prompt_open(self):
        self.begin("--pinentry", "/nonexistent")
        process = self.ask(DISPLAY=":7")
        wait_until(lambda: "pinentry is missing or has no display: run tokenkeep unlock" in self.world.logged(), "the log line")
        self.world.unlock()
        self.assertEqual(process.stdout.readline(), f"(False, ('ao', ['{DEFAULT}']))\n")

    def test_a_prompt_that_cannot_be_asked_holds_no_other_up(self):
        self.begin_asking("wait", "pw")
        first = self.ask(DISPLAY=":7")
        wait_until(lambda: "GETPIN" in self.asked(), "the question")
        with unittest.mock.patch(f"{__name__}.ASKING", WITHOUT_ENVIRONMENT + ASKING):
            second = self.ask()
        third = self.ask(DISPLAY=":7")
        first.kill()
        for process in (third, second):
            self.assertEqual(process.stdout.readline(), f"(False, ('ao', ['{DEFAULT}']))\n")
        self.assertEqual(self.asked().count("GETPIN"), 2)

    def test_a_program_that_overwrites_its_environment(self):
        """Chromium does so for its title: a dismissed prompt would cost its cookies."""
        text = WITHOUT_ENVIRONMENT + ASKING
        self.begin_asking("pw")
        with unittest.mock.patch(f"{__name__}.ASKING", text):
            process = self.ask([DEFAULT], DISPLAY=":7")
        with open(f"/proc/{process.pid}/environ", "rb") as file:
            self.assertEqual(file.read().strip(b"\0"), b"")
        # No child of the program has a display: the prompt stays open.
        wait_until(lambda: "pinentry is missing or has no display: run tokenkeep unlock" in self.world.logged(), "the log line")
        self.world.unlock()
        self.assertEqual(process.stdout.readline(), f"(False, ('ao', ['{DEFAULT}']))\n")
        self.world.lock()
        child = 'import subprocess\nchild = subprocess.Popen(["sleep", "1000"], env=dict(DISPLAY=":7"))\n'
        with unittest.mock.patch(f"{__name__}.ASKING", text.replace("import ctypes", child + "import ctypes") + "child.kill()\n"):
            process = self.ask([DEFAULT])
        self.assertEqual(process.stdout.readline(), f"(False, ('ao', ['{DEFAULT}']))\n")
        self.assertIn("DISPLAY=:7", self.asked())

    def start(self, *command, **environment):
        process = subprocess.Popen(command, env={**self.world.environment, **environment}, stdin=subprocess.DEVNULL,
                                   stdout=subprocess.PIPE, text=True)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.wait, PATIENCE)
        self.addCleanup(process.kill)
        return process

    def browser(self, *displays):
        """Starts a program on display 7 from a shell on display 5, then its crash handlers. The program overwrites its environment."""
        folder = os.path.join(self.world.home, "browser")
        other = os.path.join(self.world.home, "other")
        for path, handler in ((folder, "chrome_crashpad_handler"), (folder, "sleep"), (other, "chrome_crashpad_handler")):
            os.makedirs(path, exist_ok=True)
            shutil.copy("/usr/bin/sleep", os.path.join(path, handler))
        program, ready = os.path.join(folder, "python3"), os.path.join(folder, "ready")
        shutil.copy("/usr/bin/python3", program)
        text = (f"{WITHOUT_ENVIRONMENT}\nimport os, time\nprint('begun', flush=True)\n"
                f"while not os.path.exists({ready!r}): time.sleep(0.01)\n")
        before = start_now()
        self.start(os.path.join(folder, "chrome_crashpad_handler"), "1000", DISPLAY=":4")
        wait_until(lambda: start_now() > before + 1, "a later start")
        browser = self.start("sh", "-c", 'DISPLAY=:7 "$@"; exit', "sh", program, "-c", text + self.asking_text([DEFAULT]),
                             DISPLAY=":5")
        self.assertEqual(browser.stdout.readline(), "begun\n")
        # Neither another program of the folder nor another folder's handler counts.
        self.start(os.path.join(folder, "sleep"), "1000", DISPLAY=":6")
        self.start(os.path.join(other, "chrome_crashpad_handler"), "1000", DISPLAY=":6")
        for display in displays:
            self.start(os.path.join(folder, "chrome_crashpad_handler"), "1000", DISPLAY=display)
        with open(ready, "w", encoding="utf-8"):
            pass
        self.assertEqual(browser.stdout.readline(), "asking\n")
        return browser

    def test_a_program_that_overwrites_its_environment_and_has_a_crash_handler(self):
        """Chromium's is a child of process 1, and lies beside Chromium."""
        self.begin_asking("pw")
        browser = self.browser(":8", ":8")
        self.assertEqual(browser.stdout.readline(), f"(False, ('ao', ['{DEFAULT}']))\n")
        self.assertEqual([line for line in self.asked() if line.startswith("DISPLAY")], ["DISPLAY=:8"])

    def test_crash_handlers_on_several_displays(self):
        """Which is the program's is not known."""
        self.begin_asking("pw")
        browser = self.browser(":8", ":9")
        wait_until(lambda: "pinentry is missing or has no display: run tokenkeep unlock" in self.world.logged(), "the log line")
        self.world.unlock()
        self.assertEqual(browser.stdout.readline(), f"(False, ('ao', ['{DEFAULT}']))\n")
        self.assertEqual(self.asked(), [])

    def test_a_program_that_is_no_pinentry(self):
        self.begin("--pinentry", "/bin/echo")
        self.assertEqual(self.ask(DISPLAY=":7").stdout.readline(), "(True, ('ao', []))\n")
        self.assertIn("pinentry answered in another way than pinentry", self.world.logged())

    def test_prompt_none_never_asks(self):
        self.begin("--prompt", "none", "--pinentry", self.pinentry("pw"))
        self.assertEqual(self.ask(DISPLAY=":7").stdout.readline(), "(True, ('ao', []))\n")
        self.assertEqual(self.asked(), [])

    def test_the_terminal_of_the_caller_is_asked(self):
        self.begin_asking("pw")
        host, guest = pty.openpty()
        self.addCleanup(os.close, host)
        name = os.ttyname(guest)
        process = self.ask(terminal=guest, TERM="xterm")
        os.close(guest)
        self.assertEqual(process.stdout.readline(), f"(False, ('ao', ['{DEFAULT}']))\n")
        for option in (f"ttyname={name}", "ttytype=xterm", "lc-ctype=C.UTF-8"):
            self.assertIn(f"OPTION {option}", self.asked())

    def test_a_real_pinentry_asks_on_the_terminal(self):
        self.begin("--pinentry", "/usr/bin/pinentry-tty")
        host, guest = pty.openpty()
        self.addCleanup(os.close, host)
        process = self.ask(terminal=guest, TERM="xterm")
        shown = b""
        while b"Password:" not in shown:
            shown += os.read(host, 1024)
        os.write(host, b"pw\n")
        self.assertEqual(process.stdout.readline(), f"(False, ('ao', ['{DEFAULT}']))\n")
        os.close(guest)

    def test_a_caller_that_stops_takes_its_question_away(self):
        self.begin_asking("wait")
        host, guest = pty.openpty()
        self.addCleanup(os.close, host)
        self.addCleanup(os.close, guest)
        process = self.ask(terminal=guest, TERM="xterm")
        wait_until(lambda: "GETPIN" in self.asked(), "the question")
        stop_process(process.pid)
        wait_until(lambda: not self.children(), "the end of pinentry")
        process.send_signal(signal.SIGCONT)
        self.assertEqual(process.stdout.readline(), "(True, ('ao', []))\n")

    def test_a_pinentry_that_does_not_end_holds_up_no_other_client(self):
        """A pinentry that ignores SIGINT is killed two seconds later. Until an unlock was served before."""
        self.begin("--pinentry", self.pinentry())
        wait_until(self.served_beside_a_pinentry_that_stays, "an answer before the end of pinentry")

    def served_beside_a_pinentry_that_stays(self):
        self.world.lock()
        self.pinentry("stay")
        asked = len(self.asked())
        interrupted = os.path.join(self.world.home, "interrupted")
        with contextlib.suppress(FileNotFoundError):
            os.remove(interrupted)
        host, guest = pty.openpty()
        process = self.ask(terminal=guest, TERM="xterm")
        wait_until(lambda: "STAYS" in self.asked()[asked:], "the question")
        (running,) = self.children()
        stop_process(process.pid)
        wait_until(lambda: os.path.exists(interrupted), "the signal to pinentry")
        self.world.unlock()
        self.assertFalse(self.client.get(LOGIN, COLLECTION, "Locked"))
        was_served = running in self.children()
        process.kill()
        wait_until(lambda: not self.children(), "the end of pinentry")
        for descriptor in (host, guest):
            os.close(descriptor)
        return was_served


if __name__ == "__main__":
    unittest.main()
