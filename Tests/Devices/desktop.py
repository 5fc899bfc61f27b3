#!/usr/bin/python3
"""A graphical session of this user with the agent, steered by lines of standard input. Usage: desktop.py AGENT

Prints its environment as JSON, then a line for each command that was done: start, lock, unlock, kill, stop."""
import json
import signal
import sys

from world import Desktop


def start(desktop):
    """The agent sees its lock source work once, so that it counts as proved."""
    desktop.start_agent()
    lock(desktop)
    desktop.set_hint(False)
    desktop.wait_for(locked=False, proved=True)


def lock(desktop):
    desktop.set_hint(True)
    desktop.wait_for(locked=True)


def unlock(desktop):
    desktop.set_hint(False)
    desktop.wait_for(locked=False)


def kill(desktop):
    desktop.stop_agent(signal.SIGKILL)


def stop(desktop):
    desktop.stop_agent()


def main():
    desktop = Desktop(sys.argv[1])
    try:
        print(json.dumps(desktop.environment), flush=True)
        for line in sys.stdin:
            {"start": start, "lock": lock, "unlock": unlock, "kill": kill, "stop": stop}[line.strip()](desktop)
            print("done", flush=True)
    finally:
        desktop.close()


if __name__ == "__main__":
    main()
