"""What goes wrong: kills, a registry that is away, hangs, is full or lies, forged and moved values."""
import base64
import http.server
import json
import os
import shutil
import signal
import socket
import subprocess
import threading

from fleet_parts import PATIENCE, STACK, Authority, stop_process, wait_until
from t_sign_out import three

KEY = "/tokenkeep/home/1/users/"


def values(etcd, what):
    return {key: value for key, value in etcd.keys(KEY).items() if f"/{what}/" in key}


def test_the_registry_holds_no_name_and_no_token(place, server):
    etcd, devices, _ = three(place, server)
    devices[1].start()
    devices[0].fleet("sign-out", "api.example.com", "ann", "--device", "laptop", "--wait", "60s")
    whole = b"\n".join(key.encode() + b" " + value for key, value in etcd.keys().items())
    etcd.kill(signal.SIGTERM)
    for folder, _, files in os.walk(etcd.directory):
        for name in files:
            with open(os.path.join(folder, name), "rb") as file:
                whole += file.read()
    assert b"/tokenkeep/home/1/users/" in whole
    words = [b"api.example.com", b"laptop", b"desk", b'"ann"', b"rotating", b"sign-out"]
    words += [token.encode() for token in server.family_of]
    for word in words:
        assert word not in whole, word


def test_forged_moved_and_replayed_values_are_not_obeyed(place, server):
    etcd, (desk, laptop, third), _ = three(place, server)
    desk.fleet("sign-out", "api.example.com", "ann", "--device", "laptop")
    (path, order), = values(etcd, "orders").items()
    ids = {key.split("/")[-1] for key in values(etcd, "devices")}
    parts = path.split("/")
    other = next(one for one in ids if one != parts[-2] and sessions_device(desk, "server") == one)
    # The laptop's order at the server's path; a session at another account's; random bytes; an order of another id.
    etcd.put("/".join([*parts[:-2], other, parts[-1]]), order)
    etcd.put("/".join([*parts[:-2], other, "0" * 32]), b"\x01" + os.urandom(200))
    etcd.put("/".join([*parts[:-1], "f" * 32]), order)
    sessions = values(etcd, "sessions")
    moved = next(iter(sessions))
    etcd.put(moved[:-16] + "0123456789abcdef", sessions[moved])
    done = third.fleet("run", "--once")
    assert "an order in the registry is forged, moved or of a later version; it is not obeyed" in done.stderr, done.stderr
    assert third.state()[0] == "user"
    laptop.fleet("run", "--once")
    assert laptop.state() == ("signed-out", "remote")
    # The old order comes back after its session has ended and another has begun.
    laptop.sign_in(server)
    etcd.put(path, order)
    laptop.fleet("run", "--once")
    assert laptop.state()[0] == "user" and path not in values(etcd, "orders")
    assert "4 values of the registry cannot be opened: forged, moved or of a later version" in desk.fleet("list").stderr


def sessions_device(device, name):
    return next(one["device"] for key, one in device.sessions().items() if key[0] == name)


def test_nothing_waits_for_a_registry_that_is_away(place, server):
    etcd, (desk, laptop, _), _ = three(place, server)
    desk.fleet("list")
    etcd.kill()
    refused = desk.fleet("list", check=4)
    assert refused.stderr.count("\n") == 2 and etcd.url in refused.stderr, refused.stderr
    cached = desk.fleet("list", "--cached")
    assert "as of 20" in cached.stderr and "laptop" in cached.stdout
    assert json.loads(desk.fleet("list", "--cached", "--json").stdout)["as_of"].startswith("20")
    assert desk.fleet("sign-out", "api.example.com", "ann", "--others", check=4).stdout == ""
    laptop.fleet("run", "--once", check=4)
    trace = f"{place.directory}/trace"
    for arguments in (["token", "api.example.com", "ann"], ["list"], ["logout", "api.example.com", "ann", "--local"]):
        subprocess.run(
            ["strace", "-f", "-e", "trace=socket,connect", "-o", trace, laptop.program, "session", *arguments, *STACK],
            env=laptop.environment, check=True, capture_output=True)
        with open(trace, encoding="utf-8") as file:
            assert "AF_INET" not in file.read(), arguments
    # A damaged cache is none.
    cache = f"{desk.home}/state/tokenkeep/fleet/home.cache"
    with open(cache, encoding="utf-8") as file:
        kept = json.load(file)
    for as_of in (-2**63, 2**63 - 1):
        with open(cache, "w", encoding="utf-8") as file:
            json.dump(kept | {"as_of": as_of}, file)
        assert "there is no earlier list of the fleet" in desk.fleet("list", "--cached", check=1).stderr
    # The device publishes the changes of the meantime later.
    laptop.sign_in(server, account="later")
    etcd.start()
    laptop.fleet("run", "--once")
    found = {account for name, _, account in desk.sessions() if name == "laptop"}
    assert found == {"later"}, found


