#!/usr/bin/env python3
"""tokenkeep-tpm2 and the wire to the TPM: recorded, delayed, cut, repeated, altered, answered by an interposer.

Usage: wire.py PROGRAM [TEST…]"""
import itertools
import queue
import random
import socket
import struct

import proxy
from case import Case, main
from proxy import Cut, answer_with, code_of
from patience import let_pass
from world import ANCHOR, DESTROY, DEVICE_BYTES, MAKE, PATIENCE, SEAL, UNSEAL, Key, request

SHORT = 400  # ms: the budget of requests that shall not be answered
# Response codes of the TPM 2.0 specification, part 2, 6.6.3, by kind. Handles, parameters and sessions are numbered in the higher bits.
VERSION_1 = [0x100 + code for code in (
    0x00, 0x01, 0x03, 0x0B, 0x19, 0x20, 0x21, 0x24, 0x25, 0x26, 0x27, 0x28, 0x2D, 0x2E, 0x2F, 0x30, 0x31, 0x42, 0x43, 0x44, 0x45,
    0x46, 0x47, 0x48, 0x49, 0x4A, 0x4B, 0x4C, 0x50, 0x51, 0x52, 0x53, 0x54, 0x55, 0x7F)]
FORMAT_1 = [0x80 + code for code in (*range(0x01, 0x28), 0x2B, 0x2C)]
WARNINGS = [0x900 + code for code in (*range(1, 0x0B), *range(0x10, 0x17), *range(0x18, 0x1F), *range(0x20, 0x24), 0x3F)]
FAILURE, INITIALIZE, NV_SPACE, LOCALITY, LOCKOUT = 0x101, 0x100, 0x14B, 0x907, 0x921
AUTH = (0x8E, 0xA2)
BLOB = {0x9F, 0xA5, 0x95, 0x82, 0x9A, 0x9C}  # INTEGRITY, BINDING, SIZE, ATTRIBUTES, INSUFFICIENT, KEY
HANDLE = 0x8B


def expected_word(code, at):
    """The word of a reply if the TPM answers the command `at` with the code, always."""
    if code in WARNINGS:
        return {LOCALITY: "refused", LOCKOUT: "lockout"}.get(code, "busy")
    if code in (FAILURE, INITIALIZE):
        return "failed"
    if code == NV_SPACE:
        return "no-space"
    if code in AUTH:
        return "auth" if at == proxy.UNSEAL else "refused"
    if code in BLOB and at == proxy.LOAD:
        return "blob"
    return "refused"


class Wire(Case):
    def setUp(self):
        super().setUp()
        self.proxy = self.make_proxy()
        self.caller = self.once(self.proxy.tcti).learn()
        self.blob = self.sealed(self.caller)

    def hook(self, function):
        self.proxy.on_command = function

    def pass_all(self):
        self.hook(lambda number, command, forward: forward(command))

    def count_messages(self, ask):
        """The commands of one request."""
        self.pass_all()
        before = len(self.proxy.record)
        ask()
        return len(self.proxy.record) - before

    def each_message(self, ask):
        for step in range(self.count_messages(ask)):
            with self.subTest(step=step):
                yield step
            self.pass_all()

    def counted(self, at, action):
        """A hook that does something with message `at` of all connections."""
        state = {"count": 0}

        def hook(_, command, forward):
            number, state["count"] = state["count"], state["count"] + 1
            return action(command, forward) if number == at else forward(command)

        return hook


class Recording(Wire):
    def test_no_record_holds_a_secret(self):
        caller, key, data = self.caller, self.key, Key().secret * 3
        self.opens(caller, self.blob)
        index, anchor = self.index(caller.make(key)), self.index(caller.make(key, ANCHOR, data))
        self.done(caller.read(key, index))
        self.done(caller.write(key, anchor, data[::-1]))
        self.done(caller.read(key, anchor, ANCHOR))
        self.done(caller.destroy(key, index))
        recorded = self.proxy.recorded()
        for secret in (key.auth, key.secret, data, data[::-1]):
            for place in range(0, len(secret) - 8, 8):
                self.assertNotIn(secret[place:place + 8], recorded)
        self.assertIn(key.tag, recorded)

    def test_two_unseals_of_the_same_blob_have_nothing_secret_in_common(self):
        answers = []
        for _ in range(2):
            self.opens(self.caller, self.blob)
            answers.append([response for command, response in self.proxy.record if code_of(command) == proxy.UNSEAL][-1])
        self.assertNotEqual(answers[0][16:52], answers[1][16:52])


