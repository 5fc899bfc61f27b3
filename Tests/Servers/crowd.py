#!/usr/bin/python3
"""Eight processes with four tasks each, and four programs, ask for a token that has just ended: one request a round.

Usage: crowd.py PREFIX CROWD [ROUNDS]

Four processes are Swift's (CROWD, the built Tests/Servers/Crowd), four are C's on the library in PREFIX.
"""
import json
import os
import subprocess
import sys
import tempfile

from rotating_server import RotatingServer

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "Support"))
import tests_clock  # noqa: E402: its folder must be on the path first
from patience import PATIENCE  # noqa: E402

SERVICE = "api.crowd.test"


class Crowd:
    def __init__(self, prefix, swift, directory, server):
        self.program, self.directory, self.server = prefix + "/bin/tokenkeep", directory, server
        self.environment = {
            "PATH": os.environ["PATH"], "HOME": directory, "TOKENKEEP_VAULT": directory + "/vault",
            "XDG_CONFIG_HOME": directory + "/config", **tests_clock.environment()}
        ask, body = server.write_scripts(directory)
        self.cli = [
            self.program, "session", "token", SERVICE, "ann", "--exec", ask, "--stack", "any required vault"]
        self.sign_in()
        c = self.build(prefix)
        commands = [[swift, body]] * 4 + [[c, body, f"{directory}/answer-{number}"] for number in range(4)]
        self.processes = [
            subprocess.Popen(command, env=self.environment, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
            for command in commands]
        for process in self.processes:
            assert process.stdout.readline() == "ready\n"

    def build(self, prefix):
        here = os.path.dirname(os.path.abspath(__file__))
        library = subprocess.run(
            ["find", prefix, "-name", "tokenkeep.pc"], check=True, capture_output=True, text=True).stdout.splitlines()[0]
        flags = subprocess.run(
            ["pkg-config", "--cflags", "--libs", "tokenkeep"], env={**os.environ, "PKG_CONFIG_PATH": os.path.dirname(library)},
            check=True, capture_output=True, text=True).stdout.split()
        self.environment["LD_LIBRARY_PATH"] = os.path.dirname(os.path.dirname(library))
        path = self.directory + "/crowd"
        subprocess.run(
            ["cc", "-Wall", "-Wextra", "-Werror", here + "/crowd.c", *flags, "-pthread", "-o", path], check=True)
        return path

    def sign_in(self):
        """A session whose token is over."""
        _, response = self.server.sign_in()
        response["expires_in"] = 0
        subprocess.run(
            [self.program, "session", "begin", SERVICE, "ann", "--stack", "any required vault"], env=self.environment,
            input=json.dumps(response), text=True, check=True)

    def round(self):
        self.sign_in()
        before = self.server.refreshes
        programs = [
            subprocess.Popen(self.cli, env=self.environment, text=True, stdout=subprocess.PIPE) for _ in range(4)]
        for process in self.processes:
            process.stdin.write("now\n")
            process.stdin.flush()
        answers = [process.stdout.readline().split() for process in self.processes]
        assert all(len(answer) == 4 for answer in answers), answers
        answers += [program.communicate(timeout=PATIENCE)[0].split() for program in programs]
        tokens = {token for answer in answers for token in answer}
        assert len(tokens) == 1 and all(answers), answers
        assert self.server.left(tokens.pop()) > 0, "the token is not the server's"
        assert self.server.refreshes == before + 1, f"{self.server.refreshes - before} requests"

    def end(self):
        for process in self.processes:
            process.stdin.close()
            assert process.wait(PATIENCE) == 0


def main():
    if len(sys.argv) not in (3, 4):
        sys.exit(__doc__)
    tests_clock.require()
    rounds = int(sys.argv[3]) if len(sys.argv) == 4 else 200
    with tempfile.TemporaryDirectory() as directory, RotatingServer(3600) as server:
        crowd = Crowd(os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2]), directory, server)
        for _ in range(rounds):
            crowd.round()
        crowd.end()
    print(f"ok   {rounds} rounds, 8 processes with 4 tasks and 4 programs each: one request a round")


if __name__ == "__main__":
    main()
