#!/usr/bin/env python3
"""tokenkeep-tpm2 --once and the life of a machine: cleared, replaced, provisioned, without TPM.

Usage: machines.py PROGRAM [TEST…]"""
import os
import random
import socket
import subprocess
import tempfile

from case import PROGRAM, Case, main
from world import ANCHOR, SEAL, UNSEAL, Client, Key, Once, Reply, SoftwareTPM, request

WITHOUT_NODA = "fixedtpm|fixedparent|sensitivedataorigin|userwithauth|restricted|decrypt"
SIGNING = "fixedtpm|fixedparent|sensitivedataorigin|userwithauth|noda|restricted|sign"


class Sealing(Case):
    def test_a_secret_opens_with_its_auth_after_a_restart(self):
        caller = self.once().learn()
        blob = self.sealed(caller)
        self.opens(caller, blob)
        self.tpm.restart()
        self.opens(caller, blob)
        self.nothing_is_loaded()

    def test_another_auth_is_denied_and_locks_nothing(self):
        caller = self.once().learn()
        blob = self.sealed(caller)
        for _ in range(40):
            self.assertEqual(self.refused(caller.unseal(Key(), blob), "auth").status, 6)
        self.opens(caller, blob)
        self.assertIn("TPM2_PT_LOCKOUT_COUNTER: 0x0", self.tpm.tool("tpm2_getcap", "properties-variable"))

    def test_a_lockout_of_the_tpm_locks_nothing_of_ours(self):
        caller = self.once().learn()
        blob = self.sealed(caller)
        self.tpm.tool("tpm2_dictionarylockout", "-s", "-n", "1", "-t", "10000", "-l", "10000")
        self.tpm.tool("tpm2_createprimary", "-Q", "-C", "o", "-p", "right", "-c", "locked.ctx")
        for _ in range(3):
            self.tpm.tool("tpm2_create", "-Q", "-C", "locked.ctx", "-P", "wrong", "-u", "x", "-r", "y", check=False)
        self.assertIn("inLockout:                 1", self.tpm.tool("tpm2_getcap", "properties-variable"))
        self.opens(caller, blob)
        self.index(caller.make(self.key))

    def test_a_change_of_pcrs_locks_nothing(self):
        caller = self.once().learn()
        blob = self.sealed(caller)
        for register in (0, 4, 7, 11):
            self.tpm.tool("tpm2_pcrextend", f"{register}:sha256={'ab' * 32}")
        self.opens(caller, blob)

    def test_each_damaged_byte_of_a_blob_is_reported_or_denied(self):
        caller = self.once().learn()
        blob = self.sealed(caller)
        for place in range(0, len(blob), 3):
            damaged = bytearray(blob)
            damaged[place] ^= 1 << place % 8
            self.refused(caller.unseal(self.key, bytes(damaged)), "blob", "auth")
        for length in (1, 10, len(blob) - 1):
            self.refused(caller.unseal(self.key, blob[:length]), "blob")
        self.refused(caller.unseal(self.key, blob + b"\0"), "blob")

    def test_an_object_of_another_kind_is_no_blob(self):
        caller = self.once().learn()
        self.tpm.make_srk("-G", "ecc")
        self.tpm.tool("tpm2_create", "-Q", "-C", "0x81000001", "-u", "key.pub", "-r", "key.priv")
        with open(f"{self.tpm.directory}/key.pub", "rb") as public, open(f"{self.tpm.directory}/key.priv", "rb") as private:
            self.refused(caller.unseal(self.key, public.read() + private.read()), "blob", "other")

    def test_eight_processes_at_once(self):
        caller = self.once().learn()
        keys = [Key() for _ in range(8)]
        for _ in range(5):
            blobs = [self.done(caller.end(process)) for process in [
                caller.start(request(SEAL, caller.name, key.auth, key.secret)) for key in keys]]
            secrets = [self.done(caller.end(process)) for process in [
                caller.start(request(UNSEAL, caller.name, key.auth, blob)) for key, blob in zip(keys, blobs)]]
            self.assertEqual(secrets, [key.secret for key in keys])


