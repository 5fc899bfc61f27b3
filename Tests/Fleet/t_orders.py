"""Orders that stand in each other's way: old results, junk in their place, damaged notes, events of other times."""
import json
import os
import subprocess
import time

import read_fleet
from fleet_parts import STACK, wait_until
from t_faults import KEY, values
from t_sign_out import three

SIGN_OUT = ["sign-out", "api.example.com", "ann"]


class Writer:
    """Writes values that a device of the user can seal."""

    def __init__(self, etcd, device):
        secret = json.loads(device.run("load", "org.tokenkeep.fleet", "home").stdout)
        self.etcd, self.device = etcd, secret["device"]
        self.key, self.user = bytes.fromhex(secret["user_key"]), KEY + secret["user_id"]

    def put(self, path, value):
        path = f"{self.user}/{path}"
        self.etcd.put(path, read_fleet.seal_value(value, self.key, path, os.urandom(24)))


def test_an_old_result_does_not_answer_a_new_order(place, server):
    etcd, (desk, laptop, _), _ = three(place, server)
    writer = Writer(etcd, laptop)
    desk.fleet(*SIGN_OUT, "--device", "laptop")
    (path, _), = values(etcd, "orders").items()
    etcd.ctl("del", path)
    result = {"at": int(time.time()), "device": writer.device, "outcome": "gone", "revocation": "none"}
    writer.put(f"results/{path.split('/')[-1]}", result)
    late = desk.fleet(*SIGN_OUT, "--device", "laptop", "--wait", "1s", check=4)
    assert "not obeyed yet by laptop" in late.stderr, late.stderr
    laptop.fleet("run", "--once")
    assert laptop.state() == ("signed-out", "remote")


