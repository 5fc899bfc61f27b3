"""Sign-ins at a real server: a headless browser in the place of $BROWSER, a device code, a pasted address."""
import json
import os
import re
import subprocess

from loopback_server import PATIENCE

CASES = []
BROWSER = """#!/bin/sh
server=$(curl -s -o /dev/null -w '%{{redirect_url}}' "$1")
curl -sL -c {directory}/cookies -b {directory}/cookies -o {directory}/page "$server{suffix}"
python3 {tests}/send_form.py {directory}/page
echo >{directory}/seen
"""
TESTS = os.path.dirname(os.path.abspath(__file__))


def case(function):
    CASES.append(function)
    return function


class Visitor:
    """A user without a session, whose browser follows the server's redirects."""

    def __init__(self, program, server, directory):
        self.program, self.server, self.directory = program, server, directory
        self.jar = directory + "/cookies"
        self.environment = {
            "PATH": os.environ["PATH"], "HOME": directory, "TOKENKEEP_VAULT": directory + "/vault",
            "XDG_CONFIG_HOME": directory + "/.config", "BROWSER": directory + "/browse"}
        with open(directory + "/browse", "w", encoding="utf-8") as file:
            file.write(BROWSER.format(tests=TESTS, directory=directory, suffix=server.address_suffix))
        os.chmod(directory + "/browse", 0o700)
        os.mkfifo(directory + "/seen")
        os.makedirs(directory + "/.config/tokenkeep/providers.d")
        for name, client in (("browser", server.browser_client), ("device", server.device_client)):
            with open(f"{directory}/.config/tokenkeep/providers.d/{name}.conf", "w", encoding="utf-8") as file:
                # The metadata of django-oauth-toolkit lacks the endpoint for devices.
                file.write(f"issuer = {server.address}{server.issuer_path}\nclient_id = {client}\nscope = openid read\n"
                           f"device_authorization_endpoint = {server.address}{server.device_path}\n")
                if server.secret:
                    file.write("client_secret = item clients tests\n")
                if server.redirect:
                    file.write(f"redirect = {server.redirect}\n")
        if server.secret:
            save = [program, "save", "clients", "tests", "--stack", "any required vault"]
            subprocess.run(save, input=server.secret, text=True, env=self.environment, check=True)

    def start(self, *arguments):
        return subprocess.Popen(
            [self.program, "session", *arguments, "--stack", "any required vault"], env=self.environment, text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def run(self, *arguments):
        """The output of a command that must succeed."""
        process = self.start(*arguments)
        output, errors = process.communicate(timeout=PATIENCE)
        assert process.returncode == 0, errors
        return output.strip()

    def use_renew_and_end(self):
        """A session that has begun is used, renewed and ended, also at the server."""
        first = self.run("token", "api")
        assert self.server.accepts(first)
        renewed = self.run("refresh", "api")
        assert renewed != first and self.server.accepts(renewed)
        assert json.loads(self.run("logout", "api", "--json"))["revocation"] == "done"
        assert self.server.has_ended(renewed)


def finished(process):
    """The account of a sign-in that must succeed, as the ID token names it."""
    output, errors = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0 and output == "", errors
    return re.search("^signed in as (.*)$", errors, re.MULTILINE).group(1)


def line_with(process, pattern):
    """The part of standard error that a pattern names, once it is there."""
    seen = ""
    for line in process.stderr:
        seen += line
        found = re.search(pattern, line)
        if found:
            return found.group(1)
    raise AssertionError(seen)


@case
def the_browser_comes_back(visitor):
    visitor.server.enter(visitor.jar)
    assert finished(visitor.start("login", "api", "--provider", "browser", "--flow", "browser"))
    with open(visitor.directory + "/seen", encoding="utf-8") as seen:
        seen.read()
    with open(visitor.directory + "/page", encoding="utf-8") as page:
        assert "The answer has arrived" in page.read()
    visitor.use_renew_and_end()


@case
def a_code_is_approved_on_another_device(visitor):
    process = visitor.start("login", "api", "ann", "--provider", "device", "--flow", "device")
    visitor.server.approve(line_with(process, "type the code  (.*)$"), visitor.jar)
    assert finished(process) == "ann"
    visitor.use_renew_and_end()


@case
def the_address_is_pasted(visitor):
    process = visitor.start("login", "api", "--provider", "browser", "--flow", "paste")
    pasted = line_with(process, "^ +(http.*)$") + visitor.server.address_suffix
    visitor.server.enter(visitor.jar)
    # Up to the address of this machine, as a browser elsewhere, which does not reach it.
    while "/callback?" not in pasted.split("?")[0] + "?":
        follow = ["curl", "-s", "-c", visitor.jar, "-b", visitor.jar, "-o", os.devnull, "-w", "%{redirect_url}", pasted]
        pasted = subprocess.run(follow, capture_output=True, text=True, check=True, timeout=PATIENCE).stdout
    process.stdin.write(pasted + "\n")
    process.stdin.flush()
    assert finished(process)
    visitor.use_renew_and_end()
