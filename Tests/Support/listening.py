"""Whether a program listens on a socket yet, and ports on which programs can listen."""
import random
import socket


def listens(path):
    """Whether connections to the socket of this path are accepted: it appears a moment before they are."""
    with open("/proc/net/unix", encoding="utf-8") as sockets:
        return any(line.split()[3] == "00010000" and line.endswith(f" {path}\n") for line in sockets)


def free_ports(count):
    """Ports of 127.0.0.1 that nobody has now, for programs that take no port 0.

    They are not of the range that the kernel takes for connections: one of these could take a port before the program has it."""
    with open("/proc/sys/net/ipv4/ip_local_port_range", encoding="ascii") as file:
        first = int(file.read().split()[0])
    ports = set()
    while len(ports) < count:
        port = random.randrange(max(1024, first // 2), max(first, 2048))
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
        ports.add(port)
    return list(ports)
