#!/usr/bin/env python3
"""Root's helper: several uids, clients that are slow, silent or flood it, and its own death.

Usage: helper.py PROGRAM [TEST…]"""
import array
import contextlib
import os
import signal
import socket
import subprocess
import tempfile
import threading

import proxy
from case import PROGRAM, Case, main
import tests_clock
from patience import stop_process
from proxy import code_of
from world import PATIENCE, SEAL, UNSEAL, Client, Helper, Key, Reply, forget_refusals, receive_reply, request, listens, wait_until

ANN, BOB = 61001, 61002


class Helping(Case):
    def setUp(self):
        super().setUp()
        self.helper = self.make_helper()
        self.ann, self.bob, self.root = (self.helper.client(uid).learn() for uid in (ANN, BOB, 0))

    def connections(self, count, uid):
        found = []
        for _ in range(count):
            connection = self.helper.client(uid).connect()
            self.addCleanup(connection.close)
            found.append(connection)
        return found

    def is_refused(self, connection):
        """Whether a connection is answered without a request."""
        self.refused(Reply(receive_reply(connection)), "limit")


class Users(Helping):
    def test_each_uid_opens_what_it_sealed_alone(self):
        blob = self.sealed(self.ann)
        self.opens(self.ann, blob)
        for other in (self.bob, self.root):
            self.assertEqual(self.refused(other.unseal(self.key, blob), "uid").status, 6)
            self.refused(other.unseal(Key(), blob), "auth")

    def test_one_blob_serves_both_ways(self):
        direct = self.once().learn()
        self.opens(direct, self.sealed(self.root))
        self.opens(self.root, self.sealed(direct))

    def test_indices_of_another_uid_are_not_there(self):
        index = self.index(self.ann.make(self.key))
        self.assertEqual(self.done(self.ann.read(self.key, index)), self.key.secret)
        for reply in (self.bob.read(self.key, index), self.bob.destroy(self.key, index)):
            self.refused(reply, "no-index")
        self.assertEqual((len(self.ann.list()), self.bob.list()), (1, []))
        for _ in range(3):
            self.index(self.ann.make(Key()))
        self.refused(self.ann.make(Key()), "no-space")
        self.index(self.bob.make(Key()))

    def test_subordinate_uids_have_the_indices_of_their_user(self):
        helper = Helper(PROGRAM, self.tpm.tcti, f"damaged\n0:x:1\n{ANN}:70000:100\nnobody-knows-whom:80000:100\n")
        self.addCleanup(helper.close)
        for uid in (ANN, 70000):
            for _ in range(4):
                self.index(helper.client(uid).learn().make(Key()))
        for uid in (ANN, 70001, 70099):
            self.refused(helper.client(uid).learn().make(Key()), "no-space")
        for uid in (BOB, 69999, 70100, 80000):
            self.index(helper.client(uid).learn().make(Key()))

    def test_a_full_tpm_keeps_room_for_who_has_indices_and_for_root(self):
        self.index(self.ann.make(Key()))
        self.tpm.fill()
        # Who has no index gets none, however often he asks, and the reserve stays.
        for _ in range(3):
            self.refused(self.bob.make(Key()), "no-space")
        # A vault has two indices, and a third one while its keys change.
        for _ in range(2):
            self.index(self.ann.make(Key()))
        self.refused(self.ann.make(Key()), "no-space")
        self.refused(self.bob.make(Key()), "no-space")
        self.assertEqual(len(self.ann.list()), 3)
        for _ in range(2):
            self.index(self.root.make(Key()))
        self.assertEqual(self.bob.list(), [])

    def test_root_gets_the_whole_reserve(self):
        self.index(self.ann.make(Key()))
        self.tpm.fill()
        for _ in range(4):
            self.index(self.root.make(Key()))
        self.refused(self.ann.make(Key()), "no-space")

    def test_who_comes_first_makes_the_reserve_again(self):
        key = Key()
        index = self.index(self.ann.make(key))
        self.tpm.fill()
        self.index(self.ann.make(Key()))
        self.refused(self.bob.make(Key()), "no-space")
        for number in range(2):
            self.tpm.tool("tpm2_nvundefine", hex(0x01500000 + number))
        self.index(self.bob.make(Key()))
        self.tpm.fill()
        for _ in range(2):
            self.index(self.bob.make(Key()))
        self.assertEqual(self.done(self.ann.read(key, index)), key.secret)

    def test_subordinate_uids_have_the_requests_of_their_user(self):
        helper = Helper(PROGRAM, self.tpm.tcti, f"{ANN}:70000:100\n")
        self.addCleanup(helper.close)
        held = [helper.client(uid).connect() for uid in (ANN, 70000, 70001, 70002)]
        for connection in held:
            self.addCleanup(connection.close)
        wait_until(lambda: len(helper.children()) == 4, "four children")
        self.refused(helper.client(70003).seal(self.key), "limit")
        self.done(helper.client(BOB).learn().seal(Key()))

    def test_a_refused_uid_is_logged_once(self):
        blob = self.sealed(self.ann)
        for _ in range(3):
            self.refused(self.bob.unseal(self.key, blob), "uid")
        wait_until(self.helper.logged, "the log")
        self.refused(self.root.unseal(self.key, blob), "uid")
        wait_until(lambda: len(self.helper.logged()) > 1, "the second line")
        self.assertEqual(self.helper.logged(), [
            f"<4>tokenkeep-tpm2: refused to uid {uid}: what another user sealed (logged once)" for uid in (BOB, 0)])

    def test_a_uid_of_another_user_namespace_is_refused(self):
        """Its process is the overflow uid to us, as all of its kind are."""
        script = f"import sys; sys.path.insert(0, {os.path.dirname(os.path.abspath(__file__))!r})\n" \
                 f"from world import Client; print(Client({self.helper.path!r}).info().word)"
        result = subprocess.run(["/usr/bin/setpriv", "--reuid=65534", "--clear-groups", "/usr/bin/python3", "-c", script],
                                capture_output=True, check=False, timeout=PATIENCE)
        self.assertEqual((result.stdout, result.stderr), (b"uid\n", b""))


