"""The tests' clock (Tests/Support/Clock), by which the programs under test live. Python keeps the real one."""
import os
import subprocess
import sys

from patience import wait_until

RUN = os.path.join(os.path.dirname(os.path.abspath(__file__)), "Clock", "run.sh")

# A program that has waited for so many looks at the clock, of 10 ms each, waits for a peer that does not answer.
ROUNDS = 25

# Whether tests that other threads run live by the same clock: a step of the clock would end their limits.
is_shared = False


def check_is_own():
    assert not is_shared, "tests beside this test live by the same clock: a test that moves the clock runs alone"


def environment():
    """What a program needs in an environment of its own."""
    return {name: os.environ[name] for name in ("LD_PRELOAD", "TOKENKEEP_TEST_CLOCK") if name in os.environ}


def require():
    """Starts this program anew by a clock of its own, unless it has one."""
    if "TOKENKEEP_TEST_CLOCK" not in os.environ:
        os.execv(RUN, [RUN, sys.executable, *sys.argv])


def now():
    """What the clock shows, in seconds."""
    return float(subprocess.run(["test-clock", "now"], check=True, capture_output=True, text=True).stdout)


def advance(seconds):
    check_is_own()
    subprocess.run(["test-clock", "advance", str(seconds)], check=True)


def pass_limit(pid, rounds=ROUNDS):
    """Waits until a process waits for a moment, and sets the clock to it. False if the process has ended."""
    check_is_own()
    passed = subprocess.run(["test-clock", "pass", str(pid), str(rounds)], check=False, capture_output=True, text=True)
    assert passed.returncode == 0 or "has ended" in passed.stderr, passed.stderr
    return passed.returncode == 0


def pass_limits(process, is_over=None, rounds=ROUNDS):
    """Sets the clock to one moment after the other for which the process waits, until it has ended, or `is_over()`."""
    check_is_own()
    is_over = is_over or (lambda: process.poll() is not None)
    while not is_over():
        with subprocess.Popen(["test-clock", "pass", str(process.pid), str(rounds)], stderr=subprocess.DEVNULL) as passing:
            wait_until(lambda: passing.poll() is not None or is_over(), f"a moment for which {process.args} waits")
            passing.kill()