def test_an_order_that_a_device_calls_too_old_was_not_obeyed(place, server):
    etcd, (desk, laptop, _), _ = three(place, server)
    writer = Writer(etcd, laptop)
    waits = subprocess.Popen(
        [desk.program, "fleet", *SIGN_OUT, "--device", "laptop", "--wait", "10m", *STACK], env=desk.environment,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        wait_until(lambda: values(etcd, "orders"), "the order")
        (path, _), = values(etcd, "orders").items()
        result = {"at": int(time.time()), "device": writer.device, "outcome": "expired", "revocation": "none"}
        writer.put(f"results/{path.split('/')[-1]}", result)
        etcd.ctl("del", path)
        said, problem = waits.communicate()
    finally:
        waits.kill()
    assert waits.returncode == 4 and "laptop: the order was older than 30 days" in said, (said, problem)
    assert "not obeyed yet by laptop" in problem, problem
    # The same order can be given again, and is obeyed.
    desk.fleet(*SIGN_OUT, "--device", "laptop")
    laptop.fleet("run", "--once")
    assert laptop.state() == ("signed-out", "remote")


def test_an_order_that_is_too_old_is_shown_as_such_and_ends_nothing(place, server):
    etcd, (desk, laptop, _), _ = three(place, server)
    writer = Writer(etcd, laptop)
    desk.fleet(*SIGN_OUT, "--device", "laptop")
    (path, order), = values(etcd, "orders").items()
    members = read_fleet.open_value(order, writer.key, path)
    members["at"] = members["event_at"] = int(time.time()) - 31 * 86400
    writer.put(path.removeprefix(f"{writer.user}/"), members)
    assert desk.sessions()["laptop", "api.example.com", "ann"]["order"] == "expired"
    laptop.fleet("run", "--once")
    assert laptop.state()[0] == "user" and not values(etcd, "orders")
    assert desk.sessions()["laptop", "api.example.com", "ann"]["order"] is None
    desk.fleet(*SIGN_OUT, "--device", "laptop")
    laptop.fleet("run", "--once")
    assert laptop.state() == ("signed-out", "remote")


def test_junk_in_the_place_of_an_order_is_replaced(place, server):
    etcd, (desk, laptop, _), _ = three(place, server)
    desk.fleet(*SIGN_OUT, "--device", "laptop")
    (path, order), = values(etcd, "orders").items()
    desk.fleet(*SIGN_OUT, "--device", "laptop")
    assert values(etcd, "orders")[path] == order, "an order that is there was written again"
    for junk in (b"", b"\x01" + os.urandom(200)):
        etcd.put(path, junk)
        desk.fleet(*SIGN_OUT, "--device", "laptop")
        assert values(etcd, "orders")[path] not in (junk, order)
    laptop.fleet("run", "--once")
    assert laptop.state() == ("signed-out", "remote")


def files(device):
    return {os.path.join(folder, name) for folder, _, names in os.walk(f"{device.home}/vault") for name in names
            if os.path.basename(folder) == "sessions"}


def test_a_damaged_note_keeps_no_other_order_from_being_obeyed(place, server):
    etcd, (desk, laptop, _), _ = three(place, server)
    before = files(laptop)
    laptop.sign_in(server, account="bob")
    laptop.fleet("run", "--once")
    for account in ("ann", "bob"):
        desk.fleet("sign-out", "api.example.com", account, "--device", "laptop")
    damaged = files(laptop) - before
    assert damaged, "the vault has its notes elsewhere"
    for path in damaged:
        with open(path, "r+b") as file:
            file.seek(-1, os.SEEK_END)
            last = file.read(1)
            file.seek(-1, os.SEEK_END)
            file.write(bytes([last[0] ^ 1]))
    said = laptop.fleet("run", "--once")
    assert "a note is damaged" in said.stderr, said.stderr
    assert laptop.state() == ("signed-out", "remote")
    # The order for the session that is not readable waits, and the session is not said to have ended.
    assert len(values(etcd, "orders")) == 1
    assert ("laptop", "api.example.com", "bob") in desk.sessions()


def test_everywhere_keeps_the_latest_event_and_is_obeyed_once(place, server):
    etcd, (desk, laptop, _), _ = three(place, server)
    account = next(iter(values(etcd, "sessions"))).split("/")[-2]
    writer = Writer(etcd, laptop)
    now = int(time.time())

    def event(at):
        writer.put(f"everywhere/{account}", {
            "what": "sign-out", "service": "api.example.com", "account": "ann", "provider": "", "from": "", "reason": "r",
            "event_at": at})
        laptop.fleet("run", "--once")
        return laptop.state()[0]

    assert event(now - 86400) == "user", "obeyed an event before the device joined"
    assert event(now + 3600) == "signed-out"
    laptop.sign_in(server)
    assert event(now + 3600) == "user" and event(now + 1800) == "user", "obeyed the same, or an earlier event, again"
    writer.put(f"everywhere/{account}", {
        "what": "sign-out", "service": "api.example.com", "account": "ann", "event_at": now + 3600})
    (path, kept), = values(etcd, "everywhere").items()
    # An order that is given now is a new one, also if the time was wrong when the one before it was given.
    desk.fleet(*SIGN_OUT, "--everywhere")
    assert values(etcd, "everywhere")[path] != kept
    laptop.fleet("run", "--once")
    assert laptop.state() == ("signed-out", "remote")
    laptop.sign_in(server)
    laptop.fleet("run", "--once")
    assert laptop.state()[0] == "user"


def test_a_device_writes_its_entry_again(place, server):
    etcd, (desk, laptop, _), _ = three(place, server)
    path = next(path for path in values(etcd, "devices") if path.endswith(Writer(etcd, laptop).device))
    etcd.ctl("del", path)
    device = path.split("/")[-1]
    assert (device, "api.example.com", "ann") in desk.sessions()
    desk.fleet(*SIGN_OUT, "--device", device)
    laptop.fleet("run", "--once")
    assert laptop.state() == ("signed-out", "remote") and path in values(etcd, "devices")
    assert "laptop" in desk.fleet("status").stdout
