#!/usr/bin/env python3
"""OpenSSH's sshd on a port of 127.0.0.1, for the user who runs it. Usage: ssh_server.py DIRECTORY

Makes keys and the configurations of server and client in DIRECTORY, prints "ready" and starts an sshd for each connection
until it is killed: ssh -F DIRECTORY/ssh_config host COMMAND. The sessions have the variables of VARIABLES that this program
has. Needs openssh-server, and root, whose directory /run/sshd it makes.
"""
import os
import pwd
import socket
import subprocess
import sys

DIRECTORY = os.path.abspath(sys.argv[1])
VARIABLES = ["HOME", "PATH", "LC_ALL", "TMPDIR", "DISPLAY", "TOKENKEEP_VAULT", "XDG_CONFIG_HOME", "XDG_CACHE_HOME"]
SERVER = """
HostKey {directory}/host_key
AuthorizedKeysFile {directory}/user_key.pub
# Directories above belong to everybody.
StrictModes no
UsePAM no
PasswordAuthentication no
KbdInteractiveAuthentication no
PermitRootLogin prohibit-password
PrintMotd no
PrintLastLog no
SetEnv {variables}
"""
CLIENT = """
Host host
HostName 127.0.0.1
Port {port}
User {user}
IdentityFile {directory}/user_key
IdentitiesOnly yes
IdentityAgent none
UserKnownHostsFile {directory}/known_hosts
StrictHostKeyChecking yes
RequestTTY force
LogLevel ERROR
"""


def write(name, text):
    with open(os.path.join(DIRECTORY, name), "w", encoding="utf-8") as file:
        file.write(text)


def make_key(name):
    path = os.path.join(DIRECTORY, name)
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", name, "-f", path], check=True)
    with open(path + ".pub", encoding="utf-8") as file:
        return file.read()


def main():
    os.makedirs("/run/sshd", 0o755, exist_ok=True)
    listener = socket.create_server(("127.0.0.1", 0), backlog=16)
    port = listener.getsockname()[1]
    make_key("user_key")
    write("known_hosts", f"[127.0.0.1]:{port} {make_key('host_key')}")
    variables = " ".join(f'{name}="{os.environ[name]}"' for name in VARIABLES if name in os.environ)
    write("sshd_config", SERVER.format(directory=DIRECTORY, variables=variables))
    write("ssh_config", CLIENT.format(directory=DIRECTORY, port=port, user=pwd.getpwuid(os.getuid()).pw_name))
    print("ready", flush=True)
    with open(os.path.join(DIRECTORY, "sshd_log"), "wb") as log:
        while True:
            connection, _ = listener.accept()
            with connection:
                subprocess.Popen(
                    ["/usr/sbin/sshd", "-i", "-e", "-f", os.path.join(DIRECTORY, "sshd_config")], stdin=connection,
                    stdout=connection, stderr=log)


if __name__ == "__main__":
    main()
