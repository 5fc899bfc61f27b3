#!/usr/bin/env python3
"""A module that keeps items in the password store of passwordstore.org, through the program pass.

    # operation   control       module    arguments
    any           sufficient    pass.py   prefix=tokens env=PASSWORD_STORE_DIR env=GNUPGHOME env=GPG_TTY env=DISPLAY

An item is the entry PREFIX/NAMESPACE/SERVICE/ACCOUNT; the prefix is "tokenkeep" unless the line says another, and an empty
namespace or account is a %. Its first line is the secret, so that `pass tokenkeep/%/example.com/ann` prints it, and the
lines below are "key: value". A secret that is no line of text stands there in base64.

Whether gpg may ask for a passphrase is the caller's word (prompt=yes); otherwise a locked key is LOCKED. gpg's own
pinentry asks: it needs GPG_TTY (GPG_TTY=$(tty) in the shell's profile) or a display.
It stays for the next request: starting Python takes longer than most of what it does.
"""

import base64
import os
import subprocess
import sys
import time
import urllib.parse

LONGEST = 200  # of a file's name: some file systems take no more than 255 bytes with what pass adds
METADATA = ("label", "accessibility", "flags", "created_at", "modified_at", "expires_at")
TEXTS = ("namespace", "service", "account", "label", "argument", "secret+")


class Failure(Exception):
    """A status that is not ok, and why."""

    def __init__(self, status, message=""):
        super().__init__(message)
        self.status = status
        self.message = message


class Request:
    """What is asked, as the lines say it: texts are bytes, repeated keys are lists."""

    def __init__(self, stream):
        self.fields = {}
        for line in iter(stream.readline, b"\n"):
            if not line.endswith(b"\n"):
                # The caller has gone in the midst of it: half a secret must not take the place of a whole one.
                raise EOFError
            key, _, value = line.rstrip(b"\n").partition(b"=")
            key = key.decode("ascii")
            if key in TEXTS or key.startswith("attribute."):
                value = base64.b64decode(value, validate=True)
            self.fields.setdefault(key, []).append(value)
        self.end = time.monotonic() + int(self.word("timeout_ms", b"5000")) / 1000

    def word(self, key, default=b""):
        return self.fields.get(key, [default])[0]

    def text(self, key):
        return self.word(key).decode("utf-8")


# ---- Names: what a file cannot be called is percent-encoded, what is too long is divided ----


def encoded(part):
    """A part of a name as the name of a file, or of directories and a file."""
    text = urllib.parse.quote(part, safe=" @+=,:()").replace("~", "%7E")
    pieces = [text[at : at + LONGEST] for at in range(0, len(text), LONGEST)] or ["%"]
    # A piece may be "..", or the name of a file that is pass's own.
    return "~/".join(piece.replace(".", "%2E", piece.startswith(".")) for piece in pieces)


def decoded(text):
    return "" if text == "%" else urllib.parse.unquote(text)


class PasswordStore:
    """The store of one request."""

    def __init__(self, request):
        self.request = request
        self.root = os.environ.get("PASSWORD_STORE_DIR") or os.path.expanduser("~/.password-store")
        self.prefix = "tokenkeep"
        for argument in request.fields.get("argument", []):
            key, _, value = argument.decode("utf-8").partition("=")
            if key != "prefix" or not value or value.startswith((".", "/")) or "/." in value:
                raise Failure("invalid", "the module takes prefix=NAME and env=, and nothing else")
            self.prefix = value
        if not os.path.isfile(os.path.join(self.root, ".gpg-id")):
            raise Failure("unavailable", f"there is no password store in {self.root}; pass init makes one")

    def entry(self):
        names = [self.request.text(key) for key in ("namespace", "service", "account")]
        return "/".join([self.prefix, *map(encoded, names)])

    def exists(self, entry):
        return os.path.isfile(os.path.join(self.root, entry + ".gpg"))

    def run(self, *arguments, given=b""):
        # gpg says in words alone why it fails: they must be those that are looked for.
        environment = {**os.environ, "LC_ALL": "C.UTF-8"}
        if self.request.word("prompt") != b"yes":
            environment["PASSWORD_STORE_GPG_OPTS"] = "--pinentry-mode error"
        left = self.request.end - time.monotonic()
        try:
            done = subprocess.run(
                ["pass", *arguments], input=given, capture_output=True, env=environment, timeout=max(left, 0.001)
            )
        except subprocess.TimeoutExpired:
            raise Failure("timed_out", "pass did not answer in time") from None
        except FileNotFoundError:
            raise Failure("unavailable", "the program pass is not installed") from None
        if done.returncode != 0:
            words = done.stderr.decode("utf-8", "replace").lower()
            if "no secret key" in words:
                # gpg says the same of a key that is not there and of one for which it may not ask.
                if self.has_key(environment):
                    raise Failure("locked", "gpg must ask for the key's passphrase")
                raise Failure("denied", "gpg has not the key of the password store")
            if "operation cancelled" in words:
                raise Failure("cancelled", "the passphrase was not given")
            raise Failure("io", f"pass {arguments[0]} failed with exit status {done.returncode}")
        return done.stdout

    def has_key(self, environment):
        with open(os.path.join(self.root, ".gpg-id"), encoding="utf-8") as file:
            keys = file.read().split()
        listed = subprocess.run(
            ["gpg", "--batch", "--list-secret-keys", *keys], capture_output=True, env=environment, timeout=5
        )
        return listed.returncode == 0

    def read(self, entry):
        """The entry's secret and the lines below it."""
        if not self.exists(entry):
            raise Failure("not_found")
        first, _, rest = self.run("show", entry).partition(b"\n")
        lines = [line.partition(": ") for line in rest.decode("utf-8", "replace").split("\n")]
        fields = {key: value for key, separator, value in lines if separator}
        if fields.get("tokenkeep-encoding") == "base64":
            first = base64.b64decode(first, validate=True)
        return first, fields