def test_a_runner_outlives_its_registry(place, server):
    etcd, (desk, laptop, _), _ = three(place, server)
    laptop.start()
    wait_until(lambda: desk.sessions()["laptop", "api.example.com", "ann"]["present"], "the presence")
    etcd.kill()
    wait_until(lambda: etcd.url in laptop.said(), "the warning")
    desk_order = desk.fleet("sign-out", "api.example.com", "ann", "--device", "laptop", check=4)
    assert desk_order.returncode == 4
    etcd.start()
    desk.fleet("sign-out", "api.example.com", "ann", "--device", "laptop", "--wait", "100s")
    assert laptop.state() == ("signed-out", "remote")


def test_a_second_runner_names_the_first(place, server):
    _, (desk, laptop, _), _ = three(place, server)
    # A lock file that is renamed into its place could take the place of another process's.
    os.remove(f"{laptop.home}/state/tokenkeep/fleet/home.lock")
    trace = f"{place.directory}/trace"
    subprocess.run(
        ["strace", "-f", "-e", "trace=rename,renameat,renameat2", "-o", trace, laptop.program, "fleet", "run", "--once",
         *STACK], env=laptop.environment, check=True, capture_output=True)
    with open(trace, encoding="utf-8") as file:
        assert "home.lock" not in file.read()
    laptop.start()
    wait_until(lambda: json.loads(laptop.fleet("status", "--json").stdout)["running"], "a runner that has the lock")
    assert "another process runs the fleet home here" in laptop.fleet("run", "--once", check=4).stderr
    assert "tokenkeep fleet run would enter the fleet again" in laptop.fleet("leave", check=4).stderr
    assert json.loads(laptop.fleet("status", "--json").stdout)["running"]
    assert "nothing on this device publishes its sessions and obeys orders" in desk.fleet("status").stderr


def kills(place, server, call):
    """Kills a runner at each of its calls of a kind, until an order is obeyed without a kill. Returns the kills."""
    _, (desk, laptop, _), _ = three(place, server)
    number = 0
    while True:
        number += 1
        laptop.sign_in(server)
        laptop.fleet("run", "--once")
        desk.fleet("sign-out", "api.example.com", "ann", "--device", "laptop")
        killed = subprocess.run(
            ["strace", "-f", "-o", "/dev/null", "-e", f"trace={call}", "-e", f"inject={call}:signal=KILL:when={number}",
             laptop.program, "fleet", "run", "--once", *STACK],
            env=laptop.environment, capture_output=True)
        laptop.fleet("run", "--once")
        assert laptop.state() == ("signed-out", "remote"), (call, number)
        assert desk.sessions().get(("laptop", "api.example.com", "ann")) is None, (call, number)
        if killed.returncode == 0:
            return number - 1


def test_an_order_survives_kills_at_every_message(place, server):
    # Lists, the transactions of result, publication and presence, the grants of leases.
    assert kills(place, server, "sendto") >= 6


def test_an_order_survives_kills_at_every_change_of_a_file(place, server):
    # The session's note and record, and the state of the fleet.
    assert kills(place, server, "rename,renameat,renameat2,fdatasync") >= 2


