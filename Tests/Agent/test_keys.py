"""The agent's keys in the kernel, and its socket."""
import os
import resource
import signal
import socket
import struct
import subprocess
import tempfile

from case import INSTALLED, Case
from patience import PATIENCE, stop_process, wait_until
from world import REVOKE, SET_TIMEOUT, UNLINK, USER_KEYRING, Key, kernel_keys, keyctl, read_serial, search


class Keys(Case):
    program = INSTALLED

    def test_a_key_is_in_the_agents_keyring_and_its_number_in_the_users(self):
        key = self.unlock()
        pointer = search(key.description)
        number = read_serial(pointer)
        self.assertEqual(len(number), 4)
        serials = {pointer, struct.unpack(">I", number)[0]}
        self.assertEqual({row[0] for row in kernel_keys(key.description)}, serials)
        self.assertEqual(self.timeouts_of(key), [180, 180])
        self.assertEqual(keyctl(6, pointer, 0, 0), len(f"user;{os.geteuid()};{os.getegid()};003b0000;") + len(key.description) + 1)

    def test_an_agent_that_may_not_lock_memory_goes_on_and_says_so(self):
        self.world.stop_agent()
        errors = self.enterContext(tempfile.TemporaryFile())
        self.world.start_agent(
            stderr=errors, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_MEMLOCK, (0, 0)))
        self.world.wait_for(word="none")
        self.unlock()
        errors.seek(0)
        self.assertEqual(
            errors.read().decode(),
            "tokenkeep-agent: warning: the limit of locked memory is too low: keys may be swapped\n"
            "hint: raise it (LimitMEMLOCK=, ulimit -l), or encrypt the swap space\n")

    def test_a_killed_agent_leaves_no_key(self):
        key = self.unlock()
        self.world.stop_agent(signal.SIGKILL)
        self.expect_gone(key)

    def test_an_agent_that_ends_takes_its_keys_along(self):
        key = self.unlock()
        self.world.stop_agent()
        self.assertFalse(key.is_readable())
        self.assertEqual([row for row in kernel_keys(key.description) if "R" not in row[1]], [])

    def test_sixteen_keys_are_held_and_the_oldest_gives_way(self):
        keys = [self.unlock() for _ in range(17)]
        self.assertFalse(keys[0].is_readable())
        self.assertTrue(all(key.is_readable() for key in keys[1:]))

    def test_a_key_given_again_is_replaced_without_a_gap(self):
        key = self.unlock()
        old = struct.unpack(">I", read_serial(search(key.description)))[0]
        self.assertTrue(self.world.hold(key).published)
        self.assertNotEqual(struct.unpack(">I", read_serial(search(key.description)))[0], old)
        self.assertEqual(key.read(), key.bytes)

    def test_only_a_second_agent_of_the_user_is_refused(self):
        second = subprocess.run([INSTALLED], env=self.world.environment, capture_output=True, timeout=PATIENCE)
        self.assertEqual(second.returncode, 4)
        self.assertIn(b"another agent", second.stderr)
        self.assertEqual(self.world.status().status, 0)

    def test_it_links_no_library_of_ours(self):
        section = subprocess.run(["readelf", "-d", INSTALLED], capture_output=True, text=True, check=True).stdout
        needed = [line.split("[")[1].split(".so")[0] for line in section.splitlines() if "(NEEDED)" in line]
        self.assertEqual(sorted(needed), ["libc", "libsystemd"])

    def test_other_programs_see_no_memory_nor_swap_and_no_core_is_dumped(self):
        self.unlock()
        pid = self.world.agent.pid
        with open(f"/proc/{pid}/limits", encoding="utf-8") as limits:
            self.assertIn("Max core file size        0                    0", limits.read())
        with open(f"/proc/{pid}/status", encoding="utf-8") as status:
            locked = next(line.split()[1] for line in status if line.startswith("VmLck:"))
        self.assertGreater(int(locked), 0)
        with self.assertRaises(PermissionError):
            open(f"/proc/{pid}/mem", "rb").close()
        with self.assertRaises(PermissionError):
            open(f"/proc/{pid}/environ", "rb").close()


