#!/usr/bin/env python3
"""Signs in with Chromium, and looks at what the browser shows and keeps.

Usage: run.py PROGRAM [--pictures DIRECTORY]

Installs Chromium by apt if root runs it without one. With --pictures it writes the last page as light.png, dark.png and
narrow.png. Without Chromium it says that it skips all cases; with CI=true that is a failure.
"""
import os
import pathlib
import re
import sqlite3
import subprocess
import sys
import tempfile
import traceback

import chromium
from chromium import PATIENCE

HERE = os.path.dirname(os.path.abspath(__file__))
ACCOUNT = "ann.with.a.rather.long.name+" + "x" * 60 + "@example.com"
# Chromium's flag of the last address of a chain of redirects, the only one that its list of visited pages shows.
CHAIN_END = 0x20000000
# WCAG 2.2, 1.4.3: the contrast of each text with the colour behind it.
CONTRAST = """(() => {
    const light = color => {
        const [r, g, b] = color.match(/[\\d.]+/g).map(n => n / 255).map(
            n => n <= 0.04045 ? n / 12.92 : ((n + 0.055) / 1.055) ** 2.4)
        return 0.2126 * r + 0.7152 * g + 0.0722 * b
    }
    const behind = element => {
        const color = getComputedStyle(element).backgroundColor
        return /, 0\\)$/.test(color) ? behind(element.parentElement) : color
    }
    return Math.min(...[...document.querySelectorAll("h1,p,dt,dd")].map(element => {
        const [a, b] = [light(getComputedStyle(element).color), light(behind(element))]
        return (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05)
    }))
})()"""
CASES = []


def case(function):
    CASES.append(function)
    return function


