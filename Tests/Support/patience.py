"""How tests wait for what others do in their own time: until it is done, however busy the machine is."""
import glob
import os
import signal
import time

# A test that waits in vain ends after so many seconds. No test measures anything by it. It is TEST_PATIENCE_S of
# Clock/include/test_clock.h: this file is copied to where that header is not.
PATIENCE = 300


class Waited(AssertionError):
    """What a test waited for did not happen."""


def let_pass(seconds):
    """Lets real time pass in which something must not happen. A test on a slow machine sees less of it, and stays green."""
    time.sleep(seconds)


def wait_until(condition, what="what is waited for", patience=PATIENCE):
    """Looks until `condition()` is true. Returns its value. `what` is said if it never is; it may be a function.

    `patience`: seconds, for who tries something else then."""
    end = time.monotonic() + patience
    while not (found := condition()):
        if time.monotonic() > end:
            raise Waited(f"{what() if callable(what) else what} did not come in {patience} s")
        time.sleep(0.005)
    return found


def stop_process(pid):
    """Stops a process (SIGSTOP), and waits until each of its threads has stopped: on a busy machine others run on meanwhile."""
    def is_stopped():
        states = []
        for path in glob.glob(f"/proc/{pid}/task/*/stat"):
            with open(path, encoding="utf-8", errors="replace") as file:
                states.append(file.read().rsplit(")", 1)[1].split()[0])
        return all(state in "TtZX" for state in states)

    os.kill(pid, signal.SIGSTOP)
    wait_until(is_stopped, f"a stopped process {pid}")