class Disturbing(Wire):
    def requests(self):
        caller = self.caller
        return {
            "seal": lambda **options: caller.seal(self.key, **options),
            "unseal": lambda **options: caller.unseal(self.key, self.blob, **options),
            "make": lambda **options: caller.make(Key(), **options),
        }

    def test_delays_within_the_budget_change_nothing(self):
        def hook(_, command, forward):
            let_pass(0.03)
            return forward(command)

        self.hook(hook)
        self.opens(self.caller, self.sealed(self.caller))

    def test_silence_at_each_message_costs_the_budget_alone(self):
        for name, ask in self.requests().items():
            for step in self.each_message(ask):
                self.hook(self.counted(step, lambda command, forward: self.caller.end_budget()))
                reply = ask()
                # The handles of the end are flushed after the answer is there.
                self.assertIn(reply.word, ("silent", ""), (name, reply))
            self.clear_indices()
        self.opens(self.caller, self.blob)
        self.nothing_is_loaded_after_use()

    def nothing_is_loaded_after_use(self):
        """What was left is flushed once it is in the way."""
        for _ in range(3):
            self.opens(self.caller, self.blob)

    def clear_indices(self):
        for index, kind, _, tag in self.caller.list():
            key = Key()
            key.tag = tag
            self.done(self.caller.destroy(key, index, kind))

    def test_a_cut_at_each_message_is_reported(self):
        def cut(command, forward):
            raise Cut

        def cut_after(command, forward):
            forward(command)
            raise Cut

        for name, ask in self.requests().items():
            for action in (cut, cut_after):
                for step in self.each_message(ask):
                    self.hook(self.counted(step, action))
                    self.assertIn(ask().word, ("absent", "altered", ""), name)
                self.clear_indices()
        self.nothing_is_loaded_after_use()

    def test_a_truncated_answer_is_never_taken(self):
        def truncate(command, forward):
            return forward(command)[:-3]

        for step in self.each_message(self.requests()["unseal"]):
            self.hook(self.counted(step, truncate))
            reply = self.caller.unseal(self.key, self.blob, budget=SHORT)
            self.assertIn(reply.word, ("silent", "altered", "absent", ""))
            if reply.word == "":
                self.assertEqual(reply.payload, self.key.secret)

    def test_a_repeated_answer_is_never_taken(self):
        self.opens(self.caller, self.blob)
        old = {code_of(command): response for command, response in self.proxy.record}
        for code in (proxy.LOAD, proxy.UNSEAL, proxy.START_SESSION):
            with self.subTest(hex(code)):
                self.hook(lambda _, command, forward, code=code: old[code] if code_of(command) == code else forward(command))
                self.assertNotEqual(self.caller.unseal(self.key, self.blob, budget=2000).status, 0)
        self.pass_all()
        self.nothing_is_loaded_after_use()

    def test_a_repeated_command_gives_no_wrong_secret(self):
        def twice(command, forward):
            forward(command)
            return forward(command)

        for step in self.each_message(self.requests()["unseal"]):
            self.hook(self.counted(step, twice))
            reply = self.caller.unseal(self.key, self.blob)
            self.assertIn(reply.payload, (b"", self.key.secret))
        self.nothing_is_loaded_after_use()

    def altered(self, message, generator):
        """One bit of the body: the length in the head is left, or the TPM waits for more."""
        message = bytearray(message)
        place = generator.choice([*range(0, 2), *range(6, len(message))])
        message[place] ^= 1 << generator.randrange(8)
        return bytes(message)

    def test_no_alteration_gives_a_wrong_key(self):
        generator = random.Random(19)
        counts = {}
        for round_number in range(240):
            is_seal = round_number % 3 == 0
            ask = self.requests()["seal" if is_seal else "unseal"]
            step, is_answer = generator.randrange(7), generator.random() < 0.5

            def alter(command, forward, is_answer=is_answer):
                if is_answer:
                    return self.altered(forward(command), generator)
                return forward(self.altered(command, generator))

            self.hook(self.counted(step, alter))
            reply = ask(budget=SHORT * 2)
            self.pass_all()
            counts[reply.word] = counts.get(reply.word, 0) + 1
            if reply.word == "" and is_seal:
                self.opens(self.caller, reply.payload)
            elif reply.word == "":
                self.assertEqual(reply.payload, self.key.secret)
        self.assertGreater(counts.get("altered", 0), 5, counts)


