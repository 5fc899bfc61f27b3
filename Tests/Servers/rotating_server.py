"""A server of short tokens: it rotates refresh tokens, and ends the family of one that comes again."""
import http.server
import json
import os
import secrets
import threading
import time
import urllib.parse


# For --exec.
ASK = """#!/bin/sh
case $TOKENKEEP_PURPOSE in
refresh) curl -si -H "X-Process: $PPID" --data-urlencode refresh_token@- {address}/token ;;
revoke) curl -si --data-urlencode token@- {address}/revoke ;;
esac
case $? in 0) ;; 5 | 6 | 7 | 35) exit 75 ;; *) exit 1 ;; esac
"""
# For a refresh: the body of the answer.
ASK_BODY = """#!/bin/sh
exec curl -s --data-urlencode refresh_token@- {address}/token
"""


class Family:
    """The tokens of one sign-in."""

    def __init__(self, overlap):
        self.overlap = overlap  # seconds for which a used refresh token is taken again
        self.used = {}  # refresh token -> when it was first used
        self.ends = {}  # access token -> when it ends
        self.asked_by = []  # the processes that were given tokens
        self.is_revoked = False
        self.refresh_token = None

    def answer(self, now, lifetime):
        access, self.refresh_token = secrets.token_urlsafe(24), secrets.token_urlsafe(24)
        self.ends[access] = now + lifetime
        return {
            "access_token": access, "token_type": "Bearer", "expires_in": lifetime, "refresh_token": self.refresh_token}

    def takes(self, token, now):
        """Whether a refresh token may be used now. A used one ends the family."""
        is_late = token in self.used and now - self.used[token] > self.overlap
        self.is_revoked = self.is_revoked or is_late
        self.used.setdefault(token, now)
        return not self.is_revoked


class RotatingServer:
    """Runs while its `with` block does. The header X-Process of a refresh names the process that asks."""

    def __init__(self, lifetime):
        self.lifetime = lifetime
        self.lock = threading.Lock()
        self.family_of = {}  # any token -> its family
        self.asker_of = {}  # access token -> the process that asked for it; 0 for a sign-in
        self.refreshes = 0
        self.ahead = 0  # by how many seconds the server's clock is ahead of the machine's
        self.outage = None  # the status of every answer while the server is out
        server = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                token = self.headers.get("Authorization", "").removeprefix("Bearer ")
                self.reply(200 if server.left(token) > 0 else 401, {})

            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"])).decode()
                if server.outage:
                    with server.lock:
                        server.refreshes += self.path == "/token"
                    return self.reply(server.outage, "<html>out of service</html>")
                fields = {name: values[0] for name, values in urllib.parse.parse_qs(body).items()}
                if self.path == "/revoke":
                    server.revoke(fields["token"])
                    return self.reply(200, {})
                answer = server.refresh(fields["refresh_token"], int(self.headers.get("X-Process", 0)))
                return self.reply(400 if "error" in answer else 200, answer)

            def reply(self, status, answer):
                body = json.dumps(answer).encode()
                try:
                    self.send_response(status)
                    self.send_header("Content-Length", str(len(body)))
                    self.end_headers()
                    self.wfile.write(body)
                except BrokenPipeError:
                    pass  # the one who asked was killed

            def log_message(self, *_):
                pass

        self.http = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.address = f"http://127.0.0.1:{self.http.server_port}"

    def now(self):
        return time.monotonic() + self.ahead

    def __enter__(self):
        threading.Thread(target=self.http.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_):
        self.http.shutdown()

    def write_scripts(self, directory):
        """The paths of two commands that ask the server: one for --exec, one that writes the body of a refresh alone."""
        paths = []
        for name, text in (("ask", ASK), ("ask-body", ASK_BODY)):
            paths.append(f"{directory}/{name}")
            with open(paths[-1], "w", encoding="utf-8") as file:
                file.write(text.format(address=self.address))
            os.chmod(paths[-1], 0o700)
        return paths

    def _answer(self, family, asker=0):
        answer = family.answer(self.now(), self.lifetime)
        self.asker_of[answer["access_token"]] = asker
        self.family_of[answer["access_token"]] = self.family_of[answer["refresh_token"]] = family
        return answer

    def sign_in(self, overlap=0):
        """A family and its first token response."""
        with self.lock:
            family = Family(overlap)
            return family, self._answer(family)

    def refresh(self, token, process):
        with self.lock:
            self.refreshes += 1
            family = self.family_of.get(token)
            if family is None or not family.takes(token, self.now()):
                return {"error": "invalid_grant"}
            family.asked_by.append(process)
            return self._answer(family, process)

    def revoke(self, token):
        with self.lock:
            if token in self.family_of:
                self.family_of[token].is_revoked = True

    def left(self, token):
        """The seconds for which an access token is accepted; none of a revoked family."""
        with self.lock:
            family = self.family_of.get(token)
            if family is None or family.is_revoked or token not in family.ends:
                return 0
            return family.ends[token] - self.now()

    def end(self, token):
        """When an access token ends, by the server's clock."""
        with self.lock:
            return self.family_of[token].ends[token]
