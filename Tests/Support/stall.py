#!/usr/bin/python3
"""stall.py [--seed N] [--longest MS] [--only REGEX] COMMAND…: runs a command while random threads of its processes stand still.

A developer's tool: a test that takes an order of events for granted, or a moment for long, fails beside it, and passes beside
a constant load. It stops a thread, or all threads of a process, for 30 ms to LONGEST (800), and three at a time. It stops them
by ptrace: nobody gets a signal, and no system call returns early. Threads that others trace or have stopped are left alone.
The command's status is that of the tool. Standard error names the seed; the moments differ from run to run all the same.
"""

import argparse
import ctypes
import os
import random
import re
import signal
import sys
import time

SEIZE, INTERRUPT, DETACH = 0x4206, 0x4207, 17
ANY_CHILD = 0x40000000  # __WALL
SUBREAPER = 36
AT_A_TIME = 3
ENDS = {os.CLD_EXITED, os.CLD_KILLED, os.CLD_DUMPED}

libc = ctypes.CDLL(None, use_errno=True)


def ptrace(request, thread, data=0):
    result = libc.ptrace(ctypes.c_long(request), ctypes.c_long(thread), ctypes.c_void_p(0), ctypes.c_void_p(data))
    return result == 0


def status_of(process):
    """A process's or thread's fields in /proc after its name, or None if it is gone: the state, then the parent."""
    try:
        with open(f"/proc/{process}/stat", encoding="latin-1") as file:
            return file.read().rpartition(")")[2].split()
    except OSError:
        return None


def descendants():
    """The living processes below the tool, by their parents."""
    children = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            fields = status_of(name)
            if fields and fields[0] not in "ZX":
                children.setdefault(int(fields[1]), []).append(int(name))
    found, left = [], [os.getpid()]
    while left:
        below = children.get(left.pop(), [])
        found += below
        left += below
    return found


def command_of(process):
    try:
        with open(f"/proc/{process}/cmdline", "rb") as file:
            return file.read().replace(b"\0", b" ").decode(errors="replace")
    except OSError:
        return ""


class Stall:
    """A thread that stands still until its time is over."""

    def __init__(self, thread, seconds):
        self.thread, self.seconds = thread, seconds
        self.until, self.signal, self.over = None, 0, False
        if not ptrace(SEIZE, thread) or not ptrace(INTERRUPT, thread):
            self.over = True

    def step(self, now):
        """Sees whether the thread has stopped, and lets it go when its time is over."""
        if self.until is None:
            self.wait_for_its_stop(now)
        elif now >= self.until:
            self.over = ptrace(DETACH, self.thread, self.signal) or self.was_killed()

    def was_killed(self):
        """Its tracer must have waited for a thread that was killed while it stood still, before its parent can."""
        try:
            os.waitpid(self.thread, ANY_CHILD)
        except ChildProcessError:
            pass
        return True

    def wait_for_its_stop(self, now):
        try:
            thread, status = os.waitpid(self.thread, os.WNOHANG | ANY_CHILD)
        except ChildProcessError:
            self.over = True
            return
        if thread == 0:
            return
        if not os.WIFSTOPPED(status):
            self.over = True
            return
        # A stop for a signal: the thread gets the signal when it goes on.
        self.signal = 0 if status >> 16 else os.WSTOPSIG(status)
        self.until = now + self.seconds


def victims(pick, only):
    """The threads of a random process: one of them, or all."""
    processes = [one for one in descendants() if not only or only.search(command_of(one))]
    if not processes:
        return []
    process = pick.choice(processes)
    try:
        threads = [int(name) for name in os.listdir(f"/proc/{process}/task")]
    except OSError:
        return []
    if threads and pick.random() < 0.5:
        threads = [pick.choice(threads)]
    states = {thread: status_of(f"{process}/task/{thread}") for thread in threads}
    return [thread for thread, fields in states.items() if fields and fields[0] in "RSD"]


def reap(stalls):
    """Waits for children that have ended: the command's, and those whose parents are gone. The command's status by process."""
    stalled = {stall.thread: stall for stall in stalls if not stall.over}
    ended = {}
    while True:
        try:
            found = os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        except ChildProcessError:
            return ended
        # A thread that the tool has stopped is among its children, too.
        if not found or found.si_code not in ENDS:
            return ended
        process, status = os.waitpid(found.si_pid, 0)
        ended[process] = status
        if process in stalled:
            stalled[process].over = True


def disturb(command, pick, longest, only):
    """Stops threads until the command has ended. Returns its wait status. The kernel lets threads go whose tracer ends."""
    groups, next_stall = [], 0.0
    while True:
        now = time.monotonic()
        if now >= next_stall and len(groups) < AT_A_TIME:
            seconds = pick.uniform(0.03, longest)
            groups.append([Stall(thread, seconds) for thread in victims(pick, only)])
            next_stall = now + pick.expovariate(8)
        for stall in (stall for group in groups for stall in group if not stall.over):
            stall.step(now)
        ended = reap([stall for group in groups for stall in group])
        if command in ended:
            return ended[command]
        groups = [group for group in groups if not all(stall.over for stall in group)]
        time.sleep(0.005)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=random.randrange(1_000_000))
    parser.add_argument("--longest", type=int, default=800, help="milliseconds that a thread stands still")
    parser.add_argument("--only", type=re.compile, help="only processes whose command line matches")
    parser.add_argument("command", nargs=argparse.REMAINDER)
    arguments = parser.parse_args()
    if not arguments.command:
        parser.error("no command")
    libc.prctl(SUBREAPER, 1, 0, 0, 0)
    print(f"stall.py: seed {arguments.seed}", file=sys.stderr)
    command = os.fork()
    if command == 0:
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # which Python ignores
        try:
            os.execvp(arguments.command[0], arguments.command)
        except OSError as error:
            print(f"stall.py: {arguments.command[0]}: {error.strerror}", file=sys.stderr)
            os._exit(127)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, lambda number, _: os.kill(command, number))
    status = disturb(command, random.Random(arguments.seed), arguments.longest / 1000, arguments.only)
    sys.exit(os.waitstatus_to_exitcode(status) if os.WIFEXITED(status) else 128 + os.WTERMSIG(status))


if __name__ == "__main__":
    main()
