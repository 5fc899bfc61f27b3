"""What the tests of the fleet share: etcd in private directories, and devices as homes with vaults of their own."""
import base64
import contextlib
import http.client
import http.server
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
import urllib.error
import urllib.request

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "Support"))
sys.path.insert(0, os.path.join(HERE, "..", "Servers"))
import tests_clock  # noqa: E402: their folders must be on the path first
from listening import free_ports  # noqa: E402
from patience import PATIENCE, stop_process, wait_until  # noqa: E402

STACK = ["--stack", "any required vault"]
# What such a command starts ends with the thread that started it, also if the tests are killed.
ENDING = ["setpriv", "--pdeathsig", "KILL"]
# Of a call of etcdctl that is repeated until a member answers.
SHORT = ("--command-timeout", "5s")


def openssl(*arguments):
    subprocess.run(["openssl", *arguments], check=True, capture_output=True)


class Authority:
    """A certificate authority in a directory, and what it signs."""

    def __init__(self, directory):
        self.directory = directory
        os.makedirs(directory, exist_ok=True)
        self.file = f"{directory}/ca.pem"
        openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "30",
                "-subj", "/O=fleet test", "-keyout", f"{directory}/ca.key", "-out", self.file,
                "-addext", "basicConstraints=critical,CA:TRUE", "-addext", "keyUsage=critical,keyCertSign")

    def sign(self, name, subject, days="30", names="IP:127.0.0.1"):
        """The paths of a certificate and its key. A server's is also its gateway's, which is a client."""
        path = f"{self.directory}/{name}"
        openssl("req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-subj", subject,
                "-keyout", f"{path}.key", "-out", f"{path}.csr")
        with open(f"{path}.ext", "w", encoding="utf-8") as file:
            file.write(f"subjectAltName={names}\nextendedKeyUsage=serverAuth,clientAuth\n")
        openssl("x509", "-req", "-in", f"{path}.csr", "-CA", self.file, "-CAkey", f"{self.directory}/ca.key",
                "-CAcreateserial", "-days", days, "-extfile", f"{path}.ext", "-out", f"{path}.pem")
        return f"{path}.pem", f"{path}.key"