class Limits(Helping):
    def test_the_fifth_request_of_a_uid_is_refused_and_logged_once(self):
        held = self.connections(4, ANN)
        wait_until(lambda: len(self.helper.children()) == 4, "four requests")
        for connection in self.connections(3, ANN):
            self.is_refused(connection)
        self.opens(self.bob, self.sealed(self.bob))
        self.assertEqual(self.helper.logged(), [
            f"<4>tokenkeep-tpm2: refused to uid {ANN}: more than 4 requests at a time (logged once)"])
        held[0].send(request(SEAL, self.ann.name, self.key.auth, self.key.secret))
        blob = self.done(Reply(held[0].recv(4096)))
        wait_until(lambda: len(self.helper.children()) == 3, "the end of a request")
        self.opens(self.ann, blob)

    def test_a_silent_client_is_left_after_two_seconds(self):
        silent = self.connections(4, ANN)
        wait_until(lambda: len(self.helper.children()) == 4, "four requests")
        began = tests_clock.now()
        self.helper.leave_the_silent()
        for connection in silent:
            self.assertEqual(connection.recv(4096), b"")
        self.assertGreater(tests_clock.now() - began, 1)
        self.opens(self.ann, self.sealed(self.ann))

    def test_a_client_that_reads_no_reply_holds_nothing(self):
        for connection in self.connections(4, ANN):
            connection.send(request(SEAL, self.ann.name, self.key.auth, self.key.secret))
        wait_until(lambda: self.ann.seal(self.key).word == "", "a free place")

    def test_a_client_that_is_gone_holds_nothing(self):
        for _ in range(40):
            with self.helper.client(ANN).connect() as connection, contextlib.suppress(OSError):
                connection.send(request(SEAL, self.ann.name, self.key.auth, self.key.secret))
        wait_until(lambda: self.ann.seal(self.key).word == "", "a free place")

    def test_a_flood_of_one_uid_does_not_stop_another(self):
        blob = self.sealed(self.bob)
        process = subprocess.Popen(
            ["/usr/bin/setpriv", f"--reuid={ANN}", "--clear-groups", "/usr/bin/python3", "-c",
             "import socket, sys\n"
             "held = []\n"
             "print('begun', flush=True)\n"
             "while True:\n"
             "    s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET); s.settimeout(1)\n"
             "    try: s.connect(sys.argv[1]); held.append(s)\n"
             "    except OSError: pass\n"
             "    held = held[-200:]\n", self.helper.path], stdout=subprocess.PIPE)
        try:
            process.stdout.readline()
            wait_until(lambda: len(self.helper.children()) >= 4, "the flood")
            for _ in range(20):
                self.opens(self.bob, blob)
        finally:
            process.kill()
            process.wait()
            process.stdout.close()
        self.assertEqual(len(self.helper.logged()), 1)

    def test_eight_uids_hold_all_places_and_a_ninth_is_closed(self):
        for uid in range(62000, 62008):
            self.connections(4, uid)
        wait_until(lambda: len(self.helper.children()) == 32, "32 requests")
        with self.helper.client(BOB).connect() as connection:
            self.assertEqual(connection.recv(4096), b"")
        self.helper.leave_the_silent()
        wait_until(lambda: not self.helper.children(), "the end of the silent")
        self.opens(self.bob, self.sealed(self.bob))


