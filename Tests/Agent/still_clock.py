"""The agent's clock, which stands still until a test moves it (still_clock.c)."""
import mmap
import os
import signal
import struct

from patience import wait_until

SECOND = 10**9
TIMERS, TIMEOUTS = 8, 256
NOW, MOVES, WALL_SETS, RESTED_AFTER, TIMEOUT_COUNT, TIMER_LIST = 0, 8, 12, 16, 20, 24
TIMEOUT_LIST = TIMER_LIST + 8 * TIMERS
SIZE = TIMEOUT_LIST + 8 * TIMEOUTS


class StillClock:
    """Time is in seconds. `process` is the agent."""

    def __init__(self, path):
        self.path = path
        self.process = None
        with open(path, "wb+") as file:
            file.truncate(SIZE)
            self.page = mmap.mmap(file.fileno(), SIZE)
        struct.pack_into("q", self.page, NOW, 10**6 * SECOND)

    def read(self, kind, offset):
        return struct.unpack_from(kind, self.page, offset)[0]

    @property
    def now(self):
        return self.read("q", NOW) / SECOND

    def timers(self):
        """The times for which the agent waits."""
        now = self.read("q", NOW)
        return sorted(
            time / SECOND for time in struct.unpack_from(f"{TIMERS}q", self.page, TIMER_LIST) if time > now)

    def move(self, seconds, wall_is_set=False):
        """Moves the clock. The agent may not have seen it yet."""
        struct.pack_into("q", self.page, NOW, self.read("q", NOW) + int(seconds * SECOND))
        struct.pack_into("i", self.page, WALL_SETS, self.read("i", WALL_SETS) + wall_is_set)
        struct.pack_into("i", self.page, MOVES, self.read("i", MOVES) + 1)
        os.kill(self.process.pid, signal.SIGRTMIN)

    def wait_for_rest(self):
        wait_until(lambda: self.read("i", RESTED_AFTER) == self.read("i", MOVES), "the agent's rest")

    def advance(self, seconds):
        """Moves the clock, and waits until the agent has done what it does at that time."""
        self.move(seconds)
        self.wait_for_rest()

    def set_wall(self):
        """Lets the agent hear that the wall clock was set."""
        self.move(0, wall_is_set=True)
        self.wait_for_rest()

    def pass_timer(self):
        """Moves the clock to the time for which the agent waits. Returns how far."""
        wait_until(self.timers, "a timer")
        moved = self.timers()[0] - self.now + 0.001
        self.advance(moved)
        return moved

    @property
    def timeout_count(self):
        """How often the agent asked the kernel for a key's timeout."""
        return self.read("I", TIMEOUT_COUNT)

    def timeouts(self):
        """The seconds that the agent last asked for, by the key's serial number."""
        count = self.timeout_count
        return dict(
            struct.unpack_from("iI", self.page, TIMEOUT_LIST + 8 * (index % TIMEOUTS))
            for index in range(max(0, count - TIMEOUTS), count))
