"""docs/fleet.md against the program: a second reader opens what it writes."""
import json

import read_fleet
from t_sign_out import three


def test_the_vectors_are_those_of_the_second_reader(place, server):
    with open(read_fleet.VECTORS, encoding="utf-8") as file:
        assert json.load(file) == read_fleet.vectors()


def test_a_second_reader_opens_every_value(place, server):
    etcd, (desk, laptop, _), _ = three(place, server)
    desk.fleet("sign-out", "api.example.com", "ann", "--everywhere")
    laptop.fleet("run", "--once")
    secret = json.loads(desk.run("load", "org.tokenkeep.fleet", "home").stdout)
    fleet_key, key = bytes.fromhex(secret["fleet_key"]), bytes.fromhex(secret["user_key"])
    assert read_fleet.user_key(fleet_key, "ann") == key
    assert read_fleet.identify(fleet_key, "user id", "ann") == secret["user_id"]
    seen = set()
    for path, value in etcd.keys("/tokenkeep/home/1/").items():
        parts = path.split("/")
        if parts[4] == "names":
            administration = read_fleet.keyed(fleet_key, 32, "administration")
            assert read_fleet.open_value(value, administration, path)["name"] == "ann"
            continue
        members = read_fleet.open_value(value, key, path)
        seen.add(parts[6])
        if parts[6] in ("sessions", "everywhere"):
            assert parts[7] == read_fleet.identify(key, "account id", "api.example.com", "ann"), path
        if parts[6] == "orders":
            assert parts[8] == read_fleet.identify(key, "order id", parts[7], members["session"]), path
    assert seen == {"devices", "present", "sessions", "orders", "everywhere", "results"}, seen


def test_a_second_reader_opens_a_join_code(place, server):
    etcd = place.etcd()
    desk = place.device("desk", server)
    desk.init(etcd)
    invitation = desk.fleet("invite")
    read = read_fleet.open_code(invitation.stdout.strip(), invitation.stderr.strip())
    secret = json.loads(desk.run("load", "org.tokenkeep.fleet", "home").stdout)
    assert read["user_key"] == secret["user_key"] and read["endpoints"] == [etcd.url] and "fleet_key" not in read


def test_a_code_of_the_second_reader_is_taken(place, server):
    etcd = place.etcd()
    desk, laptop = place.device("desk", server), place.device("laptop", server)
    desk.init(etcd)
    invitation = desk.fleet("invite")
    read = read_fleet.open_code(invitation.stdout.strip(), invitation.stderr.strip())
    words = read_fleet.words_of(bytes(range(240, 256)))
    laptop.fleet("join", given=f"{read_fleet.seal_code(read, words, bytes(16), bytes(24))}\n{words}\n")
    assert len([key for key in etcd.keys("/tokenkeep/") if "/devices/" in key]) == 2
