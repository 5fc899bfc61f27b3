"""What stops a program at some of its system calls: strace, which notes calls and makes them fail, and kill_at."""
import atexit
import functools
import os
import shutil
import subprocess
import tempfile

SOURCE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "kill_at.c")


def strace(names, *options):
    """strace of the calls of these names, which stops the program at no other: a program that is traced is slow. It sends no
    signal."""
    return ("strace", "-f", "--seccomp-bpf", "-qq", *options, "-e", "trace=" + ",".join(sorted(names)))


@functools.cache
def kill_at():
    """The program, compiled for this run."""
    folder = tempfile.mkdtemp(prefix="tokenkeep-kill-at-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    program = os.path.join(folder, "kill_at")
    subprocess.run(
        ["cc", "-std=gnu11", "-Wall", "-Wextra", "-Werror", "-O2", SOURCE, "-o", program, "-lseccomp"], check=True)
    return program


def kill(name, number, *options):
    """Kills the program right before the call of this name and number."""
    return (kill_at(), *options, name, str(number))


def fault(name, what, number):
    """Plays a fault at the call of this name and number: error=EIO, signal=KILL."""
    if what == "signal=KILL":
        return kill(name, number)
    return strace({name}, "-o", "/dev/null", "-e", f"inject={name}:{what}:when={number}")