class SignIn:
    """A sign-in by `tokenkeep session login` at the tests' server, whose browser is a Chromium."""

    def __init__(self, program, directory):
        self.program_path, self.directory, self.processes = program, directory, []

    def start(self, settings, account=ACCOUNT):
        """Starts the sign-in with a provider's settings, up to the first page."""
        directory = self.directory
        os.makedirs(f"{directory}/config/tokenkeep/providers.d")
        os.mkdir(f"{directory}/served")
        self.server = subprocess.Popen([sys.executable, f"{HERE}/../Servers/lying_server.py", f"{directory}/served"],
                                       stdout=subprocess.PIPE, text=True)
        self.processes.append(self.server)
        ports = dict(field.split("=") for field in self.server.stdout.readline().split())
        self.address = f"https://127.0.0.1:{ports['https']}"
        with open(f"{directory}/config/tokenkeep/providers.d/example.conf", "w", encoding="utf-8") as file:
            file.write(settings.format(address=self.address) + f"ca_file = {directory}/served/ca.pem\nclient_id = app\n")
        os.mkfifo(f"{directory}/opened")
        with open(f"{directory}/browse", "w", encoding="utf-8") as file:
            file.write(f'#!/bin/sh\necho "$1" >{directory}/opened\n')
        os.chmod(f"{directory}/browse", 0o700)
        environment = {
            "PATH": os.environ["PATH"], "HOME": directory, "XDG_CONFIG_HOME": f"{directory}/config",
            "XDG_CACHE_HOME": f"{directory}/cache", "TOKENKEEP_VAULT": f"{directory}/vault",
            "BROWSER": f"{directory}/browse"}
        self.browser = chromium.Chromium(f"{directory}/profile")
        self.processes.append(self.browser.process)
        self.program = subprocess.Popen(
            [self.program_path, "session", "login", "api.example.com", account, "--any-account", "--provider", "example",
             "--flow", "browser", "--stack", "any required vault"],
            env=environment, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        self.processes.append(self.program)
        with open(f"{directory}/opened", encoding="utf-8") as opened:
            self.browser.call("Page.navigate", url=opened.read().strip())
        return self

    def end(self, title="The answer has arrived"):
        """Waits for the last page, and returns the program's exit code."""
        self.browser.wait_for(f'document.title == "{title}"')
        self.errors = self.program.communicate(timeout=PATIENCE)[1]
        return self.program.returncode

    @property
    def code(self):
        with open(f"{self.directory}/served/requests", encoding="utf-8") as requests:
            return re.search(r"\bcode=(code-[0-9a-f]+)", requests.read()).group(1)

    def listed(self):
        """The addresses to which the page's buttons Back and Forward lead."""
        return [entry["url"] for entry in self.browser.call("Page.getNavigationHistory")["entries"]]

    def visited(self, condition):
        """Addresses in the history of the browser, which is closed."""
        with sqlite3.connect(f"{self.directory}/profile/Default/History") as history:
            return [row[0] for row in history.execute(
                f"SELECT urls.url FROM urls JOIN visits ON visits.url = urls.id WHERE {condition}")]

    def files_with(self, text):
        """The files of the profile that have a text."""
        forms = [text.encode(), text.encode("utf-16-le")]
        files = [path for path in pathlib.Path(f"{self.directory}/profile").rglob("*") if path.is_file()]
        return [str(path) for path in files if any(form in path.read_bytes() for form in forms)]

    def stop(self):
        for process in self.processes:
            process.kill()
            process.wait()


def check_clean(sign_in):
    """The code stands neither in the address bar nor behind the page's buttons."""
    place = sign_in.browser.evaluate("location.href")
    assert re.fullmatch(r"http://127\.0\.0\.1:\d+/", place), place
    assert not any("code" in address for address in sign_in.listed()), sign_in.listed()


@case
def a_server_that_sends_forms_leaves_no_code_in_the_browser(start):
    sign_in = start("issuer = {address}/form\n")
    assert sign_in.end() == 0, sign_in.errors
    check_clean(sign_in)
    sign_in.browser.close()
    assert sign_in.files_with("/start"), "the history is not there"
    assert not sign_in.files_with(sign_in.code), sign_in.files_with(sign_in.code)


@case
def a_server_that_sends_addresses_leaves_a_code_that_the_list_of_visited_pages_does_not_show(start):
    sign_in = start("issuer = {address}\n")
    assert sign_in.end() == 0, sign_in.errors
    check_clean(sign_in)
    sign_in.browser.close()
    code, shown = sign_in.code, sign_in.visited(f"visits.transition & {CHAIN_END}")
    assert shown and not any(code in address for address in shown), shown
    # docs/signing-in.md says so, and what a provider can do.
    assert [address for address in sign_in.visited("1") if code in address]


@case
def the_page_names_all_and_loads_nothing(start):
    sign_in = start("issuer = {address}/form\n")
    assert sign_in.end() == 0, sign_in.errors
    text = sign_in.browser.evaluate("document.querySelector('main').innerText")
    for name in ("tokenkeep", "example", "api.example.com", ACCOUNT):
        assert name in text, text
    elsewhere = [url for url in sign_in.browser.requests()
                 if not url.startswith(("http://127.0.0.1:", sign_in.address, "about:"))]
    assert not elsewhere, elsewhere
    complaints = sign_in.browser.complaints("http://127.0.0.1:")
    assert not complaints, complaints
    assert sign_in.browser.evaluate("performance.getEntriesByType('resource').length") == 0


@case
def the_page_reads_well_in_light_and_dark_and_in_a_narrow_window(start):
    sign_in = start("issuer = {address}/form\n")
    assert sign_in.end() == 0, sign_in.errors
    backgrounds = set()
    for scheme in ("light", "dark"):
        for width in (760, 280):
            sign_in.browser.show(scheme, width)
            backgrounds.add(sign_in.browser.evaluate("getComputedStyle(document.body).backgroundColor"))
            assert sign_in.browser.evaluate(CONTRAST) >= 4.5, (scheme, width, sign_in.browser.evaluate(CONTRAST))
            assert sign_in.browser.evaluate("document.documentElement.scrollWidth <= innerWidth"), (scheme, width)
    assert len(backgrounds) == 2, backgrounds


@case
def a_refusal_says_so(start):
    sign_in = start("authorization_endpoint = {address}/authorize-refused\ntoken_endpoint = {address}/token\n")
    assert sign_in.end("The sign-in did not succeed") != 0
    check_clean(sign_in)


def pictures(start, directory):
    sign_in = start("issuer = {address}/form\n", "ann@example.com")
    sign_in.end()
    for name, scheme, width in (("light", "light", 760), ("dark", "dark", 760), ("narrow", "light", 320)):
        sign_in.browser.show(scheme, width)
        sign_in.browser.picture(f"{directory}/{name}.png")


def play(function, program):
    """Runs a case with a directory of its own."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as directory:
        sign_in = SignIn(program, directory)
        try:
            function(sign_in.start)
        finally:
            sign_in.stop()


def main():
    if len(sys.argv) not in (2, 4):
        sys.exit(__doc__)
    program = os.path.abspath(sys.argv[1])
    try:
        chromium.installed()
    except chromium.Unavailable as reason:
        print(f"skipped: {reason}: {len(CASES)} cases of sign-ins by a browser did not run")
        sys.exit(os.environ.get("CI") == "true")
    if len(sys.argv) == 4:
        play(lambda start: pictures(start, sys.argv[3]), program)
        return
    failed = 0
    for function in CASES:
        name = function.__name__.replace("_", " ")
        try:
            play(function, program)
            print(f"ok   {name}", flush=True)
        except Exception:  # whatever it is, the other cases are played
            failed += 1
            print(f"FAIL {name}\n{traceback.format_exc()}", flush=True)
    print(f"{len(CASES) - failed} passed, {failed} failed")
    sys.exit(failed != 0)


if __name__ == "__main__":
    main()