class Machines(Case):
    def test_two_tpms_are_two_machines(self):
        caller, other = self.once().learn(), self.once(self.make_tpm().tcti).learn()
        self.assertNotEqual(caller.name, other.name)
        blob = self.sealed(caller)
        self.assertEqual(self.refused(self.named(other, caller).unseal(self.key, blob), "other").status, 3)
        self.refused(other.unseal(self.key, blob), "blob")
        self.assertEqual(other.info(caller.name).word, "other")

    def named(self, caller, like):
        caller = Once(PROGRAM, caller.tcti)
        caller.name = like.name
        return caller

    def test_a_cleared_tpm_is_another_one(self):
        caller = self.once().learn()
        blob, index = self.sealed(caller), self.index(caller.make(self.key))
        self.tpm.tool("tpm2_clear")
        self.refused(caller.unseal(self.key, blob), "other")
        self.refused(caller.read(self.key, index), "other")
        self.assertEqual(caller.list(), [])
        name = caller.name
        self.assertNotEqual(self.once().learn().name, name)

    def test_without_a_tpm_the_reply_says_absent(self):
        caller = self.once().learn()
        blob = self.sealed(caller)
        self.tpm.kill()
        for answer in (caller.info(), caller.seal(self.key), caller.unseal(self.key, blob), caller.make(self.key)):
            self.refused(answer, "absent")
        self.refused(self.once("device:/nonexistent").info(), "absent")
        self.refused(self.once("nonsense:").info(), "absent")

    def test_a_stopped_tpm_costs_the_budget_alone(self):
        caller = self.once().learn()
        self.tpm.process.send_signal(19)
        self.refused(caller.seal(self.key, budget=300), "silent")
        self.tpm.process.send_signal(18)
        self.opens(caller, self.sealed(caller))

    def test_another_client_that_holds_the_tpm_is_waited_for(self):
        caller = self.once().learn()
        with socket.socket(socket.AF_UNIX) as holder:
            holder.connect(self.tpm.path)
            self.refused(caller.seal(self.key, budget=300), "silent")
            process = caller.start(request(SEAL, caller.name, self.key.auth, self.key.secret))
        self.opens(caller, self.done(caller.end(process)))

    def test_objects_and_sessions_that_others_left_are_no_obstacle(self):
        caller = self.once().learn()
        blob = self.sealed(caller)
        for number in range(3):
            self.tpm.tool("tpm2_createprimary", "-Q", "-C", "n", "-c", f"left{number}.ctx")
        self.opens(caller, blob)
        for number in range(3):
            self.tpm.tool("tpm2_startauthsession", "-S", f"session{number}.ctx")
        self.opens(caller, blob)


class Primaries(Case):
    def test_the_srk_is_used_if_it_is_there(self):
        self.assertEqual(self.done(self.once().info())[0], 0)
        for options in (("-G", "ecc"), ("-G", "rsa2048")):
            with self.subTest(options):
                tpm = self.make_tpm()
                tpm.make_srk(*options)
                caller = self.once(tpm.tcti).learn()
                self.assertEqual(self.done(caller.info())[0], 1)
                self.opens(caller, self.sealed(caller))
                self.nothing_is_loaded(tpm)

    def test_an_srk_that_is_made_later_locks_nobody_out(self):
        caller = self.once().learn()
        blob, index = self.sealed(caller), self.index(caller.make(self.key))
        self.tpm.make_srk("-G", "rsa2048")
        self.assertNotEqual(self.once().learn().name, caller.name)
        self.assertEqual(self.done(caller.info(caller.name))[1:35], caller.name)
        self.opens(caller, blob)
        self.assertEqual(self.done(caller.read(self.key, index)), self.key.secret)

    def test_the_created_primary_is_the_srk_of_the_tcg(self):
        caller = self.once().learn()
        blob = self.sealed(caller)
        with open(f"{self.tpm.directory}/unique", "wb") as file:
            file.write((b"\x20\x00" + bytes(128)) * 2)
        self.tpm.make_srk("-G", "ecc256:aes128cfb", "-u", "unique")
        flags = self.done(self.once().info())
        self.assertEqual((flags[0], flags[1:35]), (1, caller.name))
        self.opens(caller, blob)

    def test_an_srk_that_goes_is_another_tpm(self):
        self.tpm.make_srk("-G", "rsa2048")
        caller = self.once().learn()
        blob = self.sealed(caller)
        self.tpm.tool("tpm2_evictcontrol", "-Q", "-C", "o", "-c", "0x81000001")
        self.refused(caller.unseal(self.key, blob), "other")

    def test_another_kind_of_object_at_the_srks_handle_is_passed_over(self):
        for attributes in (SIGNING, WITHOUT_NODA):
            with self.subTest(attributes):
                tpm = self.make_tpm()
                name = self.once(tpm.tcti).learn().name
                tpm.make_srk("-G", "ecc256:ecdsa-sha256:null" if attributes == SIGNING else "ecc", attributes=attributes)
                payload = self.done(self.once(tpm.tcti).info())
                self.assertEqual((payload[0], payload[1:35]), (2, name))

    def test_an_owner_password_without_an_srk_is_said(self):
        caller = self.once().learn()
        blob = self.sealed(caller)
        self.tpm.tool("tpm2_changeauth", "-c", "owner", "secret")
        self.assertEqual(self.refused(caller.unseal(self.key, blob), "owner-password").status, 3)
        reply = caller.info()
        self.assertEqual((reply.word, reply.payload), ("owner-password", b"IBM SW TPM"))

    def test_with_an_owner_password_the_srk_seals_but_makes_no_index(self):
        self.tpm.make_srk("-G", "ecc")
        caller = self.once().learn()
        index = self.index(caller.make(self.key))
        self.tpm.tool("tpm2_changeauth", "-c", "owner", "secret")
        self.opens(caller, self.sealed(caller))
        self.refused(caller.make(Key()), "owner-password")
        self.refused(caller.destroy(self.key, index), "owner-password")
        self.assertEqual(self.done(caller.read(self.key, index)), self.key.secret)

    def test_an_srk_with_a_password_is_refused_by_the_tpm(self):
        self.tpm.make_srk("-G", "ecc", "-p", "secret")
        self.refused(self.once().learn().seal(self.key), "refused")

    def test_the_maker_is_told(self):
        self.assertEqual(self.done(self.once().info())[35:], b"IBM SW TPM")