def is_line(secret):
    try:
        return secret.decode("utf-8").isprintable() and secret != b""
    except UnicodeDecodeError:
        return False


# ---- Operations: each returns the lines of its answer ----


def base64_lines(key, value):
    size = 45000  # 60 000 characters: a line has at most 64 KiB
    pieces = [value[at : at + size] for at in range(0, len(value), size)] or [b""]
    return [f"{key}={base64.b64encode(piece).decode('ascii')}" for piece in pieces]


def metadata_lines(fields):
    lines = []
    for key, value in fields.items():
        if key in METADATA[1:] and value.isdigit():
            lines.append(f"{key}={value}")
        elif key == "label" or key.startswith("attribute."):
            lines += base64_lines(key, value.encode("utf-8"))
    return lines


def load(store):
    secret, fields = store.read(store.entry())
    return base64_lines("secret+", secret) + metadata_lines(fields)


def save(store):
    request = store.request
    secret = b"".join(request.fields.get("secret+", []))
    lines = [secret if is_line(secret) else base64.b64encode(secret)]
    if not is_line(secret):
        lines.append(b"tokenkeep-encoding: base64")
    for key, values in request.fields.items():
        if key in METADATA or key.startswith("attribute."):
            lines.append(key.encode("ascii") + b": " + values[0])
    store.run("insert", "--multiline", "--force", store.entry(), given=b"\n".join(lines) + b"\n")
    return []


def clear(store):
    entry = store.entry()
    if not store.exists(entry):
        raise Failure("not_found")
    store.run("rm", "--force", entry)
    return []


def list_items(store):
    """By the names alone: no entry is decrypted for a list."""
    top = os.path.join(store.root, store.prefix)
    lines = []
    for directory, _, files in os.walk(top):
        for name in files:
            path = os.path.relpath(os.path.join(directory, name), top)
            parts = path[: -len(".gpg")].replace("~/", "").split("/")
            if not name.endswith(".gpg") or len(parts) != 3:
                continue
            names = dict(zip(("namespace", "service", "account"), map(decoded, parts)))
            if names["namespace"] != store.request.text("namespace"):
                continue
            if "service" in store.request.fields and names["service"] != store.request.text("service"):
                continue
            lines.append("item=")
            for key, value in names.items():
                lines += base64_lines(key, value.encode("utf-8"))
    return lines


def report(store):
    place = f"the password store {store.root}, below {store.prefix}"
    return base64_lines("note", place.encode("utf-8")) + [
        "capability=keeps-metadata",
        "capability=saves",
        "capability=lists",
        "capability=enforces-other-user",
    ]


OPERATIONS = {"load": load, "save": save, "clear": clear, "list": list_items, "report": report}


def answered(request):
    try:
        operation = OPERATIONS.get(request.text("operation"))
        if operation is None:
            raise Failure("unsupported", "the module has no such operation")
        return ["status=ok", *operation(PasswordStore(request))]
    except Failure as failure:
        return [f"status={failure.status}"] + base64_lines("message", failure.message.encode("utf-8"))
    except (ValueError, OSError, subprocess.SubprocessError) as problem:
        # Never the problem's own words: they may quote what was read.
        return ["status=io"] + base64_lines("message", f"pass.py: {type(problem).__name__}".encode("utf-8"))


def main():
    while True:
        try:
            request = Request(sys.stdin.buffer)
        except EOFError:
            return
        if "tokenkeep" not in request.fields:
            return
        lines = ["tokenkeep=1", "keep=yes", *answered(request), "", ""]
        sys.stdout.write("\n".join(lines))
        sys.stdout.flush()


if __name__ == "__main__":
    main()