class Codes(Wire):
    def answer_always(self, at, code):
        self.hook(lambda _, command, forward: answer_with(code) if code_of(command) == at else forward(command))

    def test_each_response_code_has_a_meaning(self):
        for at in (proxy.START_SESSION, proxy.LOAD, proxy.UNSEAL):
            for code in VERSION_1 + FORMAT_1 + WARNINGS:
                with self.subTest(at=hex(at), code=hex(code)):
                    self.answer_always(at, code)
                    word = expected_word(code, at)
                    # What is tried again lasts until the budget's end, which may come in the middle of an attempt.
                    budget, words = (60, ("silent", word)) if word == "busy" else (5000, (word,))
                    self.refused(self.caller.unseal(self.key, self.blob, budget=budget), *words)
        self.pass_all()
        self.opens(self.caller, self.blob)

    def test_numbered_codes_mean_the_same(self):
        for number in (0x100, 0x140, 0x440, 0x800, 0x900):
            self.answer_always(proxy.UNSEAL, 0x8E | number)
            self.refused(self.caller.unseal(self.key, self.blob), "auth")
        self.answer_always(proxy.LOAD, 0x9F | 0x1C0)
        self.refused(self.caller.unseal(self.key, self.blob), "blob")

    def test_codes_of_a_resource_manager_mean_the_same(self):
        for layer in (11 << 16, 12 << 16):
            self.answer_always(proxy.UNSEAL, layer | 0x143)
            self.refused(self.caller.unseal(self.key, self.blob), "refused")
            self.answer_always(proxy.UNSEAL, layer | 0x922)
            self.refused(self.caller.unseal(self.key, self.blob, budget=200), "busy", "silent")

    def test_each_warning_is_tried_again(self):
        """More often than tss2 does it by itself."""
        steps = itertools.cycle((proxy.CREATE_PRIMARY, proxy.START_SESSION, proxy.LOAD, proxy.UNSEAL))
        for code, at in zip(WARNINGS, steps):
            if code in (LOCALITY, LOCKOUT):
                continue
            with self.subTest(at=hex(at), code=hex(code)):
                pending = [code] * 7

                def hook(_, command, forward, at=at, pending=pending):
                    return answer_with(pending.pop()) if code_of(command) == at and pending else forward(command)

                self.hook(hook)
                self.opens(self.caller, self.blob)
                self.assertEqual(pending, [])
        self.pass_all()
        self.nothing_is_loaded()

    def test_codes_for_the_srk_and_indices(self):
        self.answer_always(proxy.READ_PUBLIC, HANDLE | 0x100)
        self.opens(self.caller, self.blob)
        for at, code, word in ((proxy.READ_PUBLIC, 0x12F, "refused"), (proxy.CREATE_PRIMARY, 0x185, "refused"),
                               (proxy.CREATE_PRIMARY, 0x98E, "owner-password"), (proxy.NV_DEFINE, 0x14B, "no-space"),
                               (proxy.NV_DEFINE, 0x9A2, "owner-password"), (proxy.NV_WRITE, 0x98E, "auth"),
                               (proxy.NV_WRITE_LOCK, 0x101, "failed"), (proxy.NV_DEFINE, 0x14C, "no-space")):
            with self.subTest(at=hex(at), code=hex(code)):
                self.answer_always(at, code)
                self.refused(self.caller.make(self.key), word)
        self.pass_all()
        self.assertEqual(self.caller.list(), [])


