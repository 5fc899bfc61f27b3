"""strace, which notes, fails or kills at some system calls and stops the program at no other: a program that is traced is slow."""


def strace(names, *options):
    """strace of the calls of these names."""
    return ("strace", "-f", "--seccomp-bpf", "-qq", *options, "-e", "trace=" + ",".join(sorted(names)))


def fault(name, what, number):
    """strace that plays a fault at the call of this name and number: error=EIO, signal=KILL."""
    return strace({name}, "-o", "/dev/null", "-e", f"inject={name}:{what}:when={number}")
