"""A registry, or a machine between, that lies: answers that break off, watches that are none, values that are huge."""
import contextlib
import json
import shutil
import socket
import subprocess
import threading

from fleet_parts import STACK, Relay, Tunnel, WebServer, wait_until
from patience import let_pass
from t_faults import KEY, fill, values
from t_orders import SIGN_OUT, Writer
from t_sign_out import three

HUGE = b"x" * 1_000_000


def test_huge_values_hide_no_other_and_stand_in_no_orders_way(place, server):
    etcd, (desk, laptop, _), _ = three(place, server)
    desk.fleet(*SIGN_OUT, "--device", "laptop")
    (path, _), = values(etcd, "orders").items()
    writer = Writer(etcd, laptop)
    # In the place of an order and of its result; more beside them than one answer holds.
    for huge in (path, f"{writer.user}/results/{path.split('/')[-1]}", *(f"{path[:-4]}{number:04x}" for number in range(5))):
        etcd.put(huge, HUGE if huge != path else HUGE[:5000])
    assert len(desk.sessions()) == 3
    desk.fleet(*SIGN_OUT, "--device", "laptop")
    assert len(values(etcd, "orders")[path]) < 4096
    assert "it is not obeyed" in laptop.fleet("run", "--once").stderr
    assert laptop.state() == ("signed-out", "remote")
    assert "5 values of the registry cannot be opened" in desk.fleet("list").stderr