class Etcd:
    """One member in a directory of its own."""

    def __init__(self, directory, authority=None, options=(), wants_certificate=False):
        self.directory, self.authority, self.options = directory, authority, list(options)
        self.wants_certificate = wants_certificate
        self.process = None
        os.makedirs(directory, exist_ok=True)
        if authority:
            self.certificate = authority.sign("server", "/O=fleet test")
            self.client_certificate = authority.sign("ctl", "/O=fleet test")
        self.choose_ports()

    def choose_ports(self):
        # Port 0 breaks etcd's gateway, which dials the address as it is written.
        self.port, self.peer_port = free_ports(2)
        scheme = "https" if self.authority else "http"
        self.url = f"{scheme}://127.0.0.1:{self.port}"

    def start(self):
        self.launch()
        wait_until(self.is_there, "etcd")
        return self

    def launch(self):
        """Starts the member, and does not wait for it."""
        command = [
            *ENDING, "etcd", "--data-dir", f"{self.directory}/data", "--listen-client-urls", self.url,
            "--advertise-client-urls", self.url, "--listen-peer-urls", f"http://127.0.0.1:{self.peer_port}",
            "--initial-advertise-peer-urls", f"http://127.0.0.1:{self.peer_port}",
            "--initial-cluster", f"default=http://127.0.0.1:{self.peer_port}", "--logger", "zap", *self.options]
        if self.authority:
            command += ["--cert-file", self.certificate[0], "--key-file", self.certificate[1]]
        if self.wants_certificate:
            command += ["--client-cert-auth", "--trusted-ca-file", self.authority.file]
        with open(f"{self.directory}/log", "ab") as log:
            self.process = subprocess.Popen(command, stdout=log, stderr=log, env={"PATH": os.environ["PATH"]})

    def is_there(self):
        assert self.process.poll() is None, self.log()[-2000:]
        return self.ctl(*SHORT, "endpoint", "health", check=False).returncode == 0 or "auth: user name is empty" in self.log()

    def log(self):
        with open(f"{self.directory}/log", encoding="utf-8") as file:
            return file.read()

    def restart(self, number=signal.SIGKILL):
        """Ends the member and starts it anew. The tokens of etcd's users end with it."""
        starts = self.log().count("serving client traffic")
        self.kill(number)
        self.launch()
        wait_until(lambda: self.log().count("serving client traffic") > starts, "etcd")

    def kill(self, number=signal.SIGKILL):
        self.process.send_signal(number)
        self.process.wait()

    def freeze(self):
        stop_process(self.process.pid)

    def thaw(self):
        self.process.send_signal(signal.SIGCONT)

    def stop(self):
        if self.process and self.process.poll() is None:
            self.process.send_signal(signal.SIGCONT)
            self.kill()

    def ctl(self, *arguments, user=None, check=True):
        # The limit is 5 s unless it is given, and a busy machine misses it.
        command = ["etcdctl", "--endpoints", self.url, "--command-timeout", f"{PATIENCE}s", *arguments]
        if self.authority:
            certificate = self.client_certificate if self.wants_certificate else None
            command[1:1] = ["--cacert", self.authority.file]
            if certificate:
                command[1:1] = ["--cert", certificate[0], "--key", certificate[1]]
        if user:
            command += ["--user", user]
        return subprocess.run(command, check=check, capture_output=True, env={"PATH": os.environ["PATH"], "ETCDCTL_API": "3"})

    def keys(self, prefix="", user=None):
        """The keys with their values, as etcd has them."""
        found = json.loads(self.ctl("get", prefix, "--prefix", "-w", "json", user=user).stdout)
        return {
            base64.b64decode(entry["key"]).decode(): base64.b64decode(entry.get("value", ""))
            for entry in found.get("kvs", [])}

    def put(self, key, value):
        """Writes a value of any bytes, as who runs etcd can."""
        body = json.dumps({"key": base64.b64encode(key.encode()).decode(), "value": base64.b64encode(value).decode()})
        self.post("/v3/kv/put", body)

    def post(self, path, body, headers=None):
        import ssl
        context = ssl.create_default_context(cafile=self.authority.file) if self.authority else None
        request = urllib.request.Request(self.url + path, body.encode(), headers or {})
        try:
            with urllib.request.urlopen(request, timeout=PATIENCE, context=context) as answer:
                return answer.status, json.load(answer)
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode()


class Cluster:
    """Three members."""

    def __init__(self, place, authority=None):
        self.members = [Etcd(f"{place.registry}/member{number}", authority) for number in range(3)]
        place.members += self.members
        peers = ",".join(f"m{number}=http://127.0.0.1:{one.peer_port}" for number, one in enumerate(self.members))
        for number, one in enumerate(self.members):
            one.options += ["--name", f"m{number}", "--initial-cluster", peers]
            one.launch()
        for one in self.members:
            wait_until(one.is_there, "a member")

    def leader(self):
        """The leader, as the members that answer have it."""
        for one in self.members:
            answer = one.ctl(*SHORT, "endpoint", "status", "-w", "json", check=False)
            found = json.loads(answer.stdout or "[]")
            if found and found[0]["Status"].get("leader") == found[0]["Status"]["header"]["member_id"]:
                return one
        return None

    def followers(self):
        leader = wait_until(self.leader, "a leader")
        return [one for one in self.members if one is not leader]