class Interposing(Wire):
    def setUp(self):
        super().setUp()
        self.interposer = self.make_tpm()
        self.foreign = self.once(self.interposer.tcti).learn()

    def to_interposer(self, command):
        with socket.socket(socket.AF_UNIX) as server:
            server.connect(self.interposer.path)
            server.sendall(command)
            return proxy.receive(server)

    def ask_all(self):
        caller = self.caller
        return [caller.seal(self.key), caller.unseal(self.key, self.blob), caller.make(self.key), caller.read(self.key, 0x01800000)]

    def test_an_interposers_own_primary_is_refused_by_its_name(self):
        self.hook(lambda _, command, forward: self.to_interposer(command))
        self.proxy.record.clear()
        for reply in self.ask_all():
            self.refused(reply, "other")

    def test_before_the_refusal_only_the_primary_was_asked_for(self):
        seen = []

        def hook(_, command, forward):
            seen.append(code_of(command))
            return self.to_interposer(command)

        self.hook(hook)
        for reply in self.ask_all():
            self.refused(reply, "other")
        self.assertEqual(set(seen), {proxy.READ_PUBLIC, proxy.CREATE_PRIMARY, proxy.FLUSH})

    def test_an_interposers_primary_under_the_recorded_name_is_refused(self):
        """The name in the answer is replaced by the recorded one: it does not fit the key beside it."""
        foreign, name = self.foreign.name, self.caller.name
        seen = []

        def hook(_, command, forward):
            seen.append(code_of(command))
            return self.to_interposer(command).replace(foreign, name)

        self.hook(hook)
        for reply in self.ask_all():
            self.refused(reply, "altered", "other")
        self.assertNotIn(proxy.START_SESSION, seen)

    def test_the_same_at_a_persistent_srk(self):
        self.interposer.make_srk("-G", "ecc")
        self.foreign.learn()
        self.test_an_interposers_primary_under_the_recorded_name_is_refused()

    def test_an_interposer_with_the_real_public_key_cannot_use_the_session(self):
        def hook(_, command, forward):
            if code_of(command) in (proxy.READ_PUBLIC, proxy.CREATE_PRIMARY, proxy.FLUSH):
                self.to_interposer(command)
                return forward(command)
            return self.to_interposer(command)

        self.hook(hook)
        for reply in self.ask_all():
            self.assertNotEqual(reply.status, 0)
            self.assertEqual(reply.payload, b"")
        for secret in (self.key.auth, self.key.secret):
            self.assertNotIn(secret, self.proxy.recorded())

    def test_a_forged_secret_is_altered(self):
        forged = struct.pack(">HIIIH", 0x8002, 16 + 36 + 5 + 32, 0, 38, 36) + bytes(36) + b"\0\0\x01\0\x20" + bytes(32)

        def hook(_, command, forward):
            return forged[:2] + struct.pack(">I", len(forged)) + forged[6:] if code_of(command) == proxy.UNSEAL else forward(command)

        self.hook(hook)
        self.refused(self.caller.unseal(self.key, self.blob), "altered")


class Killing(Wire):
    """Each party is killed at each step of each request."""

    def message(self, operation):
        name, key, kind = self.caller.name, self.key, bytes([DEVICE_BYTES])
        return {
            "seal": request(SEAL, name, key.auth, key.secret),
            "unseal": request(UNSEAL, name, key.auth, self.blob),
            "make": request(MAKE, name, key.auth, kind, key.tag, key.secret),
            "destroy": request(DESTROY, name, kind, key.tag, 0x01800000),
        }[operation]

    def test_the_program_is_killed_at_each_message(self):
        for operation in ("seal", "unseal", "make", "destroy"):
            step = 0
            while self.kill_at(step, operation):
                self.opens(self.caller, self.blob)
                step += 1
            self.assertGreater(step, 4)
            self.check_indices()

    def kill_at(self, step, operation):
        """Kills the program once the TPM has done the command `step`. False if the request has no such step."""
        if operation == "destroy" and not self.caller.list():
            self.index(self.caller.make(self.key))
        reached, started = [], queue.Queue()

        def kill(command, forward):
            response = forward(command)
            reached.append(True)
            started.get(timeout=PATIENCE).kill()
            return response

        self.hook(self.counted(step, kill))
        process = self.caller.start(self.message(operation))
        started.put(process)
        with process.stdout, process.stderr:
            process.wait(PATIENCE)
        self.pass_all()
        return bool(reached)

    def check_indices(self):
        """What was interrupted is seen by its tag, read or destroyed, and the number is used again."""
        for index, kind, bits, tag in self.caller.list():
            self.assertEqual(tag, self.key.tag)
            if bits & 1:
                self.assertEqual(self.done(self.caller.read(self.key, index)), self.key.secret)
            self.done(self.caller.destroy(self.key, index, kind))
        index = self.index(self.caller.make(self.key))
        self.done(self.caller.destroy(self.key, index))

    def test_the_tpm_is_killed_at_each_message(self):
        for operation in ("seal", "unseal", "make"):
            for step in range(12):
                reached = []

                def kill(command, forward):
                    reached.append(True)
                    self.tpm.kill()
                    return forward(command)

                self.hook(self.counted(step, kill))
                reply = self.caller.ask(self.message(operation))
                self.pass_all()
                if not reached:
                    break
                self.assertIn(reply.word, ("absent", "altered", ""))
                self.tpm.restart()
                self.opens(self.caller, self.blob)
            self.check_indices()


if __name__ == "__main__":
    main()