def broken(answer):
    """The ways in which an answer can break off."""
    length = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(answer)
    chunked = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n%x\r\n" % len(answer)
    return {
        "in the status": b"HTTP/1.1 20", "in a header": b"HTTP/1.1 200 OK\r\nContent-Le", "after the headers": length,
        "in the body": length + answer[:len(answer) // 2], "before its last byte": length + answer[:-1],
        "in a chunk": chunked + answer[:len(answer) // 2], "before the last chunk": chunked + answer + b"\r\n"}


def test_an_answer_that_breaks_off_is_none(place, server):
    etcd, (desk, _, _), _ = three(place, server)
    answer = json.dumps({"header": {"cluster_id": "1", "revision": "5"}}).encode()
    with socket.create_server(("127.0.0.1", 0)) as listener:
        url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        sent = []

        def serve():
            while True:
                try:
                    client, _ = listener.accept()
                except OSError:
                    return
                with client:
                    client.recv(65536)
                    client.sendall(sent[0])
                    # The client gets all of it before the end.
                    client.shutdown(socket.SHUT_WR)
                    client.recv(65536)

        threading.Thread(target=serve, daemon=True).start()
        for what, sent[:] in {name: [data] for name, data in broken(answer).items()}.items():
            desk.use(url)
            assert url in desk.fleet("list", check=4).stderr, what
            # The next endpoint answers.
            desk.use(url, etcd.url)
            assert len(desk.sessions()) == 3, what


class Portal(WebServer):
    """A server that is no registry: answers every request with `status` and `body`."""

    status, body = 200, b""

    def respond(self, request, body):
        request.send_response(self.status)
        request.send_header("Date", "Thu, 01 Jan 2099 00:00:00 GMT")
        if self.status in (301, 302):
            request.send_header("Location", "https://portal.example.com/login")
        request.send_header("Content-Length", str(len(self.body)))
        request.end_headers()
        request.wfile.write(self.body)


def test_an_endpoint_that_is_no_registry_is_left(place, server):
    etcd, (desk, laptop, _), _ = three(place, server)
    portal = Portal()
    for portal.status, portal.body in (
            (404, b"404 page not found\n"), (302, b""), (401, b"<html>log in</html>"), (403, b"{}"), (200, b"{}"),
            (200, b"[]"), (200, b"<html>log in</html>"), (200, b'{"header":{"cluster_id":"x","revision":"-1"}}'),
            (200, b'{"error":"sign in"}')):
        what = portal.status, portal.body
        desk.use(portal.url, etcd.url)
        assert len(desk.sessions()) == 3, what
        shown = json.loads(desk.fleet("status", "--json").stdout)
        # The portal's clock is not the registry's.
        assert shown["endpoint"] == etcd.url and abs(shown["clock_offset"]) < 3600, (what, shown)
        desk.use(portal.url)
        assert "check the address: an endpoint is that of etcd's clients" in desk.fleet("list", check=4).stderr, what
    # The address of etcd's peers first, for a command and for a runner.
    for device in (desk, laptop):
        device.use(f"http://127.0.0.1:{etcd.peer_port}", etcd.url)
    laptop.start()
    desk.fleet(*SIGN_OUT, "--device", "laptop", "--wait", "200s")
    assert laptop.state() == ("signed-out", "remote")
    portal.close()


class Partial(Relay):
    """Passes all on but some paths, and answers those with an empty object."""

    def __init__(self, etcd, *paths):
        self.paths = paths
        super().__init__(etcd, lambda *_: None)

    def respond(self, request, body):
        if request.path not in self.paths:
            return super().respond(request, body)
        request.send_response(200)
        request.send_header("Content-Length", "2")
        request.end_headers()
        request.wfile.write(b"{}")


def test_a_call_that_one_endpoint_does_not_know_goes_to_another(place, server):
    etcd, (desk, laptop, _), _ = three(place, server)
    for path in ("/v3/kv/txn", "/v3/lease/grant", "/v3/lease/keepalive", "/v3/lease/timetolive"):
        relay = Partial(etcd, path)
        for device in (desk, laptop):
            device.use(relay.url, etcd.url)
        laptop.sign_in(server)
        laptop.fleet("run", "--once")
        desk.fleet(*SIGN_OUT, "--device", "laptop")
        laptop.fleet("run", "--once")
        assert laptop.state() == ("signed-out", "remote"), path
        assert json.loads(laptop.fleet("status", "--json").stdout)["lease"], path
        relay.close()


class Watches(Relay):
    """Passes all on but watches, and answers those with bytes of its own."""

    def __init__(self, etcd):
        self.watches, self.answer = 0, b""
        super().__init__(etcd, lambda *_: None)

    def respond(self, request, body):
        if request.path != "/v3/watch":
            return super().respond(request, body)
        self.watches += 1
        request.send_response(200)
        request.send_header("Connection", "close")
        request.end_headers()
        request.close_connection = True
        try:
            request.wfile.write(self.answer)
        except OSError:
            pass  # the client had enough


def test_a_watch_that_is_none_keeps_no_order_from_being_obeyed(place, server):
    etcd, (desk, laptop, _), _ = three(place, server)
    relay = Watches(etcd)
    laptop.use(relay.url)
    created = b'{"result":{"created":true}}\n'
    for what, relay.answer in {
            "nothing": b"", "garbage": b"\xff\x00\n" * 1000, "cut": created + b'{"result":{"events":[{"kv":{"mod_rev',
            "deep": b'{"result":' * 100_000 + b"\n", "endless": b" " * (8 << 20),
            "numbers": b'{"result":{"events":[{"kv":{"mod_revision":"99999999999999999999"}},{"kv":[]},3]}}\n',
            "canceled": b'{"result":{"created":true,"canceled":true,"cancel_reason":"' + b"\\u001b" * 500 + b'"}}\n'}.items():
        laptop.sign_in(server)
        laptop.fleet("run", "--once")
        watched = relay.watches
        laptop.start()
        wait_until(lambda watched=watched: relay.watches > watched, f"the watch: {what}")
        desk.fleet(*SIGN_OUT, "--device", "laptop", "--wait", "200s")
        assert laptop.state() == ("signed-out", "remote"), what
        assert laptop.runner.poll() is None, (what, laptop.said())
        laptop.stop()
    relay.close()


class Ranges(Tunnel):
    """Counts the lists that pass."""

    ranges, created = 0, 0

    def passed(self, data):
        self.ranges += data.count(b"POST /v3/kv/range")
        self.created += data.count(b'"created":true')


@contextlib.contextmanager
def watching(desk, etcd):
    """`fleet watch` through a tunnel, once it has written the three sessions: (the program, the tunnel)."""
    tunnel = Ranges(etcd.port)
    desk.use(f"http://127.0.0.1:{tunnel.port}")
    watch = subprocess.Popen(
        [desk.program, "fleet", "watch", *STACK], env=desk.environment, stdout=subprocess.PIPE, text=True)
    try:
        for _ in range(3):
            assert "api.example.com" in watch.stdout.readline()
        yield watch, tunnel
    finally:
        watch.kill()
        watch.wait()
        tunnel.close()


def test_watching_lists_anew_after_changes_alone(place, server):
    etcd, (desk, laptop, _), _ = three(place, server)
    with watching(desk, etcd) as (watch, tunnel):
        wait_until(lambda: tunnel.created, "the watch")
        laptop.sign_in(server, account="bob")
        laptop.fleet("run", "--once")
        assert "bob" in watch.stdout.readline()
        assert tunnel.ranges <= 3, tunnel.ranges


def test_watching_ends_with_its_reader(place, server):
    etcd, (desk, _, _), _ = three(place, server)
    for is_watched in (True, False):
        with watching(desk, etcd) as (watch, tunnel):
            if is_watched:
                wait_until(lambda tunnel=tunnel: tunnel.created, "the watch")
            watch.stdout.close()
            # No session changes.
            assert wait_until(lambda watch=watch: watch.poll() is not None and watch.returncode, "the end") == 141


def slow_the_poll_finds_an_order_that_a_dead_watch_missed(place, server):
    etcd, (desk, laptop, _), _ = three(place, server)
    tunnel = Ranges(etcd.port)
    laptop.use(f"http://127.0.0.1:{tunnel.port}")
    laptop.start()
    wait_until(lambda: tunnel.created, "the watch")
    wait_until(lambda: desk.sessions()["laptop", "api.example.com", "ann"]["present"], "the presence")
    tunnel.fall_silent()
    desk.fleet(*SIGN_OUT, "--device", "laptop")
    # Over HTTP/1.1 nobody can ask whether the server of a watch is there: the orders are listed every 240 s.
    let_pass(1)
    assert laptop.state()[0] == "user"
    wait_until(lambda: laptop.state() == ("signed-out", "remote"), "the sign-out", patience=900)
    tunnel.close()


def test_a_wrong_clock_is_named_where_time_decides(place, server):
    authority = place.authority()
    etcd = place.etcd(authority=authority)
    desk, laptop = place.device("desk", server), place.device("laptop", server)
    desk.init(etcd)
    invitation = desk.fleet("invite")

    def skewed(device, days, *arguments, given=None):
        return subprocess.run(
            ["faketime", "-f", days, device.program, "fleet", *arguments, *STACK], env=device.environment, input=given,
            capture_output=True, text=True)

    # The authority is of today: yesterday's clock finds it not valid yet.
    early = skewed(desk, "-1d", "list")
    assert early.returncode == 4 and "is not trusted" in early.stderr and "check this machine's clock" in early.stderr, early
    late = skewed(laptop, "+1d", "join", given=f"{invitation.stdout.strip()}\n{invitation.stderr.strip()}\n")
    assert "the join code is not valid any more" in late.stderr and "check this machine's clock" in late.stderr, late
    # Without a certificate, a day changes nothing but what is said of it.
    ahead = skewed(desk, "+1d", "status", "--json")
    assert ahead.returncode == 0 and -86400 - 60 < json.loads(ahead.stdout)["clock_offset"] < -86400 + 60, ahead


def test_a_snapshot_that_is_restored_under_a_runner_is_published_anew(place, server):
    etcd, (desk, laptop, _), _ = three(place, server)
    desk.fleet(*SIGN_OUT, "--device", "laptop")
    snapshot = f"{place.directory}/snapshot"
    etcd.ctl("snapshot", "save", snapshot)
    laptop.start()
    wait_until(lambda: laptop.state() == ("signed-out", "remote"), "the sign-out")
    laptop.sign_in(server)
    laptop.sign_in(server, account="new")
    wait_until(lambda: {("laptop", "api.example.com", one) for one in ("ann", "new")} <= set(desk.sessions()), "both")
    etcd.kill()
    shutil.rmtree(f"{etcd.directory}/data")
    peer = f"http://127.0.0.1:{etcd.peer_port}"
    etcd.ctl("snapshot", "restore", snapshot, "--data-dir", f"{etcd.directory}/data", "--initial-cluster", f"default={peer}",
             "--initial-advertise-peer-urls", peer, "--initial-cluster-token", "restored")
    etcd.start()
    # The order is there again, the session that it names is not.
    wait_until(lambda: not values(etcd, "orders"), "the answer")
    wait_until(lambda: ("laptop", "api.example.com", "new") in desk.sessions(), "the publication")
    assert laptop.state()[0] == laptop.state("new")[0] == "user"
    assert desk.sessions()["laptop", "api.example.com", "ann"]["order"] is None


def make_room(etcd):
    """Takes away what fill() wrote, and ends the alarm."""
    etcd.ctl("del", "/f", "--prefix")
    revision = json.loads(etcd.ctl("endpoint", "status", "-w", "json").stdout)[0]["Status"]["header"]["revision"]
    etcd.ctl("compact", str(revision))
    etcd.ctl("defrag")
    etcd.ctl("alarm", "disarm")


def test_a_registry_that_has_room_again_gets_what_it_missed(place, server):
    etcd, (desk, laptop, _), _ = three(place, server, options=["--quota-backend-bytes", "16777216"])
    laptop.start()
    fill(etcd)
    laptop.sign_in(server, account="new")
    wait_until(lambda: "is full and takes no changes but removals" in laptop.said(), "the warning")
    make_room(etcd)
    # No change here, no watch, poll or presence of 300 s, no publication of each hour tells the runner.
    wait_until(lambda: {account for name, _, account in desk.sessions() if name == "laptop"} == {"ann", "new"}, "both", 200)
    assert laptop.said().count("is full") == 1, laptop.said()


class Requests(Tunnel):
    """Counts the watches that are asked for."""

    watches = 0

    def passed(self, data):
        self.watches += data.count(b"POST /v3/watch")


def test_a_registry_that_becomes_full_ends_no_watch(place, server):
    etcd = place.etcd(options=["--quota-backend-bytes", "16777216"])
    laptop = place.device("laptop", server)
    laptop.init(etcd, "--presence", "30")
    laptop.sign_in(server)
    tunnel = Requests(etcd.port)
    laptop.use(f"http://127.0.0.1:{tunnel.port}")
    laptop.start()
    wait_until(lambda: tunnel.watches, "the watch")
    assert [key for key in etcd.keys(KEY) if "/present/" in key]
    fill(etcd)
    # Nothing changes here: the presence under the device's lease, each ten seconds, is what the registry does not take.
    wait_until(lambda: "is full and takes no changes but removals" in laptop.said(), "the warning")
    make_room(etcd)
    laptop.sign_in(server, account="new")
    wait_until(lambda: len(laptop.sessions()) == 2, "the publication")
    assert tunnel.watches == 1, laptop.said()
    laptop.stop()
    tunnel.close()