class Messages(Helping):
    def test_what_is_not_exactly_a_request_is_refused(self):
        good = request(SEAL, self.ann.name, self.key.auth, self.key.secret)
        for message in (b"", b"T", good[:-1], good + b"\0", bytes(2048), bytes(2049), bytes(60000)):
            with self.helper.client(ANN).connect() as connection:
                connection.send(message)
                answer = connection.recv(4096)
                if message:
                    self.refused(Reply(answer), "request")
                else:
                    self.assertEqual(answer, b"")
        self.done(self.ann.ask(good))

    def test_a_second_message_gets_no_reply(self):
        good = request(SEAL, self.ann.name, self.key.auth, self.key.secret)
        with self.helper.client(ANN).connect() as connection:
            connection.send(good)
            connection.send(good)
            self.done(Reply(receive_reply(connection)))
            self.assertEqual(receive_reply(connection), b"")

    def test_descriptors_that_come_along_are_closed(self):
        read, write = os.pipe()
        with self.helper.client(ANN).connect() as connection:
            connection.sendmsg([request(SEAL, self.ann.name, self.key.auth, self.key.secret)],
                               [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [write]))])
            os.close(write)
            self.done(Reply(connection.recv(4096)))
        os.set_blocking(read, True)
        self.assertEqual(os.read(read, 1), b"")
        os.close(read)


class Deaths(Helping):
    def test_a_request_whose_process_is_killed_ends_and_the_next_works(self):
        blob = self.sealed(self.ann)
        for step in range(7):
            wire = self.make_proxy()
            helper = self.make_helper(wire.tcti)
            client = helper.client(ANN)
            client.name = self.ann.name

            def kill(number, command, forward, step=step, helper=helper):
                response = forward(command)
                if number == step:
                    for child in helper.children():
                        os.kill(child, signal.SIGKILL)
                return response

            count = len(wire.record)
            wire.on_command = self.by_count(kill)
            with client.connect() as connection:
                connection.send(request(UNSEAL, client.name, self.key.auth, blob))
                self.assertEqual(connection.recv(4096), b"")
            wire.on_command = lambda number, command, forward: forward(command)
            self.assertGreater(len(wire.record), count)
            self.opens(client, blob)

    def by_count(self, function):
        numbers = iter(range(1 << 20))
        return lambda _, command, forward: function(next(numbers), command, forward)

    def test_a_helper_that_is_killed_takes_its_requests_along_and_starts_again(self):
        blob = self.sealed(self.ann)
        wire = self.make_proxy()
        helper = self.make_helper(wire.tcti)
        client = helper.client(ANN)
        client.name = self.ann.name
        asked = threading.Event()

        def hold(_, command, forward):
            if code_of(command) == proxy.UNSEAL:
                asked.set()
                return None
            return forward(command)

        wire.on_command = hold
        with client.connect() as connection:
            connection.send(request(UNSEAL, client.name, self.key.auth, blob, budget=10000))
            self.assertTrue(asked.wait(PATIENCE))
            helper.kill()
            self.assertEqual(connection.recv(4096), b"")
        wire.on_command = lambda number, command, forward: forward(command)
        helper.start()
        self.opens(client, blob)

    def test_a_silent_tpm_costs_the_budget_alone(self):
        stop_process(self.tpm.process.pid)
        began = tests_clock.now()
        self.refused(self.ann.seal(self.key, budget=300), "silent")
        self.assertGreater(tests_clock.now() - began, 0.25)
        self.tpm.process.send_signal(signal.SIGCONT)
        self.opens(self.ann, self.sealed(self.ann))

    def test_a_second_helper_does_not_take_the_socket(self):
        result = subprocess.run([PROGRAM, "--socket", self.helper.path, "--tcti", self.tpm.tcti], capture_output=True, check=False,
                                timeout=PATIENCE)
        self.assertEqual((result.returncode, result.stderr.decode()), (
            4, f"tokenkeep-tpm2: the socket {self.helper.path} cannot be made: Address already in use\n"))
        self.opens(self.ann, self.sealed(self.ann))

    def test_a_file_in_the_place_of_the_socket_is_left_alone(self):
        with tempfile.NamedTemporaryFile() as file:
            file.write(b"mine")
            file.flush()
            result = subprocess.run([PROGRAM, "--socket", file.name, "--tcti", self.tpm.tcti], capture_output=True, check=False,
                                    timeout=PATIENCE)
            self.assertEqual(result.returncode, 4)
            with open(file.name, "rb") as left:
                self.assertEqual(left.read(), b"mine")

    def test_the_peer_of_a_squatted_socket_is_not_root(self):
        """The check that clients make: the kernel gives the listener's uid."""
        os.chmod(self.helper.directory, 0o777)
        path = os.path.join(self.helper.directory, "squatted")
        squatter = subprocess.Popen([PROGRAM, "--socket", path, "--tcti", self.tpm.tcti], user=BOB, stderr=subprocess.DEVNULL)
        try:
            wait_until(lambda: listens(path), "the squatter")
            for socket_path, uid in ((path, BOB), (self.helper.path, 0)):
                with Client(socket_path, ANN).connect() as connection:
                    peer = array.array("i", connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))
                    self.assertEqual(peer[1], uid)
        finally:
            squatter.kill()
            squatter.wait()