def test_commands_end_by_their_deadlines_if_the_registry_hangs(place, server):
    etcd, (desk, _, _), _ = three(place, server)
    etcd.freeze()
    hung = desk.fleet("list", check=4)
    assert "did not answer in time" in hung.stderr, hung.stderr
    etcd.thaw()
    desk.fleet("list")


def test_another_endpoint_answers_for_one_that_hangs(place, server):
    etcd, (desk, _, _), _ = three(place, server)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        path = f"{desk.home}/config/tokenkeep/fleet.d/home.conf"
        with open(path, encoding="utf-8") as file:
            text = file.read()
        with open(path, "w", encoding="utf-8") as file:
            file.write(f"endpoint = http://127.0.0.1:{silent.getsockname()[1]}\n{text}")
        assert len(desk.sessions()) == 3
        assert etcd.url in desk.fleet("status").stdout


def fill(etcd):
    """Writes until the member raises its alarm of space."""
    number = 0
    value = base64.b64encode(b"x" * 1_000_000).decode()
    while etcd.post("/v3/kv/put", json.dumps({"key": base64.b64encode(b"/f%d" % number).decode(), "value": value}))[0] == 200:
        number += 1


def test_a_full_registry_still_takes_sign_outs(place, server):
    etcd, (desk, laptop, _), _ = three(place, server, options=["--quota-backend-bytes", "16777216"])
    desk.fleet("sign-out", "api.example.com", "ann", "--device", "laptop")
    fill(etcd)
    refused = desk.fleet("rename", "table", check=4)
    assert "is full and takes no changes but removals" in refused.stderr and "etcdctl alarm disarm" in refused.stderr
    done = laptop.fleet("run", "--once", check=None)
    assert laptop.state() == ("signed-out", "remote"), done.stderr
    assert not values(etcd, "orders")


def test_answers_that_no_registry_gives_are_refused(place, server):
    etcd, (desk, _, _), _ = three(place, server)
    answers = {
        "garbage": b"\x00\xff" * 500, "html": b"<html>login</html>", "empty": b"", "list": b"[]", "object": b"{}",
        "deep": b'{"a":' * 100_000, "numbers": b'{"header":{"cluster_id":"x","revision":"-1"}}',
        "foreign": b'{"header":{"cluster_id":"1","revision":"5"},"kvs":[{"key":"L2V0Yy8=","mod_revision":"1"}]}',
        "bad": b'{"header":{"cluster_id":"1","revision":"5"},"kvs":[{"key":"!","mod_revision":"1"}]}'}

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self):
            self.send_response(200)
            self.end_headers()
            self.server.count += 1
            try:
                request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                if self.server.what in ("again", "endless"):
                    # The first key each time, or another key behind the last one each time.
                    self.server.first = self.server.first or request["key"]
                    key = self.server.first if self.server.what == "again" else request["key"]
                    self.wfile.write(json.dumps({
                        "header": {"cluster_id": "1", "revision": "5"}, "more": True,
                        "kvs": [{"key": key, "mod_revision": "1"}]}).encode())
                elif self.server.what == "heavy":
                    # Pages of 200 values of 4 KiB, each behind the page before.
                    first = base64.b64decode(request["key"])
                    self.wfile.write(json.dumps({
                        "header": {"cluster_id": "1", "revision": "5"}, "more": True,
                        "kvs": [{"key": base64.b64encode(first + b"%03d" % number).decode(), "mod_revision": "1",
                                 "value": "A" * 5460} for number in range(200)]}).encode())
                elif self.server.what == "huge":
                    for _ in range(100):
                        self.wfile.write(b" " * (1 << 20))
                else:
                    self.wfile.write(answers[self.server.what])
            except (BrokenPipeError, ConnectionResetError):
                pass  # the client had enough

        def log_message(self, *_):
            pass

    fake = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=fake.serve_forever, daemon=True).start()
    path = f"{desk.home}/config/tokenkeep/fleet.d/home.conf"
    with open(path, "w", encoding="utf-8") as file:
        file.write(f"endpoint = http://127.0.0.1:{fake.server_port}\n")
    for what in [*answers, "again"]:
        fake.what, fake.first, fake.count = what, None, 0
        refused = desk.fleet("list", check=4).stderr
        assert f"the answer of http://127.0.0.1:{fake.server_port} is not that of a registry" in refused, what
    # The device reads at most 500 pages, and at most 32 MiB.
    for fake.what, pages in (("endless", (500, 500)), ("heavy", (30, 45))):
        fake.count = 0
        assert f"the list of http://127.0.0.1:{fake.server_port} does not end" in desk.fleet("list", check=4).stderr
        assert pages[0] <= fake.count <= pages[1], (fake.what, fake.count)
    fake.what = "huge"
    assert f"the answer of http://127.0.0.1:{fake.server_port} is longer than 4 MiB" in desk.fleet("list", check=4).stderr
    fake.shutdown()


