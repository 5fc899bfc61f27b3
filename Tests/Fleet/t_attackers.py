"""Users of a registry who mean harm: nested transactions, which go past the roles of etcd before 3.5.30."""
import base64
import json
import os
import subprocess

import read_fleet
from t_users import CTL, ROOT, company


def version():
    words = subprocess.run(["etcd", "--version"], capture_output=True, text=True, check=True).stdout.split()
    return tuple(int(part) for part in words[2].split("."))


def coded(data):
    return base64.b64encode(data if isinstance(data, bytes) else data.encode()).decode()


class Attacker:
    """A user of the registry, by the name and password of a device."""

    def __init__(self, etcd, device):
        secret = json.loads(device.run("load", "org.tokenkeep.fleet", "home").stdout)
        self.etcd, self.user, self.key = etcd, secret["user_id"], bytes.fromhex(secret["user_key"])
        name = f"tokenkeep-{self.user[:16]}"
        status, answer = etcd.post("/v3/auth/authenticate", json.dumps({"name": name, "password": secret["password"]}))
        assert status == 200, answer
        self.token = answer["token"]

    def nested(self, operation):
        body = {"success": [{"request_txn": {"success": [operation]}}]}
        return self.etcd.post("/v3/kv/txn", json.dumps(body), {"Authorization": self.token})

    def read(self, prefix):
        return self.nested({"request_range": {"key": coded(prefix), "range_end": coded(prefix[:-1] + chr(ord(prefix[-1]) + 1))}})

    def write(self, key, value):
        return self.nested({"request_put": {"key": coded(key), "value": coded(value)}})

    def delete(self, key):
        return self.nested({"request_delete_range": {"key": coded(key)}})


def test_nested_transactions_are_refused_or_meet_sealed_values(place, server):
    etcd, admin, laptop = company(place, server)
    eve = place.device("eve", server)
    eve.join_by(admin.fleet("admin", "add-user", "eve", given=ROOT))
    laptop.sign_in(server)
    laptop.fleet("run", "--once")
    admin.fleet("admin", "sign-out", "ann", "--account", "ann", given=ROOT)
    attacker = Attacker(etcd, eve)
    before = {key: value for key, value in etcd.keys("/tokenkeep/", user=CTL).items() if attacker.user not in key}
    (order,) = [key for key in before if "/orders/" in key]
    users = "/tokenkeep/home/1/users/"
    victim = order.split("/")[5]
    calls = [attacker.read(f"{users}{victim}/"), attacker.write(f"{users}{victim}/x", b"x"), attacker.delete(f"{users}{victim}/x")]
    if version() >= (3, 5, 30):
        assert [status for status, _ in calls] == [403, 403, 403], calls
        after = etcd.keys("/tokenkeep/", user=CTL)
        assert {key: value for key, value in after.items() if attacker.user not in key} == before
        return
    # The older servers let the calls pass. What is read stays sealed: no name, no token.
    assert [status for status, _ in calls] == [200, 200, 200], calls
    read = json.dumps(calls[0][1]).encode() + b"".join(before.values())
    for word in (b"api.example.com", b"laptop", b"rotating", *[token.encode() for token in server.family_of]):
        assert word not in read and coded(word).encode() not in read, word
    # An order that the attacker writes is sealed by another key, or for another path, and is not obeyed.
    laptop.sign_in(server, account="other")
    laptop.fleet("run", "--once")
    assert laptop.state() == ("signed-out", "remote") and laptop.state("other")[0] == "user"
    folder = "/".join(order.split("/")[:-1])
    members = {"what": "sign-out", "session": "0" * 32, "service": "api.example.com", "account": "other", "at": 1, "event_at": 1}
    for path, value in (
            (f"{folder}/{'0' * 32}", read_fleet.seal_value(members, attacker.key, f"{folder}/{'0' * 32}", os.urandom(24))),
            (f"{folder}/{'1' * 32}", before[order])):
        assert attacker.write(path, value)[0] == 200
    assert laptop.fleet("run", "--once").stderr.count("it is not obeyed") == 2
    assert laptop.state("other")[0] == "user"
    # The old order again, in its place: the session that it named has ended, and a later one stays.
    laptop.sign_in(server)
    assert attacker.write(order, before[order])[0] == 200
    laptop.fleet("run", "--once")
    assert laptop.state()[0] == "user"
    # The sealing does not protect against removal: an order can be deleted, and then nobody obeys it (docs/fleet.md).
    admin.fleet("admin", "sign-out", "ann", "--account", "other", given=ROOT)
    (order,) = [key for key in etcd.keys("/tokenkeep/", user=CTL) if "/orders/" in key and key[-32:] not in ("0" * 32, "1" * 32)]
    assert attacker.delete(order)[0] == 200
    assert order not in etcd.keys("/tokenkeep/", user=CTL)
