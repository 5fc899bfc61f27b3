#!/usr/bin/python3
"""The wheel and the sdist with PyPI's keyring, pip, twine, uv and poetry, against a private index. Usage: packages.py PREFIX

Without PyPI it says "skipped", and fails.
"""
import base64
import contextlib
import glob
import http.server
import os
import re
import subprocess
import sys
import tarfile
import tempfile
import threading
import time
import zipfile

import run as suite

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
PACKAGES = ["keyring==25.7.0", "pip>=25", "twine", "mypy", "build", "poetry"]
TOKEN = "token of the index"
FILES = {
    "__init__", "_constants", "_errors", "_foreign", "_handles", "_http", "_items", "_library", "_login", "_other", "_sessions",
    "_store", "_watch", "keyring"}

# What a type checker must accept, and what it must not.
TYPED = """
import tokenkeep
with tokenkeep.Store(timeout=1.5) as store:
    version: int = store.save("example.com", "ann", b"x", if_absent=True, level=tokenkeep.Level.WHEN_UNLOCKED)
    secret: bytes = store.load("example.com", "ann").secret
    drained: int = store.sync().drained
{}
"""


class Missing(Exception):
    """The machine lacks what the tests need."""


def checked(command, codes=(0,), **options):
    """Runs a command; its output. Shows what it said if its exit code is another one."""
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=600, **options)
    if done.returncode not in codes:
        raise AssertionError(f"{' '.join(command)}: exit {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


class Index(http.server.BaseHTTPRequestHandler):
    """A private index: basic auth for everything. It serves the wheel, and counts uploads."""

    wheel, uploads, refused = "", [], []

    def do_GET(self):
        if not self.is_allowed():
            return
        name = os.path.basename(self.wheel)
        if self.path == "/simple/tokenkeep/":
            self.answer(200, f'<a href="/files/{name}">{name}</a>'.encode(), "text/html")
        elif self.path == f"/files/{name}":
            with open(self.wheel, "rb") as file:
                self.answer(200, file.read())
        else:
            self.answer(404)

    def do_POST(self):
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        if self.is_allowed():
            self.uploads.append(self.path)
            self.answer(200)

    def is_allowed(self):
        wanted = "Basic " + base64.b64encode(f"ann:{TOKEN}".encode()).decode()
        if self.headers.get("Authorization") == wanted:
            return True
        self.refused.append(self.path)
        self.answer(401)
        return False

    def answer(self, status, body=b"", kind="application/octet-stream"):
        self.send_response(status)
        if status == 401:
            self.send_header("WWW-Authenticate", 'Basic realm="index"')
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def log_message(self, *_):
        pass


@contextlib.contextmanager
def index(wheel):
    """Serves the wheel. The address."""
    Index.wheel = wheel
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Index)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()


def install(directory):
    """A virtual environment with the packages of PyPI, beside wheel and sdist of ours."""
    checked(["/usr/bin/python3", "-m", "venv", directory + "/python"])
    python = directory + "/python/bin/python"
    # pip builds in the folder: a copy leaves the tree as it is.
    checked(["cp", "-r", os.path.join(ROOT, "python"), directory + "/source"])
    for command in ([python, "-m", "pip", "install", "-q", "uv"],
                    [directory + "/python/bin/uv", "pip", "install", "-q", "--python", python, *PACKAGES]):
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise Missing(f"PyPI: {(done.stderr or done.stdout).strip().splitlines()[-1]}")
    checked([python, "-m", "build", "--installer", "uv", "--outdir", directory + "/dist", directory + "/source"], env={
        **os.environ, "PATH": f"{directory}/python/bin:{os.environ['PATH']}"})
    (wheel,), (sdist,) = glob.glob(directory + "/dist/*.whl"), glob.glob(directory + "/dist/*.tar.gz")
    checked([python, "-m", "pip", "install", "-q", "--no-deps", wheel])
    return python, wheel, sdist


def check_contents(wheel, sdist):
    """The wheel is pure, and has every module, the mark of typed packages, the entry point and the licence."""
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        entries = archive.read(next(name for name in names if name.endswith("entry_points.txt"))).decode()
    assert wheel.endswith("-py3-none-any.whl"), wheel
    assert {f"tokenkeep/{name}.py" for name in FILES} | {"tokenkeep/py.typed"} == {
        name for name in names if name.startswith("tokenkeep/")}, names
    assert re.search(r"\[keyring\.backends\]\s+tokenkeep = tokenkeep\.keyring", entries), entries
    assert any(name.endswith("LICENSE") for name in names), names
    with tarfile.open(sdist) as archive:
        names = archive.getnames()
    assert any(name.endswith("/tokenkeep/py.typed") for name in names) and any(name.endswith("/LICENSE") for name in names), names


def check_types(tools, directory, environment):
    """A type checker sees the types, and refuses wrong ones."""
    for line, is_right in (("", True), ("store.load(1, 'ann')", False), ("store.save('a', 'b', 'c').secret", False)):
        with open(directory + "/typed.py", "w", encoding="utf-8") as file:
            file.write(TYPED.format(line))
        done = subprocess.run(
            [tools + "mypy", "--strict", directory + "/typed.py"], env=environment, cwd=directory, capture_output=True, text=True,
            check=False)
        assert (done.returncode == 0) == is_right, done.stdout + done.stderr


