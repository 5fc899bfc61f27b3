#!/usr/bin/python3
"""Sessions against real authorization servers on loopback. Usage: run.py PREFIX

PREFIX is where TokenKeep is installed. Needs curl, Glewlwyd, and PyPI for django-oauth-toolkit: without one of them it says
"skipped", and fails.
"""
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import traceback

from django_server import DjangoServer, install, python_of
from glewlwyd_server import GlewlwydServer
from loopback_server import PATIENCE, Missing
from patience import stop_process  # loopback_server has put its folder on the path
from sign_in_cases import CASES as SIGN_IN_CASES, Visitor
import tests_clock

CASES = []
PROVIDER_CASES = []
REFRESH = """#!/bin/sh
token=$(cat)
echo "$TOKENKEEP_PURPOSE" >>{requests}
{before}
case $TOKENKEEP_PURPOSE in
refresh)
    printf %s "$token" | curl -si -d grant_type=refresh_token {client} --data-urlencode refresh_token@- {address}{token_path}
    case $? in 0) ;; 5 | 6 | 7 | 35) exit 75 ;; *) exit 1 ;; esac ;;
revoke)
    printf %s "$token" | curl -si {client} --data-urlencode token@- {address}{revoke_path}
    case $? in 0) ;; 5 | 6 | 7 | 35) exit 75 ;; *) exit 1 ;; esac ;;
esac
{after}
"""


def case(function):
    CASES.append(function)
    return function


def provider_case(function):
    """A case that is played by libcurl and the provider's file, too: nothing in it changes the command."""
    PROVIDER_CASES.append(function)
    return case(function)


class User:
    """A vault and a session at a server."""

    def __init__(self, program, server, rotation, directory, has_provider):
        self.program, self.server, self.rotation, self.has_provider = program, server, rotation, has_provider
        self.directory = tempfile.mkdtemp(dir=directory)
        self.requests = self.directory + "/requests"
        self.environment = {
            "PATH": os.environ["PATH"], "HOME": self.directory, "TOKENKEEP_VAULT": self.directory + "/vault",
            "XDG_CONFIG_HOME": self.directory + "/.config", **tests_clock.environment()}
        self.script("ask")
        os.makedirs(self.directory + "/.config/tokenkeep/providers.d")
        with open(self.directory + "/.config/tokenkeep/providers.d/tests.conf", "w", encoding="utf-8") as file:
            file.write(f"client_id = {server.client_id}\ntoken_endpoint = {server.address}{server.token_path}\n"
                       f"revocation_endpoint = {server.address}{server.revoke_path}\n")
            if server.secret:
                file.write("client_secret = item clients tests\n")
        if server.secret and has_provider:
            subprocess.run(
                [program, "save", "clients", "tests", "--stack", "any required vault"], input=server.secret, text=True,
                env=self.environment, check=True)

    def script(self, name, before="", after=""):
        path = f"{self.directory}/{name}"
        with open(path, "w", encoding="utf-8") as file:
            file.write(REFRESH.format(
                address=self.server.address, client=self.server.client, token_path=self.server.token_path,
                revoke_path=self.server.revoke_path, requests=self.requests, before=before, after=after))
        os.chmod(path, 0o700)
        return path

    def start(self, *arguments, script="ask", **options):
        stack = ["--stack", "any required vault"]
        ask = [] if self.has_provider or arguments[0] in ("begin", "show") else ["--exec", f"{self.directory}/{script}"]
        return subprocess.Popen(
            [self.program, "session", *arguments, *ask, *stack], env=self.environment, text=True, stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, **options)

    def run(self, *arguments, given="", **options):
        """The exit code and the output."""
        process = self.start(*arguments, **options)
        output, self.errors = process.communicate(given, timeout=PATIENCE)
        return process.returncode, output.strip()

    def sign_in(self, lifetime=None):
        """Signs in, with a token that ends after `lifetime` seconds as this machine sees it."""
        response = self.server.sign_in()
        if lifetime is not None:
            response["expires_in"] = lifetime
        provider = ["--provider", "tests"] if self.has_provider else []
        code, _ = self.run("begin", "api", "ann", "--rotation", self.rotation, *provider, given=json.dumps(response))
        assert code == 0, self.errors
        return response

    def token(self, *arguments, expected=0, **options):
        code, token = self.run("token", "api", "ann", *arguments, **options)
        assert code == expected, (code, self.errors)
        return token

    def refreshes(self):
        """How many refresh requests were sent."""
        if not os.path.exists(self.requests):
            return 0
        with open(self.requests, encoding="utf-8") as requests:
            return requests.read().split().count("refresh")

    def reason(self):
        return json.loads(self.run("show", "api", "ann", "--json")[1])["reason"]