def test_servers_of_other_authorities_and_names_are_refused(place, server):
    authority = place.authority()
    etcd = place.etcd(authority=authority)
    desk = place.device("desk", server)
    other = Authority(f"{place.directory}/other")
    def begin(url, ca, check):
        return desk.fleet("init", "home", "--endpoint", url, "--ca", ca, "--name", "desk", check=check).stderr
    assert "is not trusted:" in begin(etcd.url, other.file, 4)
    assert "is not trusted:" in begin(etcd.url.replace("127.0.0.1", "localhost"), authority.file, 4)
    assert "has no certificate of an authority" in begin(etcd.url, "/etc/passwd", 2)
    assert "is not https" in begin("http://etcd.example.com:2379", authority.file, 2)
    begin(etcd.url, authority.file, 0)
    assert "this device is in the fleet home already" in begin(etcd.url, authority.file, 6)
    etcd.certificate = authority.sign("ended", "/O=fleet test", days="-1")
    etcd.restart()
    assert "is not trusted:" in desk.fleet("list", check=4).stderr


def test_a_restored_backup_is_published_anew(place, server):
    etcd, (desk, laptop, _), _ = three(place, server)
    desk.fleet("sign-out", "api.example.com", "ann", "--device", "laptop")
    backup = f"{place.directory}/backup"
    etcd.kill(signal.SIGTERM)
    shutil.copytree(f"{etcd.directory}/data", backup)
    etcd.start()
    laptop.fleet("run", "--once")
    assert laptop.state() == ("signed-out", "remote")
    laptop.sign_in(server)
    laptop.sign_in(server, account="new")
    laptop.fleet("run", "--once")
    etcd.kill(signal.SIGTERM)
    shutil.rmtree(f"{etcd.directory}/data")
    shutil.copytree(backup, f"{etcd.directory}/data")
    etcd.start()
    laptop.fleet("run", "--once")
    assert laptop.state()[0] == laptop.state("new")[0] == "user"
    assert {account for name, _, account in desk.sessions() if name == "laptop"} == {"ann", "new"}


def test_compaction_and_a_lost_lease_leave_no_gap(place, server):
    etcd = place.etcd()
    desk, laptop = place.device("desk", server), place.device("laptop", server)
    desk.init(etcd, "--presence", "30")
    laptop.join(desk)
    laptop.sign_in(server)

    def leases():
        """Those of the presences; the laptop alone has one."""
        found = json.loads(etcd.ctl("get", KEY, "--prefix", "-w", "json").stdout).get("kvs", [])
        return {one["lease"] for one in found if one.get("lease") and b"/present/" in base64.b64decode(one["key"])}

    laptop.start()
    first = wait_until(leases, "the presence")
    for lease in first:
        etcd.ctl("lease", "revoke", f"{lease:x}")
    assert not first & leases()
    wait_until(lambda: leases() - first, "the presence under another lease")
    stop_process(laptop.runner.pid)
    desk.fleet("sign-out", "api.example.com", "ann", "--device", "laptop")
    revision = json.loads(etcd.ctl("endpoint", "status", "-w", "json").stdout)[0]["Status"]["header"]["revision"]
    etcd.ctl("compact", str(revision))
    etcd.restart()
    laptop.runner.send_signal(signal.SIGCONT)
    wait_until(lambda: laptop.state() == ("signed-out", "remote"), "the sign-out")


