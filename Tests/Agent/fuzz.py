#!/usr/bin/python3
"""Sends the agent mutations of requests. Usage: fuzz.py AGENT SECONDS SEED. The agent is built with AddressSanitizer."""
import os
import random
import sys
import time

from world import Desktop, Key


def mutate(rng, message):
    message = bytearray(message)
    for _ in range(rng.randrange(4)):
        kind = rng.randrange(4)
        if kind == 0 and message:
            message[rng.randrange(len(message))] = rng.randrange(256)
        elif kind == 1:
            message[rng.randrange(len(message) + 1):0] = rng.randbytes(rng.randrange(1, 9))
        elif kind == 2:
            del message[rng.randrange(len(message) + 1):]
        else:
            message += rng.randbytes(rng.choice((1, 64, 128, 4096, 70000)))
    return bytes(message)


def main():
    agent, seconds, seed = sys.argv[1], float(sys.argv[2]), int(sys.argv[3])
    rng = random.Random(seed)
    world = Desktop(agent)
    try:
        world.start_agent()
        world.wait_for(word="none")
        sent = 0
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            key = Key(purpose=rng.choice((1, 3, 5)))
            message = mutate(rng, rng.choice((key.request(), b"TKA1\x01", b"TKA1\x03", b"TKA1\x04" + key.vault, b"")))
            sent += 1
            try:
                with world.connect() as client:
                    if message:
                        client.send(message)
                        if rng.randrange(4):
                            client.recv(256)
            except ConnectionError:
                pass
        assert world.agent.poll() is None, f"the agent ended; seed {seed}"
        # It still does its work.
        key = Key()
        assert world.hold(key).published and key.is_readable()
        world.lock()
        assert not key.is_readable()
        print(f"{sent} messages, seed {seed}")
    finally:
        world.close()


main()