@provider_case
def a_token_is_used_and_renewed(user):
    first = user.sign_in()
    assert user.token() == first["access_token"] and user.server.accepts(first["access_token"])
    code, renewed = user.run("refresh", "api", "ann")
    assert code == 0 and renewed != first["access_token"], user.errors
    assert user.server.accepts(renewed) and user.token() == renewed


@provider_case
def eight_processes_make_one_request(user):
    for _ in range(5):
        user.sign_in(lifetime=0)
        processes = [user.start("token", "api", "ann", "--explain") for _ in range(8)]
        outputs = [process.communicate(timeout=PATIENCE) for process in processes]
        tokens = {output.strip() for output, _ in outputs}
        assert len(tokens) == 1 and user.server.accepts(tokens.pop()), outputs
        assert sum(errors.count("sends the refresh token") for _, errors in outputs) == 1, outputs


@case
def an_answer_is_lost(user):
    user.sign_in(lifetime=0)
    user.script("loses", after="exit 1")
    user.token(expected=4, script="loses")
    if user.rotation == "strict":
        # The repetition is refused.
        user.token(expected=3)
        assert user.reason() == "rotation-lost"
        before = user.refreshes()
        user.token(expected=3)
        assert user.refreshes() == before
    else:
        assert user.server.accepts(user.token())


@case
def a_process_is_killed_before_its_request_arrives(user):
    user.sign_in(lifetime=0)
    os.mkfifo(user.directory + "/gate")
    user.script("waits", before=f"echo $$ >{user.directory}/gate; sleep 600")
    process = user.start("token", "api", "ann", script="waits", start_new_session=True)
    with open(user.directory + "/gate", encoding="utf-8") as gate:
        script = int(gate.read())
    os.killpg(process.pid, signal.SIGKILL)
    # It has a group of its own, and holds what communicate() reads to the end.
    os.killpg(os.getpgid(script), signal.SIGKILL)
    process.communicate(timeout=PATIENCE)
    assert user.server.accepts(user.token()), "the old token had never arrived"


@case
def a_process_that_was_frozen_wakes_after_the_logout(user):
    user.sign_in(lifetime=0)
    os.mkfifo(user.directory + "/answered")
    os.mkfifo(user.directory + "/gate")
    user.script("waits", after=f"echo >{user.directory}/answered; read line <{user.directory}/gate")
    frozen = user.start("token", "api", "ann", script="waits")
    with open(user.directory + "/answered", encoding="utf-8") as answered:
        answered.read()
    stop_process(frozen.pid)
    os.waitpid(frozen.pid, os.WUNTRACED)
    user.token("--timeout", "1s", expected=4)
    assert f"process {frozen.pid} " in user.errors, user.errors
    code, _ = user.run("logout", "api", "ann")
    assert code == 0, user.errors
    user.token(expected=1)
    with open(user.directory + "/gate", "w", encoding="utf-8") as gate:
        gate.write("\n")
    frozen.send_signal(signal.SIGCONT)
    output, errors = frozen.communicate(timeout=PATIENCE)
    assert frozen.returncode == 1 and output == "", (frozen.returncode, errors)
    # The tokens of the late answer are revoked, too.
    assert user.run("flush")[1] == "1 revoked, 0 left, 0 dropped", user.errors
    assert user.server.newest_is_revoked()


