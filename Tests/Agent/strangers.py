#!/usr/bin/python3
"""The agent answers its own user alone, also if the socket's mode lets others in. Usage, as root: strangers.py AGENT UID"""
import os
import shutil
import subprocess
import sys
import tempfile

from listening import listens
from patience import PATIENCE, wait_until


def ask(path, user):
    """The reply to a request for the status by a user; empty if the connection is closed without one."""
    code = f"""
import socket
client = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
client.connect({path!r})
try:
    client.send(b"TKA1\\x01")
    print(client.recv(64)[:4].decode())
except (BrokenPipeError, ConnectionResetError):
    print("")
"""
    result = subprocess.run(["/usr/bin/python3", "-c", code], user=user, group=user, extra_groups=[],
                            capture_output=True, text=True, timeout=PATIENCE, check=True)
    return result.stdout.strip()


def makes_nothing_for_another(agent, runtime):
    """Root's agent with the user's environment, as with sudo -E: a directory of root's would shut the user's agent out."""
    done = subprocess.run([agent], env={"XDG_RUNTIME_DIR": runtime}, capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert done.returncode != 0 and "the socket in XDG_RUNTIME_DIR cannot be made" in done.stderr, done
    assert os.listdir(runtime) == [], os.listdir(runtime)


def main():
    agent, user = sys.argv[1], int(sys.argv[2])
    directory = tempfile.mkdtemp()
    os.chmod(directory, 0o755)
    runtime = os.path.join(directory, "run")
    os.mkdir(runtime)
    os.chown(runtime, user, user)
    makes_nothing_for_another(agent, runtime)
    process = subprocess.Popen([agent], user=user, group=user, extra_groups=[], env={
        "XDG_RUNTIME_DIR": runtime, "HOME": directory, "DBUS_SYSTEM_BUS_ADDRESS": "unix:path=/nonexistent",
        "DBUS_SESSION_BUS_ADDRESS": "unix:path=/nonexistent"})
    try:
        path = os.path.join(runtime, "tokenkeep/agent")
        wait_until(lambda: listens(path), "the socket")
        os.chmod(os.path.dirname(path), 0o755)
        os.chmod(path, 0o666)
        answers = [ask(path, stranger) for stranger in (0, user + 1, user)]
        assert answers == ["", "", "TKA1"], answers
        assert process.poll() is None
        print("strangers get no reply")
    finally:
        process.kill()
        process.wait()
        shutil.rmtree(directory)


main()