class Indices(Case):
    def test_device_bytes_are_written_once_and_destroyed(self):
        caller = self.once().learn()
        index = self.index(caller.make(self.key))
        self.assertEqual(self.done(caller.read(self.key, index)), self.key.secret)
        self.assertEqual(caller.list(), [(index, 1, 3, self.key.tag)])
        self.tpm.restart()
        self.assertEqual(caller.list(), [(index, 1, 3, self.key.tag)])
        with open(f"{self.tpm.directory}/auth", "wb") as file:
            file.write(self.key.auth)
        self.tpm.tool("tpm2_nvwrite", hex(index), "-P", "file:auth", "-i", "auth", check=False)
        self.assertEqual(self.done(caller.read(self.key, index)), self.key.secret)
        self.assertEqual(self.done(caller.destroy(self.key, index)), b"")
        self.refused(caller.read(self.key, index), "no-index")
        self.assertEqual(caller.list(), [])

    def test_an_anchor_is_written_again(self):
        caller = self.once().learn()
        index = self.index(caller.make(self.key, ANCHOR, b"a" * 96))
        self.done(caller.write(self.key, index, b"b" * 96))
        self.assertEqual(self.done(caller.read(self.key, index, ANCHOR)), b"b" * 96)
        self.refused(caller.write(self.key, index, b"short"), "request")
        self.refused(caller.write(Key(), index, b"c" * 96), "no-index")
        self.assertEqual(self.done(caller.read(self.key, index, ANCHOR)), b"b" * 96)
        self.assertEqual(caller.list(), [(index, 2, 1, self.key.tag)])
        self.done(caller.destroy(self.key, index, ANCHOR))

    def test_another_auth_kind_or_tag_reads_and_destroys_nothing(self):
        caller = self.once().learn()
        index = self.index(caller.make(self.key))
        stranger = Key()
        self.refused(caller.read(stranger, index), "no-index")
        self.refused(caller.destroy(stranger, index), "no-index")
        self.refused(caller.destroy(self.key, index, ANCHOR), "no-index")
        stranger.tag = self.key.tag
        for _ in range(40):
            self.refused(caller.read(stranger, index), "auth")
        self.assertEqual(self.done(caller.read(self.key, index)), self.key.secret)

    def test_a_uid_has_four_indices(self):
        caller = self.once().learn()
        keys = [Key() for _ in range(4)]
        indices = [self.index(caller.make(key)) for key in keys]
        self.assertEqual(sorted(indices), [0x01800000 + number for number in range(4)])
        self.refused(caller.make(Key()), "no-space")
        self.done(caller.destroy(keys[2], indices[2]))
        self.assertEqual(self.index(caller.make(Key())), indices[2])

    def test_a_foreign_index_in_the_uids_range_is_left_alone(self):
        caller = self.once().learn()
        self.tpm.tool("tpm2_nvdefine", "-Q", "0x1800000", "-s", "32", "-a", "authread|authwrite|no_da")
        self.assertEqual(self.index(caller.make(self.key)), 0x01800001)
        self.assertEqual([entry[0] for entry in caller.list()], [0x01800001])
        self.refused(caller.destroy(self.key, 0x01800000), "no-index")
        self.assertIn("0x1800000", self.tpm.tool("tpm2_nvreadpublic"))

    def test_no_index_outside_the_range_is_touched(self):
        caller = self.once().learn()
        for index in (0x01800004, 0x01500000, 0x01C00002, 0x81000001, 0x40000001, 0, 0xFFFFFFFF):
            for reply in (caller.read(self.key, index), caller.destroy(self.key, index)):
                self.refused(reply, "no-index")

    def test_uids_that_share_numbers_do_not_share_indices(self):
        near, far = self.once(uid=5), self.once(uid=5 + (1 << 20) - 1)
        os.chmod(self.tpm.directory, 0o755)
        for path in (self.tpm.path, self.tpm.path + ".ctrl"):
            os.chmod(path, 0o777)
        near.learn(), far.learn()
        index = self.index(near.make(self.key))
        self.assertEqual(self.index(far.make(self.key)), index + 1)
        self.refused(far.read(self.key, index), "no-index")
        self.refused(far.destroy(self.key, index), "no-index")
        self.assertEqual([len(near.list()), len(far.list())], [1, 1])

    def test_a_tpm_without_room_says_so(self):
        caller = self.once().learn()
        self.tpm.fill()
        self.refused(caller.make(self.key), "no-space")


