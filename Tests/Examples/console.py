#!/usr/bin/env python3
"""Types the commands of README.md's first console block into a terminal, and compares what is printed with the block.

Usage: console.py PREFIX
"""
import os
import pathlib
import pty
import re
import sys
import tempfile

README = pathlib.Path(__file__).resolve().parent.parent.parent / "README.md"


def printed(command, environment):
    """What the command prints on a terminal."""
    child, terminal = pty.fork()
    if child == 0:
        os.execvpe("sh", ["sh", "-c", command], environment)
    output = b""
    while True:
        try:
            part = os.read(terminal, 65536)
        except OSError:  # EIO: nobody has the terminal open any more
            break
        if not part:
            break
        output += part
    os.waitpid(child, 0)
    os.close(terminal)
    return output.decode().replace("\r\n", "\n")


def main():
    block = re.search(r"^```console\n(.*?)^```$", README.read_text(encoding="utf-8"), re.M | re.S)[1]
    with tempfile.TemporaryDirectory() as home:
        environment = {"HOME": home, "TOKENKEEP_VAULT": f"{home}/vault", "XDG_CONFIG_HOME": f"{home}/config", "TERM": "dumb",
                       "DBUS_SESSION_BUS_ADDRESS": f"unix:path={home}/no-bus",
                       "LC_ALL": "C.UTF-8", "PATH": f"{os.path.abspath(sys.argv[1])}/bin:{os.environ['PATH']}"}
        found = "".join(
            line + printed(line[2:], environment) for line in block.splitlines(keepends=True) if line.startswith("$ "))
    if found != block:
        sys.exit(f"README.md says\n{block}and the terminal shows\n{found}")


main()