def test_a_frozen_device_obeys_after_its_lease_has_ended(place, server):
    etcd = place.etcd()
    desk, laptop = place.device("desk", server), place.device("laptop", server)
    desk.init(etcd, "--presence", "30")
    laptop.join(desk)
    laptop.sign_in(server)
    laptop.start()
    wait_until(lambda: ("laptop", "api.example.com", "ann") in desk.sessions(), "the publication")
    stop_process(laptop.runner.pid)
    desk.fleet("sign-out", "api.example.com", "ann", "--device", "laptop")
    wait_until(lambda: not values(etcd, "present"), "the end of the lease")
    laptop.runner.send_signal(signal.SIGCONT)
    wait_until(lambda: laptop.state() == ("signed-out", "remote"), "the sign-out")


def test_a_wrong_clock_misses_no_order_and_repeats_none(place, server):
    etcd, (desk, laptop, _), _ = three(place, server)
    for years in ("-10 years", "+10 years"):
        laptop.program_before = laptop.program
        laptop.sign_in(server)
        def skewed(*arguments):
            return subprocess.run(
                ["faketime", "-f", years.replace(" years", "y"), laptop.program, *arguments, *STACK],
                env=laptop.environment, capture_output=True, text=True, timeout=PATIENCE)
        family, response = server.sign_in()
        subprocess.run(
            ["faketime", "-f", years.replace(" years", "y"), laptop.program, "session", "begin", "api.example.com", "skewed",
             *STACK], env=laptop.environment, input=json.dumps(response), text=True, check=True)
        done = skewed("fleet", "run", "--once")
        assert done.returncode == 0, done.stderr
        desk.fleet("sign-out", "api.example.com", "skewed", "--device", "laptop")
        desk.fleet("sign-out", "api.example.com", "ann", "--everywhere")
        assert skewed("fleet", "run", "--once").returncode == 0
        assert laptop.state("skewed") == ("signed-out", "remote") == laptop.state(), years
        laptop.sign_in(server)
        assert skewed("fleet", "run", "--once").returncode == 0
        assert laptop.state()[0] == "user", years


def test_a_clock_that_was_wrong_at_the_sign_in_hides_no_session(place, server):
    _, (desk, laptop, _), _ = three(place, server)
    for years in ("-10y", "+10y"):
        _, response = server.sign_in()
        subprocess.run(
            ["faketime", "-f", years, laptop.program, "session", "begin", "api.example.com", "skewed", *STACK],
            env=laptop.environment, input=json.dumps(response), text=True, check=True)
        # The clock is right by now, and the device has not published the session yet.
        desk.fleet("sign-out", "api.example.com", "skewed", "--everywhere")
        laptop.fleet("run", "--once")
        assert laptop.state("skewed") == ("signed-out", "remote"), years
        laptop.sign_in(server, account="skewed")
        laptop.fleet("run", "--once")
        assert laptop.state("skewed")[0] == "user", years


def test_a_beginning_that_is_not_known_stays_so(place, server):
    _, (desk, laptop, _), _ = three(place, server)
    _, response = server.sign_in()

    def skewed(years, *arguments, given=None):
        subprocess.run(
            ["faketime", "-f", years, laptop.program, *arguments, *STACK], env=laptop.environment, input=given, text=True,
            check=True)

    skewed("+10y", "session", "begin", "api.example.com", "skewed", given=json.dumps(response))
    laptop.fleet("run", "--once")
    # By this clock the sign-in is past.
    skewed("+11y", "fleet", "run", "--once")
    laptop.fleet("run", "--once")
    assert desk.sessions()["laptop", "api.example.com", "skewed"]["signed_in_at"] is None