class Instances(Case):
    """--connection, as systemd's unit starts it for each connection."""

    def setUp(self):
        super().setUp()
        self.locks = os.path.join(self.tpm.directory, "locks")
        self.addCleanup(forget_refusals, BOB)
        with open(self.locks, "wb"):
            pass

    def start(self, *options, uid=0):
        if uid:
            os.seteuid(uid)
        try:
            ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        finally:
            os.seteuid(0)
        ours.settimeout(PATIENCE)
        process = subprocess.Popen([PROGRAM, "--connection", "--locks", self.locks, "--tcti", self.tpm.tcti, *options], stdin=theirs,
                                   stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        theirs.close()
        self.addCleanup(process.wait)
        self.addCleanup(process.stderr.close)
        self.addCleanup(ours.close)
        return ours, process

    def places(self):
        with open("/proc/locks", encoding="ascii") as file:
            inode = os.stat(self.locks).st_ino
            return sum(f":{inode} " in line for line in file)

    def test_a_request_is_answered_on_standard_input(self):
        name = self.once().learn().name
        connection, process = self.start(uid=ANN)
        connection.send(request(SEAL, name, self.key.auth, self.key.secret))
        blob = self.done(Reply(connection.recv(4096)))
        self.assertEqual(process.wait(PATIENCE), 0)
        for uid, word in ((ANN, ""), (BOB, "uid")):
            connection, _ = self.start(uid=uid)
            connection.send(request(UNSEAL, name, self.key.auth, blob))
            self.assertEqual(Reply(connection.recv(4096)).word, word)

    def test_a_uid_has_four_instances_and_is_logged_once(self):
        uid = 100000 + os.getpid()
        self.addCleanup(forget_refusals, uid)
        held = [self.start(uid=uid) for _ in range(4)]
        wait_until(lambda: self.places() == 4, "four instances")
        logged = []
        for _ in range(3):
            connection, process = self.start(uid=uid)
            self.refused(Reply(connection.recv(4096)), "limit")
            logged.append(process.stderr.read().decode())
            process.wait(PATIENCE)
        self.assertEqual(logged, [
            f"<4>tokenkeep-tpm2: refused to uid {uid}: more than 4 requests at a time (logged once)\n", "", ""])
        connection, _ = self.start(uid=BOB)
        connection.send(request(1))
        self.done(Reply(connection.recv(4096)))
        held[0][1].kill()
        wait_until(lambda: self.places() == 3, "the end of an instance")
        connection, _ = self.start(uid=uid)
        connection.send(request(1))
        self.done(Reply(connection.recv(4096)))

    def test_standard_input_must_be_a_socket_of_messages(self):
        result = subprocess.run([PROGRAM, "--connection"], stdin=subprocess.DEVNULL, capture_output=True, check=False)
        self.assertEqual((result.returncode, result.stderr),
                         (2, b"tokenkeep-tpm2: --connection needs a SOCK_SEQPACKET socket as standard input\n"))


if __name__ == "__main__":
    main()
