"""What each misuse and each damaged part is called, and which exit code it has."""
import json
import os

import read_fleet
from t_sign_out import three


def said(device, *arguments, check, given=None):
    return device.fleet(*arguments, check=check, given=given).stderr


def test_misuse_of_commands_is_named(place, server):
    etcd, (desk, laptop, _), _ = three(place, server)
    ended = ["sign-out", "api.example.com", "ann"]
    for options in ([], ["--others", "--everywhere"], ["--device", "laptop", "--others"]):
        assert "give one of --device, --others and --everywhere" in said(desk, *ended, *options, check=2)
    assert "there is no device nobody" in said(desk, *ended, "--device", "nobody", check=1)
    assert "--local excludes --device" in said(desk, "leave", "--local", "--device", "laptop", check=2)
    desk.fleet(*ended, "--device", "laptop")
    assert "orders wait for the device laptop, and would go with it" in said(desk, "leave", "--device", "laptop", check=6)
    admin = ["admin", "sign-out", "--no-password"]
    assert "--issuer and --subject belong together" in said(desk, *admin, "ann", "--issuer", "https://id", check=2)
    assert "name a user, or a person by --issuer and --subject or by --email" in said(desk, *admin, check=2)
    assert "--reason has 1 to 200 bytes" in said(desk, *admin, "ann", "--reason", "", check=2)
    assert "etcd's root needs a password" in said(desk, "admin", "init", "--no-password", check=2)
    assert "no user of the fleet has a session of this person" in said(desk, *admin, "--email", "x@example.com", check=8)
    # The packaged etcd of Debian 12 and 13 is older.
    version = json.loads(desk.fleet("status", "--json").stdout)
    if version["has_known_holes"]:
        holes = "etcd 3.4.23 has known holes: any user of the registry may delete or delay orders"
        assert holes.replace("3.4.23", version["version"]) in desk.fleet("status").stderr
    assert "there is no earlier list of the fleet" in said(place_cacheless(laptop), "list", "--cached", check=1)
    new = place.device("new", server)
    begin = ["init", "other", "--endpoint", etcd.url]
    assert "--presence is outside 30 to 2592000 seconds" in said(new, *begin, "--presence", "29", check=2)
    assert "a fleet needs 1 to 16 endpoints" in said(new, "init", "other", check=2)
    assert "the name of a fleet has 1 to 32 lower-case letters, digits and hyphens" in said(
        new, "init", "../up", "--endpoint", etcd.url, check=2)


def place_cacheless(device):
    path = f"{device.home}/state/tokenkeep/fleet/home.cache"
    if os.path.exists(path):
        os.remove(path)
    return device


def test_faults_of_the_file_are_named_by_line(place, server):
    _, (desk, _, _), _ = three(place, server)
    path = f"{desk.home}/config/tokenkeep/fleet.d/home.conf"
    with open(path, encoding="utf-8") as file:
        good = file.read()
    def with_text(text):
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return said(desk, "list", check=2)
    assert f"{path}:1: expected NAME = VALUE" in with_text("endpoint\n")
    assert f"{path}: expected endpoint = URL" in with_text("# nothing\n")
    assert f"{path}:2: expected presence = SECONDS, 30 to 2592000" in with_text("endpoint = https://etcd\npresence = 1\n")
    assert f"{path}:1: expected endpoint, ca_file, certificate, key, user or presence, not colour" in with_text("colour = red\n")
    with open(path, "w", encoding="utf-8") as file:
        file.write(good)
    with open(path.replace("home.conf", "work.conf"), "w", encoding="utf-8") as file:
        file.write(good)
    assert "this device is in several fleets" in said(desk, "list", check=2)
    assert "this device is not in the fleet office" in said(desk, "list", "--fleet", "office", check=1)
    assert "the store has no keys of the fleet work" in said(desk, "list", "--fleet", "work", check=1)
    desk.fleet("list", "--fleet", "home")


def test_damaged_keys_are_named(place, server):
    etcd, (desk, laptop, _), _ = three(place, server)
    secret = json.loads(desk.run("load", "org.tokenkeep.fleet", "home").stdout)
    def with_item(item):
        desk.run("save", "org.tokenkeep.fleet", "home", given=item if isinstance(item, str) else json.dumps(item))
        return said(desk, "list", check=7)
    assert "the fleet's item in the store is damaged" in with_item("{}")
    assert "a key of the fleet is damaged" in with_item({**secret, "user_key": "x" * 64})
    assert "a key of the fleet has not 32 bytes" in with_item({**secret, "user_key": "00"})
    # A code with other members than this version knows.
    words = read_fleet.words_of(bytes(16))
    code = read_fleet.seal_code({"fleet": "home"}, words, bytes(16), bytes(24))
    assert "the join code was made by another version" in said(laptop, "join", given=f"{code}\n{words}\n", check=2)


def test_devices_and_sessions_have_limits(place, server):
    etcd, (desk, laptop, _), _ = three(place, server)
    secret = json.loads(desk.run("load", "org.tokenkeep.fleet", "home").stdout)
    key = bytes.fromhex(secret["user_key"])
    user = f"/tokenkeep/home/1/users/{secret['user_id']}"
    def put(name, count):
        for number in range(count):
            path = f"{user}/devices/{number:016x}"
            etcd.put(path, read_fleet.seal_value({"name": name or f"d{number}", "joined": 1}, key, path, os.urandom(24)))
    put("twin", 2)
    assert "several devices have the name twin" in said(
        desk, "sign-out", "api.example.com", "ann", "--device", "twin", check=2)
    put("", 256)
    new = place.device("new", server)
    invitation = desk.fleet("invite")
    refused = new.fleet("join", given=f"{invitation.stdout.strip()}\n{invitation.stderr.strip()}\n", check=5).stderr
    assert "the user has 256 devices already" in refused, refused
    # 65 sessions: one is not published.
    for number in range(64):
        laptop.run("session", "begin", "api.example.com", f"user{number}", given='{"access_token": "a"}')
    published = laptop.fleet("run", "--once")
    assert "this device has more than 64 sessions; the others are not published" in published.stderr
    assert len([one for one in desk.sessions() if one[0] == "laptop"]) == 64


def test_wrong_addresses_and_files_are_named(place, server):
    authority = place.authority()
    etcd, plain = place.etcd(authority=authority), place.etcd()
    new = place.device("new", server)
    trust = "--ca", authority.file

    def begin(url, *options, check=4):
        return said(new, "init", "home", "--endpoint", url, *options, check=check)

    away = "check the network and the address, http or https; the registry may be down"
    certificate = ", or want a client certificate: --cert FILE --key FILE"
    assert away in begin(etcd.url.replace("https", "http"))
    assert away + certificate in begin(plain.url.replace("http", "https"), *trust)
    nobody = begin("https://127.0.0.1:1", *trust)
    assert away in nobody and certificate not in nobody, nobody
    for other in (f"http://127.0.0.1:{plain.peer_port}", f"{plain.url}/v3"):
        wrong = begin(other)
        assert "answered 404" in wrong and "check the address: an endpoint is that of etcd's clients" in wrong, wrong
    assert "etcd.example.com:2379 is not the address of a server" in begin("etcd.example.com:2379", check=2)
    own = authority.sign("device", "/O=fleet/OU=new")
    for key in ([], ["--key", "/nonexistent.key"], ["--key", f"{authority.directory}/ca.key"]):
        unusable = begin(etcd.url, *trust, "--cert", own[0], *key, check=2)
        assert "this device's certificate or its key cannot be used: unable to set private key file" in unusable, unusable
    begin(etcd.url, *trust, "--cert", own[0], "--key", own[1], check=0)