class Tunnel:
    """Passes connections on to a port, until it falls silent: then those that are open hang, as after a suspension, and new
    ones are passed on as before."""

    def __init__(self, port, silent_after=None):
        """`silent_after`: answers of the first connection, after which it falls silent."""
        self.target, self.silent_after = port, silent_after
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.count, self.age, self.open, self.threads = 0, 0, [], []
        self.begin(self.accept)

    def begin(self, target, *arguments):
        self.threads.append(threading.Thread(target=target, args=arguments, daemon=True))
        self.threads[-1].start()

    def accept(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            self.count += 1
            server = socket.create_connection(("127.0.0.1", self.target))
            self.open += [client, server]
            state = {"age": self.age, "answers": self.silent_after if self.count == 1 else None, "was_answer": False}
            self.begin(self.copy, client, server, state, False)
            self.begin(self.copy, server, client, state, True)

    def copy(self, source, target, state, is_answer):
        try:
            while data := source.recv(65536):
                if state["age"] != self.age or self.is_over(state, is_answer):
                    continue
                target.sendall(data)
                self.passed(data)
        except OSError:
            pass  # the other direction has ended both
        self.end(source, target)

    @staticmethod
    def end(*sockets):
        """Ends connections. Their descriptors stay: a thread that still reads one would read another connection's bytes."""
        for one in sockets:
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)

    @staticmethod
    def is_over(state, is_answer):
        # A client that speaks again has the whole answer before.
        if state["was_answer"] and not is_answer and state["answers"]:
            state["answers"] -= 1
        state["was_answer"] = is_answer
        return state["answers"] == 0

    def passed(self, data):
        """Called with the bytes that were passed on."""

    def fall_silent(self):
        self.age += 1

    def close(self):
        self.end(self.listener, *self.open)
        for one in self.threads:
            one.join(PATIENCE)
        for one in [self.listener, *self.open]:
            one.close()


class WebServer:
    """A server whose `respond` answers each request, a handler of http.server, with its body."""

    def __init__(self):
        server = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self):
                server.respond(self, self.rfile.read(int(self.headers.get("Content-Length", 0))))

            do_POST = do_GET

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def close(self):
        self.server.shutdown()
        self.server.server_close()


class Refusal(Exception):
    """An answer of etcd's that a hook of a relay gives in the place of the real one."""

    def __init__(self, status, message):
        super().__init__(message)
        self.status, self.content = status, json.dumps({"error": message, "message": message, "code": 14}).encode()


class Relay(WebServer):
    """An endpoint that passes requests on, one by one, and calls `hook(number, path, is_answered)` before and after each.
    A hook that raises ConnectionResetError loses the request, or the answer; a Refusal is answered."""

    def __init__(self, etcd, hook):
        self.etcd, self.hook, self.count, self.lock = etcd, hook, 0, threading.Lock()
        super().__init__()

    def respond(self, request, body):
        with self.lock:
            self.count += 1
            number = self.count
        try:
            self.hook(number, request.path, False)
            call = http.client.HTTPConnection("127.0.0.1", self.etcd.port, timeout=PATIENCE)
            token = request.headers.get("Authorization")
            call.request(request.command, request.path, body or None, {"Authorization": token} if token else {})
            answer = call.getresponse()
            status, content = answer.status, answer.read()
            self.hook(number, request.path, True)
        except OSError:
            request.close_connection = True
            return
        except Refusal as refusal:
            status, content = refusal.status, refusal.content
        request.send_response(status)
        request.send_header("Content-Length", str(len(content)))
        request.end_headers()
        request.wfile.write(content)