class Revocation(Case):
    def expect_never_again(self, key):
        self.world.clock.advance(121)
        self.assertFalse(self.world.status().holds)
        self.assertFalse(key.is_readable())

    def test_a_revoked_key_is_never_published_again(self):
        key = self.unlock()
        keyctl(REVOKE, struct.unpack(">I", read_serial(search(key.description)))[0])
        self.expect_never_again(key)

    def test_nor_is_one_whose_number_was_revoked_or_unlinked(self):
        for operation in (REVOKE, UNLINK):
            key = self.unlock()
            pointer = search(key.description)
            keyctl(operation, pointer, *([USER_KEYRING] if operation == UNLINK else []))
            self.expect_never_again(key)

    def test_a_step_of_the_clock_that_ends_the_key_publishes_it_anew(self):
        key = self.unlock()
        old = self.serials_of(key)
        for serial in old:
            keyctl(SET_TIMEOUT, serial, 1)
        wait_until(lambda: not key.is_readable(), "the end of the key")
        self.world.clock.set_wall()
        self.assertTrue(key.is_readable())
        self.assertFalse(set(self.serials_of(key)) & set(old))
        self.assertEqual(self.timeouts_of(key), [180, 180])

    def test_a_clock_set_back_does_not_lengthen_a_key(self):
        key = self.unlock()
        for serial in self.serials_of(key):
            keyctl(SET_TIMEOUT, serial, 86400)
        self.world.clock.set_wall()
        self.assertEqual([row for row in kernel_keys(key.description) if row[2].endswith(("h", "d"))], [])
        self.assertEqual(self.timeouts_of(key), [180, 180])

    def test_a_step_of_the_clock_brings_no_revoked_key_back(self):
        key = self.unlock()
        keyctl(REVOKE, struct.unpack(">I", read_serial(search(key.description)))[0])
        self.world.clock.set_wall()
        self.assertFalse(self.world.status().holds or key.is_readable())

    def test_an_agent_that_slept_too_long_drops_its_keys(self):
        key = self.unlock()
        self.world.clock.advance(181)
        self.assertFalse(self.world.status().holds or key.is_readable())

    def test_a_key_whose_client_gave_up_is_not_published(self):
        stop_process(self.world.agent.pid)
        key = Key()
        client = self.world.connect()
        client.send(key.request())
        client.close()
        self.world.agent.send_signal(signal.SIGCONT)
        self.assertFalse(self.world.status().holds)
        self.assertFalse(key.is_readable())

    def test_a_lock_whose_client_gave_up_is_obeyed(self):
        key = self.unlock()
        stop_process(self.world.agent.pid)
        client = self.world.connect()
        client.send(b"TKA1\x03")
        client.close()
        self.world.agent.send_signal(signal.SIGCONT)
        self.assertEqual(self.world.status().word, "request")
        self.assertFalse(key.is_readable())


class Socket(Case):
    def test_what_is_no_request_gets_no_reply(self):
        hold = Key().request()
        for message in (b"T", b"TKA1", b"TKA2\x01", b"TKA1\x00", b"TKA1\x05", b"TKA1\x01x", b"TKA1\x03x", hold[:-1],
                        hold + b"x", b"TKA1\x04" + b"v" * 15, b"TKA1\x04" + b"v" * 17, b"x" * 60000,
                        Key(purpose=2).request(), Key(purpose=0).request(), Key(purpose=255).request()):
            self.assertIsNone(self.world.send(message), message[:80])
        self.assertFalse(self.world.status().holds)

    def test_a_thousand_open_connections_do_not_keep_others_out(self):
        held = []
        for _ in range(1000):
            held.append(socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET))
            held[-1].connect(self.world.socket)
        self.unlock()
        for client in held:
            client.close()

    def test_descriptors_that_come_along_are_closed(self):
        import array

        before = self.open_descriptors()
        for _ in range(100):
            with self.world.connect() as client:
                client.sendmsg([b"TKA1\x01"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [0, 1, 2]))])
                self.assertTrue(client.recv(64))
        wait_until(lambda: self.open_descriptors() <= before, "the descriptors' end")

    def open_descriptors(self):
        try:
            return len(os.listdir(f"/proc/{self.world.agent.pid}/fd"))
        except PermissionError:  # not dumpable: root alone counts
            return 0
