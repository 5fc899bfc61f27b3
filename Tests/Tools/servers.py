"""Small servers that ask for a password or a token: git's repositories, a container registry, a registry of crates."""
import base64
import http.server
import json
import os
import subprocess
import threading
import urllib.parse


class Server:
    """Runs while its `with` block does. `requests` are the lines METHOD PATH of what came with a right password."""

    def __init__(self, handler):
        self.passwords = {}
        self.tokens = set()
        self.requests = []
        self.refused = []
        server = self

        class Handler(handler):
            protocol_version = "HTTP/1.1"
            state = server

            def log_message(self, *_):
                pass

        self.http = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.http.daemon_threads = True
        self.port = self.http.server_port
        self.address = f"http://127.0.0.1:{self.port}"

    def __enter__(self):
        threading.Thread(target=self.http.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_):
        self.http.shutdown()
        self.http.server_close()

    def takes(self, authorization):
        kind, _, value = (authorization or "").partition(" ")
        if kind == "Basic":
            user, _, password = base64.b64decode(value).decode().partition(":")
            return self.passwords.get(user) == password
        return (value if kind == "Bearer" else kind) in self.tokens


class Handler(http.server.BaseHTTPRequestHandler):
    """Answers requests with a right password by `answer`, which subclasses have."""

    challenge = 'Basic realm="test"'

    def handle_request(self):
        length = int(self.headers.get("Content-Length") or 0)
        self.body = self.rfile.read(length) if self.headers.get("Transfer-Encoding") != "chunked" else self.chunks()
        if self.path == "/token":
            return self.renew()
        authorization = self.headers.get("Authorization")
        if not self.state.takes(authorization):
            if authorization:
                self.state.refused.append(self.path)
            return self.reply(401, b"{}", {"WWW-Authenticate": self.challenge})
        self.state.requests.append(f"{self.command} {self.path}")
        return self.answer()

    do_GET = do_POST = do_PUT = do_DELETE = do_HEAD = handle_request

    def chunks(self):
        body = b""
        while size := int(self.rfile.readline(), 16):
            body += self.rfile.read(size)
            self.rfile.readline()
        self.rfile.readline()
        return body

    def renew(self):
        """A token endpoint: each refresh token gives the next access token, which the account ann has as its password."""
        number = int(urllib.parse.parse_qs(self.body.decode())["refresh_token"][0].rpartition("-")[2]) + 1
        self.state.passwords["ann"] = f"access-{number}"
        self.state.requests.append("renewed")
        answer = {"access_token": f"access-{number}", "refresh_token": f"refresh-{number}", "expires_in": 3600}
        self.reply(200, json.dumps({**answer, "token_type": "Bearer"}).encode())

    def reply(self, status, body, headers=None):
        self.send_response(status)
        for name, value in {"Content-Type": "application/json", **(headers or {})}.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)


def git_server(folder):
    """The repositories below a folder, by git http-backend."""

    class Git(Handler):
        def answer(self):
            path, _, query = self.path.partition("?")
            environment = {
                "PATH": os.environ["PATH"], "GIT_PROJECT_ROOT": folder, "GIT_HTTP_EXPORT_ALL": "1", "PATH_INFO": path,
                "QUERY_STRING": query, "REQUEST_METHOD": self.command, "REMOTE_USER": "user", "HOME": folder,
                "CONTENT_TYPE": self.headers.get("Content-Type", ""), "CONTENT_LENGTH": str(len(self.body)),
                "HTTP_CONTENT_ENCODING": self.headers.get("Content-Encoding", ""),
                "GIT_PROTOCOL": self.headers.get("Git-Protocol", "")}
            output = subprocess.run(["git", "http-backend"], input=self.body, env=environment, capture_output=True,
                                    check=True).stdout
            head, _, body = output.partition(b"\r\n\r\n")
            headers = dict(line.split(": ", 1) for line in head.decode().split("\r\n"))
            self.reply(int(headers.pop("Status", "200").split()[0]), body, headers)

    return Server(Git)


def container_registry():
    """A registry that can be signed in to, and has nothing."""

    class Registry(Handler):
        def answer(self):
            self.reply(200, b"{}", {"Docker-Distribution-Api-Version": "registry/2.0"})

    return Server(Registry)


def crate_registry():
    """A registry of crates that asks for a token also for its index."""

    class Registry(Handler):
        challenge = "Cargo"

        def answer(self):
            if self.path.endswith("/config.json"):
                config = {"dl": f"{self.state.address}/dl", "api": self.state.address, "auth-required": True}
                return self.reply(200, json.dumps(config).encode())
            return self.reply(200, b'{"ok":true}')

    return Server(Registry)