def check_keyring(tools, environment):
    """The program keyring finds the backend by its entry point, and without the library the next best."""
    assert "tokenkeep.keyring.Keyring (priority: 5.5)" in checked([tools + "keyring", "--list-backends"], env=environment)
    checked([tools + "keyring", "set", "example.com", "ann"], env=environment, input="one\n")
    assert checked([tools + "keyring", "get", "example.com", "ann"], env=environment) == "one\n"
    assert checked([environment["TOKENKEEP_PROGRAM_UNDER_TEST"], "load", "example.com", "ann"], env=environment) == "one"
    checked([tools + "keyring", "del", "example.com", "ann"], env=environment)
    without = {**environment, "LD_LIBRARY_PATH": ""}
    done = subprocess.run([tools + "keyring", "--list-backends"], env=without, capture_output=True, text=True, check=True)
    assert "tokenkeep" not in done.stdout and done.stderr == "", done.stdout + done.stderr


def save(environment, service):
    checked([environment["TOKENKEEP_PROGRAM_UNDER_TEST"], "save", service, "ann"], env=environment, input=TOKEN)


def check_pip(tools, environment, address):
    save(environment, f"http://{address}/simple/")
    checked([tools + "pip", "download", "--no-deps", "--no-cache-dir", "--index-url", f"http://{address}/simple/", "--keyring-provider",
             "import", "--dest", environment["HOME"], "tokenkeep"], env=environment)


def check_twine(tools, environment, address, wheel):
    save(environment, f"http://{address}/legacy/")
    checked([tools + "twine", "upload", "--non-interactive", "--disable-progress-bar", "--repository-url", f"http://{address}/legacy/",
             wheel], env=environment)
    assert Index.uploads == ["/legacy/"], Index.uploads


def check_uv(tools, environment, address):
    save(environment, f"http://{address}/simple/tokenkeep/")
    save(environment, address)
    checked([tools + "uv", "pip", "install", "--no-cache", "--no-deps", "--target", environment["HOME"] + "/target", "--default-index",
             f"http://ann@{address}/simple/", "--keyring-provider", "subprocess", "tokenkeep"], env=environment)
    assert os.path.exists(environment["HOME"] + "/target/tokenkeep/py.typed")


PROJECT = """
[project]
name = "project"
version = "0.1"
requires-python = ">=3.9"
[tool.poetry]
package-mode = false
[[tool.poetry.source]]
name = "private"
url = "{}"
priority = "primary"
"""


def check_poetry(tools, environment, address):
    """poetry keeps the index's password in the vault, finds it, and does not hang when the vault is locked."""
    project = environment["HOME"] + "/project"
    os.mkdir(project)
    with open(project + "/pyproject.toml", "w", encoding="utf-8") as file:
        file.write(PROJECT.format(f"http://{address}/simple/"))
    program, environment = environment["TOKENKEEP_PROGRAM_UNDER_TEST"], {
        **environment, "POETRY_VIRTUALENVS_IN_PROJECT": "true", "POETRY_CACHE_DIR": project + "/cache"}
    poetry = [tools + "poetry", "--no-interaction", "--no-ansi", "-C", project]
    checked([*poetry, "config", "http-basic.private", "ann", TOKEN], env=environment)
    assert checked([program, "load", "poetry-repository-private", "ann"], env=environment) == TOKEN
    kept = checked(["grep", "-rFl", "--exclude-dir=vault", TOKEN, environment["HOME"]], codes=(0, 1), env=environment)
    assert kept == "", kept
    checked([*poetry, "add", "tokenkeep"], env=environment)
    assert glob.glob(project + "/.venv/lib/python*/site-packages/tokenkeep/py.typed")
    checked([program, "password", "set", "--stdin"], env=environment, input="the vault's password\n")
    checked([program, "lock"], env=environment)
    checked([*poetry, "cache", "clear", "--all", "private"], env=environment)
    done = subprocess.run([*poetry, "lock", "--regenerate"], env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          check=False, timeout=600)
    said = done.stdout + done.stderr
    assert done.returncode != 0 and "the vault is locked; unlock it: tokenkeep unlock" in said and TOKEN not in said, said


def main():
    prefix, failed = os.path.realpath(sys.argv[1]), 0
    with tempfile.TemporaryDirectory() as directory:
        try:
            began = time.monotonic()
            python, wheel, sdist = install(directory)
            print(f"ok   install ({time.monotonic() - began:.1f} s)", flush=True)
        except Missing as missing:
            print(f"skipped packages: {missing}")
            return 1
        tools, home = directory + "/python/bin/", directory + "/home"
        os.mkdir(home)
        environment = {**suite.environment(prefix, home), "PATH": tools + os.pathsep + os.environ["PATH"], "PYTHONPATH": ""}
        os.makedirs(home + "/tokenkeep/stack.d")
        with open(home + "/tokenkeep/stack.d/default.conf", "w", encoding="utf-8") as file:
            file.write("any required vault\n")
        tested = subprocess.run(
            [python, os.path.join(HERE, "run.py"), "--here", "test_keyring"], env=suite.environment(prefix, directory), check=False)
        with index(wheel) as address:
            for check, arguments in (
                    (check_contents, (wheel, sdist)), (check_types, (tools, directory, environment)), (check_keyring, (tools, environment)),
                    (check_pip, (tools, environment, address)), (check_twine, (tools, environment, address, wheel)),
                    (check_uv, (tools, environment, address)), (check_poetry, (tools, environment, address))):
                began = time.monotonic()
                try:
                    check(*arguments)
                    print(f"ok   {check.__name__} ({time.monotonic() - began:.1f} s)", flush=True)
                except AssertionError as error:
                    failed += 1
                    print(f"FAIL {check.__name__}\n{error}", flush=True)
    return 1 if failed or tested.returncode else 0


if __name__ == "__main__":
    sys.exit(main())