class Messages(Case):
    def test_what_is_not_exactly_a_request_is_refused(self):
        caller = self.once().learn()
        good = request(SEAL, caller.name, self.key.auth, self.key.secret)
        generator = random.Random(1)
        bad = [good[:length] for length in range(len(good))] + [good + b"\0", bytes(2048), bytes(2049), bytes(100000)]
        bad += [request(SEAL, caller.name, bytes(32), self.key.secret), request(1, budget=0), request(1, budget=10001),
                request(0), request(9), b"TKT2" + good[4:], generator.randbytes(105)]
        for message in bad:
            reply = self.refused(caller.ask(message), "request")
            self.assertEqual(reply.status, 12)
        self.done(caller.ask(good))

    def test_arguments(self):
        for arguments in ([], ["--once", "--connection"], ["--socket"], ["--once", "--tcti"], ["--once", "more"],
                          ["--once", "--locks", "/dev/null"], ["--once", "--socket", "x"]):
            result = subprocess.run([PROGRAM, *arguments], stdin=subprocess.DEVNULL, capture_output=True, check=False)
            self.assertEqual((result.returncode, result.stdout), (2, b""))
            self.assertTrue(result.stderr.startswith(b"usage: tokenkeep-tpm2 --once"))

    def test_the_environment_names_the_tpm_and_shows_no_secret(self):
        message = request(SEAL, self.once().learn().name, self.key.auth, self.key.secret)
        with tempfile.TemporaryDirectory() as directory:
            log = f"{directory}/log"
            result = subprocess.run(
                [PROGRAM, "--once"], input=message, capture_output=True, check=True,
                env={"TOKENKEEP_TCTI": self.tpm.tcti, "TSS2_LOG": "all+trace", "TSS2_LOGFILE": log})
            self.done(Reply(result.stdout))
            self.assertEqual(result.stderr, b"")
            self.assertFalse(os.path.exists(log))

    def test_no_memory_of_the_program_can_be_read(self):
        caller = self.once().learn()
        self.tpm.process.send_signal(19)
        process = caller.start(request(SEAL, caller.name, self.key.auth, self.key.secret, budget=500))
        status = subprocess.run(["setpriv", "--reuid=1", "--clear-groups", "cat", f"/proc/{process.pid}/environ"],
                                capture_output=True, check=False)
        self.assertNotEqual(status.returncode, 0)
        self.refused(caller.end(process), "silent")


if __name__ == "__main__":
    main()