class Device:
    """A home with a vault, which is a device of a fleet."""

    def __init__(self, program, directory, name):
        self.program, self.home, self.name = program, f"{directory}/{name}", name
        os.makedirs(self.home, exist_ok=True)
        self.environment = {
            "PATH": os.environ["PATH"], "HOME": self.home, "TOKENKEEP_VAULT": f"{self.home}/vault", **tests_clock.environment(),
            "XDG_CONFIG_HOME": f"{self.home}/config", "XDG_STATE_HOME": f"{self.home}/state", "LC_ALL": "C.UTF-8"}
        self.runner = None

    def run(self, *arguments, given=None, check=0, stack=True):
        """Runs a command. `check`: the exit code that it must have; None for any."""
        command = [self.program, *arguments, *(STACK if stack else [])]
        done = subprocess.run(
            command, input=given, capture_output=True, text=True, env=self.environment, timeout=PATIENCE)
        assert check is None or done.returncode == check, (
            f"{self.name}: {' '.join(arguments)}: {done.returncode}\n{done.stdout}{done.stderr}")
        return done

    def fleet(self, *arguments, given=None, check=0):
        return self.run("fleet", *arguments, given=given, check=check)

    def use(self, *endpoints):
        """Writes other endpoints into the fleet's file."""
        path = f"{self.home}/config/tokenkeep/fleet.d/home.conf"
        with open(path, encoding="utf-8") as file:
            lines = [line for line in file if not line.startswith("endpoint")]
        with open(path, "w", encoding="utf-8") as file:
            file.writelines([f"endpoint = {one}\n" for one in endpoints] + lines)

    def init(self, etcd, *options, given=None):
        authority = ["--ca", etcd.authority.file] if etcd.authority else []
        return self.fleet(
            "init", "home", "--endpoint", etcd.url, *authority, "--name", self.name, "--person", "ann", *options, given=given)

    def join(self, inviter):
        invitation = inviter.fleet("invite")
        return self.join_by(invitation)

    def join_by(self, invitation):
        words = invitation.stderr.strip().splitlines()[-1]
        return self.fleet("join", "--name", self.name, given=f"{invitation.stdout.strip()}\n{words}\n")

    def sign_in(self, server, account="ann", service="api.example.com", **members):
        """Signs in. Returns the family of the tokens at the server."""
        family, response = server.sign_in()
        response.update(members)
        self.run("session", "begin", service, account, "--provider", "rotating", given=json.dumps(response))
        return family

    def provider(self, server):
        """The file of the provider at a server on this machine."""
        directory = f"{self.home}/config/tokenkeep/providers.d"
        os.makedirs(directory, exist_ok=True)
        with open(f"{directory}/rotating.conf", "w", encoding="utf-8") as file:
            file.write(
                f"token_endpoint = {server.address}/token\nrevocation_endpoint = {server.address}/revoke\n"
                "client_id = app\nsessions_page = https://id.example.com/sessions\n")

    def start(self):
        """Runs the fleet until `stop`."""
        self.log = open(f"{self.home}/run.log", "ab")
        self.runner = subprocess.Popen(
            [*ENDING, self.program, "fleet", "run", *STACK], env=self.environment, stdout=self.log, stderr=self.log)
        return self

    def stop(self, number=signal.SIGTERM):
        if self.runner and self.runner.poll() is None:
            self.runner.send_signal(signal.SIGCONT)
            self.runner.send_signal(number)
            self.runner.wait()
        self.runner = None

    def said(self):
        with open(f"{self.home}/run.log", encoding="utf-8") as file:
            return file.read()

    def sessions(self, *arguments, **options):
        """The list: {(device name, service, account): session}."""
        listing = json.loads(self.fleet("list", "--json", *arguments, **options).stdout)
        return {(one["device_name"], one["service"], one["account"]): one for one in listing["sessions"]}

    def state(self, account="ann", service="api.example.com"):
        shown = json.loads(self.run("session", "show", service, account, "--json").stdout)
        return shown["state"], shown["reason"]


class Place:
    """A directory for a test, whose processes end with it."""

    def __init__(self, program, directory, registry=None):
        """`registry`: the directory for etcd's members; `directory` for None."""
        self.program, self.directory = program, directory
        self.registry = registry or directory
        self.members, self.devices = [], []
        shutil.rmtree(directory, ignore_errors=True)
        os.makedirs(directory)

    def etcd(self, **options):
        member = Etcd(f"{self.registry}/etcd{len(self.members)}", **options)
        self.members.append(member)
        return member.start()

    def device(self, name, server=None):
        device = Device(self.program, self.directory, name)
        self.devices.append(device)
        if server:
            device.provider(server)
        return device

    def cluster(self, authority=None):
        return Cluster(self, authority)

    def authority(self):
        return Authority(f"{self.directory}/authority")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for device in self.devices:
            device.stop()
        for member in self.members:
            member.stop()
