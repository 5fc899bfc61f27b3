"""strace, which notes, fails or kills at some system calls."""


def strace(names, *options):
    """strace of the calls of these names, which stops the program at no other: a program that is traced is slow. It sends no
    signal."""
    return ("strace", "-f", "--seccomp-bpf", "-qq", *options, "-e", "trace=" + ",".join(sorted(names)))


def fault(name, what, number, *options):
    """strace that plays a fault at the call of this name and number: error=EIO, signal=KILL."""
    options = ("-o", "/dev/null", "-e", f"inject={name}:{what}:when={number}", *options)
    # No signal arrives at a stop by seccomp.
    return ("strace", "-f", "-qq", *options) if what.startswith("signal") else strace({name}, *options)