@provider_case
def the_server_refuses_the_refresh_token(user):
    response = user.sign_in(lifetime=0)
    user.server.revoke(response["refresh_token"])
    user.token("--explain", expected=3)
    assert "sends the refresh token" in user.errors, user.errors
    assert user.reason() == "refused"
    user.token("--explain", expected=3)
    assert "sends the refresh token" not in user.errors, user.errors


@provider_case
def a_logout_revokes_at_the_server(user):
    user.sign_in()
    token = user.run("refresh", "api", "ann")[1]
    assert user.server.accepts(token)
    code, report = user.run("logout", "api", "ann", "--json")
    assert code == 0 and json.loads(report)["revocation"] == "done", (report, user.errors)
    assert user.server.has_ended(token)
    user.token(expected=1)


@provider_case
def a_logout_without_the_server_is_made_up_for(user):
    response = user.sign_in()
    user.server.stop()
    report = json.loads(user.run("logout", "api", "ann", "--json")[1])
    assert report["revocation"] == "queued", report
    user.server.start()
    assert user.server.accepts(response["access_token"])
    assert user.run("flush")[1] == "1 revoked, 0 left, 0 dropped", user.errors
    assert user.server.has_ended(response["access_token"])


def servers(directory):
    """Each server with its name and the profile that it needs."""
    yield "Glewlwyd", "strict", GlewlwydServer(f"{directory}/glewlwyd")
    python = install(directory)
    for rotation, grace in (("strict", 0), ("overlap=60", 60)):
        yield "django-oauth-toolkit", rotation, DjangoServer(python, f"{directory}/grace-{grace}", grace)


def succeeds(name, body):
    """Whether a case passes. Prints its line."""
    try:
        body()
    except Exception:  # pylint: disable=broad-except
        traceback.print_exc()
        print("FAIL", name, flush=True)
        return False
    print("ok  ", name, flush=True)
    return True


def play(program, directory):
    passed = failed = 0
    for server_name, rotation, server in servers(directory):
        with server:
            plays = [(function, False) for function in CASES] + [(function, True) for function in PROVIDER_CASES]
            for function, has_provider in plays:
                transport = "libcurl" if has_provider else "--exec"
                name = f"{server_name}, {rotation}, {transport}: {function.__name__}"
                done = succeeds(name, lambda: function(User(program, server, rotation, directory, has_provider)))
                passed, failed = passed + done, failed + (not done)
            for function in SIGN_IN_CASES:
                name = f"{server_name}, {rotation}, sign-in: {function.__name__}"
                done = succeeds(name, lambda: function(Visitor(program, server, tempfile.mkdtemp(dir=directory))))
                passed, failed = passed + done, failed + (not done)
    print(f"{passed} passed, {failed} failed")
    return 1 if play_blocks(program, directory) or failed else 0


def play_blocks(program, directory):
    """Plays the blocks of docs/signing-in.md under the providers' names. Returns whether one failed."""
    private = ["unshare", "-m", "-n"] if os.geteuid() == 0 else ["unshare", "-r", "-m", "-n"]
    script = os.path.join(os.path.dirname(os.path.abspath(__file__)), "provider_blocks.py")
    place = tempfile.mkdtemp(dir=directory)
    return subprocess.run([*private, sys.executable, script, place, program, python_of(directory)], check=False).returncode


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    if shutil.which("curl") is None:
        print("skipped: there is no curl")
        return 1
    tests_clock.require()
    with tempfile.TemporaryDirectory() as directory:
        try:
            return play(os.path.abspath(sys.argv[1]) + "/bin/tokenkeep", directory)
        except Missing as reason:
            print(f"skipped: {reason}")
            return 1


if __name__ == "__main__":
    sys.exit(main())
